"""Users, as an admin sees to them."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from roost.core.errors import Conflict
from roost.core.ids import ApiTokenId, UserId
from roost.core.users import Caps, Profile, UserRole
from roost.http.auth import Password, UserView, user_view
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.http.tokens import CreatedToken, NewToken, TokenList, token_created, token_view
from roost.runtime.identities import LINK


class UserList(msgspec.Struct, frozen=True):
    users: Sequence[UserView]


class NewUser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Phrase
    role: UserRole = "member"
    time_zone: Phrase = "UTC"
    locale: Phrase = "en"


class ChangeUser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays. A user who is disabled is signed out everywhere, and their turns are
    cancelled."""

    name: Phrase | None = None
    role: UserRole | None = None
    disabled: bool | None = None


class SetPassword(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    password: Password


class LinkBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For how long the link can be used."""

    seconds: Annotated[int, msgspec.Meta(ge=60, le=604_800)] = round(LINK)


class CapsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user may take in a day (UTC); what is left out is not capped. Cost is in dollars."""

    day_tokens: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | None = None
    day_cost: Annotated[float, msgspec.Meta(ge=0, le=1_000_000)] | None = None


class LinkView(msgspec.Struct, frozen=True):
    """The path of a page that signs in one browser, once."""

    path: str


async def listed(call: Call) -> UserList:
    """List all users."""
    return UserList([user_view(user) for user in await call.identities.people.all()])


async def added(call: Call, body: NewUser) -> UserView:
    """Add a user. They sign in by a link at first."""
    made = await call.identities.people.create(
        body.name, role=body.role, time_zone=body.time_zone, locale=body.locale
    )
    return user_view(made)


async def changed(call: Call, user: UserId, body: ChangeUser) -> UserView:
    """Change a user's name or role, or disable or enable them."""
    changed = await call.identities.people.change(
        user, Profile(name=body.name), role=body.role, disabled=body.disabled
    )
    return user_view(changed)


async def removed(call: Call, user: UserId) -> None:
    """Remove a user for good, with all that is theirs: sessions, files, memory, tokens."""
    if user == call.who.user.id:
        raise Conflict("This is you. Ask another admin to remove you.")
    await call.identities.people.remove(user)


async def password(call: Call, user: UserId, body: SetPassword) -> None:
    """Set a user's password. Whoever was signed in by the old one is not any more."""
    await call.identities.people.get(user)
    await call.identities.people.set_password(user, body.password)


async def tokens(call: Call, user: UserId) -> TokenList:
    """List a user's tokens, without their secrets."""
    found = await call.identities.people.get(user)
    return TokenList([token_view(each) for each in await call.identities.tokens(found.id)])


async def token_made(call: Call, user: UserId, body: NewToken) -> CreatedToken:
    """Make a token by which a program acts for a user."""
    found = await call.identities.people.get(user)
    return await token_created(call, found.id, body)


async def token_revoked(call: Call, user: UserId, token: ApiTokenId) -> None:
    """Revoke a token of a user, at once."""
    found = await call.identities.people.get(user)
    await call.identities.revoke_token(found.id, token)


async def linked(call: Call, user: UserId, body: LinkBody) -> LinkView:
    """Make a link that signs a user in, once. Unused ones from before are void."""
    found = await call.identities.people.get(user)
    secret = await call.identities.link(found.id, seconds=body.seconds)
    return LinkView(f"/sign-in#{secret.reveal()}")


async def capped(call: Call, user: UserId) -> Caps:
    """Read what a user may take in a day."""
    return await call.identities.people.caps(user)


async def recapped(call: Call, user: UserId, body: CapsBody) -> Caps:
    """Set what a user may take in a day, from the next turn on."""
    people = call.identities.people
    await people.get(user)
    await people.set_caps(user, Caps(day_tokens=body.day_tokens, day_cost=body.day_cost))
    return await people.caps(user)


ENDPOINTS = (
    endpoint("GET", "/api/users", listed, scope="admin"),
    endpoint("POST", "/api/users", added, scope="admin", status=201),
    endpoint("PATCH", "/api/users/{user}", changed, scope="admin"),
    endpoint("DELETE", "/api/users/{user}", removed, scope="admin"),
    endpoint("PUT", "/api/users/{user}/password", password, scope="admin"),
    endpoint("GET", "/api/users/{user}/tokens", tokens, scope="admin"),
    endpoint("POST", "/api/users/{user}/tokens", token_made, scope="admin", status=201),
    endpoint("DELETE", "/api/users/{user}/tokens/{token}", token_revoked, scope="admin"),
    endpoint("POST", "/api/users/{user}/link", linked, scope="admin", status=201),
    endpoint("GET", "/api/users/{user}/caps", capped, scope="admin"),
    endpoint("PUT", "/api/users/{user}/caps", recapped, scope="admin"),
)
