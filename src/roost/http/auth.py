"""Signing in and out, and who one is then."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

import msgspec
from starlette.responses import Response

from roost.core.errors import InvalidInput
from roost.core.identities import Principal, Scope, SignedIn, Via
from roost.core.ids import SignInId, UserId
from roost.core.users import Profile, User, UserRole
from roost.http.calls import Call, cookie_name
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.http.origins import is_secure
from roost.runtime.identities import SIGNED_IN

Password = Annotated[str, msgspec.Meta(max_length=1000)]
_Secret = Annotated[str, msgspec.Meta(max_length=200)]


class SignInBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The secret of a link, or a name and a password."""

    secret: _Secret | None = None
    name: Phrase | None = None
    password: Password | None = None


class UserView(msgspec.Struct, frozen=True, kw_only=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str
    locale: str
    created_at: int
    disabled: bool
    has_password: bool


def user_view(user: User) -> UserView:
    return UserView(
        id=user.id,
        name=user.name,
        role=user.role,
        time_zone=user.time_zone,
        locale=user.locale,
        created_at=user.created_at,
        disabled=user.disabled_at is not None,
        has_password=user.has_password,
    )


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, by what, and what they may do."""

    user: UserView
    via: Via
    scopes: Sequence[Scope]


class ChangeMe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays."""

    name: Phrase | None = None
    time_zone: Phrase | None = None
    locale: Phrase | None = None


class NewPassword(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who has a password has to know it to change it."""

    old: Password | None = None
    new: Password


async def sign_in(call: Call, body: SignInBody) -> Response:
    """Sign in a browser, by a link or by a password. The cookie is all it gets."""
    agent = call.request.headers.get("user-agent")
    identities = call.identities
    if body.secret is not None:
        signed_in = await identities.sign_in_with_link(body.secret, agent)
    elif body.name is not None and body.password is not None:
        name, password = body.name, body.password
        signed_in = await identities.sign_in_with_password(name, password, agent, call.address)
    else:
        raise InvalidInput("Send the secret of a link, or a name and a password.")
    response = Response(status_code=HTTPStatus.NO_CONTENT)
    _give_cookie(call, response, signed_in)
    return response


def _give_cookie(call: Call, response: Response, signed_in: SignedIn) -> None:
    response.set_cookie(
        cookie_name(call.request),
        signed_in.secret.reveal(),
        max_age=round(SIGNED_IN),
        path="/",
        secure=is_secure(call.request),
        httponly=True,
        samesite="strict",
    )


async def sign_out(call: Call) -> Response:
    """Sign out: this browser's cookie opens nothing any more."""
    await call.identities.revoke_sign_in(call.who.user.id, _browser(call.who))
    headers = {"Clear-Site-Data": '"cache"'}  # files may be kept there
    response = Response(status_code=HTTPStatus.NO_CONTENT, headers=headers)
    response.delete_cookie(
        cookie_name(call.request),
        path="/",
        secure=is_secure(call.request),
        httponly=True,
        samesite="strict",
    )
    return response


def _browser(who: Principal) -> SignInId:
    if who.via != "browser":
        raise InvalidInput("A token is not signed in. Revoke it instead.")
    return SignInId(who.id)


async def me(call: Call) -> Me:
    """Who you are to Roost, and what you may do."""
    who = call.who
    return Me(user=user_view(who.user), via=who.via, scopes=sorted(who.scopes))


async def changed(call: Call, body: ChangeMe) -> UserView:
    """Change your name, time zone or language."""
    profile = Profile(name=body.name, time_zone=body.time_zone, locale=body.locale)
    return user_view(await call.identities.people.change(call.who.user.id, profile))


async def password(call: Call, body: NewPassword) -> None:
    """Set or change your password. All other browsers are signed out."""
    await call.identities.people.change_password(
        call.who.user, body.old, body.new, keep=_browser(call.who), address=call.address
    )


ENDPOINTS = (
    endpoint("POST", "/api/sign-in", sign_in, scope=None, status=204),
    endpoint("POST", "/api/sign-out", sign_out, scope="read", status=204),
    endpoint("GET", "/api/me", me, scope="read"),
    endpoint("PATCH", "/api/me", changed, scope="account"),
    endpoint("PUT", "/api/me/password", password, scope="account"),
)
