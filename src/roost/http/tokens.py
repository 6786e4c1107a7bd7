"""What one is signed in with: the browsers, and the tokens of programs."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.core.identities import SCOPES, ApiToken, Principal, Scope, SignIn
from roost.core.ids import ApiTokenId, SignInId, UserId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase


class SignInView(msgspec.Struct, frozen=True, kw_only=True):
    """`here` is the one that asks."""

    id: SignInId
    agent: str | None
    created_at: int
    seen_at: int | None
    expires_at: int
    here: bool


class SignInList(msgspec.Struct, frozen=True):
    sign_ins: Sequence[SignInView]


class TokenView(msgspec.Struct, frozen=True, kw_only=True):
    id: ApiTokenId
    name: str
    scopes: Sequence[Scope]
    created_at: int
    used_at: int | None
    expires_at: int | None


class TokenList(msgspec.Struct, frozen=True):
    tokens: Sequence[TokenView]


class NewToken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seconds` is for how long it holds; without, until it is revoked."""

    name: Phrase
    scopes: Annotated[tuple[Scope, ...], msgspec.Meta(min_length=1, max_length=len(SCOPES))]
    seconds: Annotated[int, msgspec.Meta(ge=1, le=3_153_600_000)] | None = None


class CreatedToken(msgspec.Struct, frozen=True):
    """`secret` is shown this once."""

    token: TokenView
    secret: str


async def sign_ins(call: Call) -> SignInList:
    """List the browsers that you are signed in with."""
    found = await call.identities.sign_ins(call.who.user.id)
    return SignInList([_sign_in_view(each, call.who) for each in found])


def _sign_in_view(each: SignIn, who: Principal) -> SignInView:
    return SignInView(
        id=each.id,
        agent=each.agent,
        created_at=each.created_at,
        seen_at=each.seen_at,
        expires_at=each.expires_at,
        here=each.id == who.id,
    )


async def revoked(call: Call, sign_in: SignInId) -> None:
    """Sign a browser out."""
    await call.identities.revoke_sign_in(call.who.user.id, sign_in)


async def tokens(call: Call) -> TokenList:
    """List your tokens, without their secrets."""
    found = await call.identities.tokens(call.who.user.id)
    return TokenList([token_view(token) for token in found])


def token_view(token: ApiToken) -> TokenView:
    return TokenView(
        id=token.id,
        name=token.name,
        scopes=sorted(token.scopes),
        created_at=token.created_at,
        used_at=token.used_at,
        expires_at=token.expires_at,
    )


async def token_made(call: Call, body: NewToken) -> CreatedToken:
    """Make a token for a program. A token can't make one that may do more than itself, or that
    outlasts it."""
    return await token_created(call, call.who.user.id, body)


async def token_created(call: Call, user: UserId, body: NewToken) -> CreatedToken:
    for scope in body.scopes:
        call.who.need(scope)
    new = await call.identities.create_token(
        user, name=body.name, scopes=body.scopes, seconds=body.seconds, until=call.who.until
    )
    return CreatedToken(token_view(new.token), new.secret.reveal())


async def token_revoked(call: Call, token: ApiTokenId) -> None:
    """Revoke a token, at once."""
    await call.identities.revoke_token(call.who.user.id, token)


ENDPOINTS = (
    endpoint("GET", "/api/sign-ins", sign_ins, scope="account"),
    endpoint("DELETE", "/api/sign-ins/{sign_in}", revoked, scope="account"),
    endpoint("GET", "/api/tokens", tokens, scope="account"),
    endpoint("POST", "/api/tokens", token_made, scope="account", status=201),
    endpoint("DELETE", "/api/tokens/{token}", token_revoked, scope="account"),
)
