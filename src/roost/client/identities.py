"""Who may use a running server: users and tokens, with the methods of
`roost.runtime.identities.Identities` that the command line needs. What a person typed is refused in
the words that it is refused in there: the server would speak of its API."""

from collections.abc import Collection, Sequence

import msgspec

from roost.client.connection import Ask, Connection, path
from roost.core.errors import NotFound
from roost.core.identities import ApiToken, NewApiToken, Scope, clean_token_name
from roost.core.ids import ApiTokenId, UserId
from roost.core.keys import Key
from roost.core.users import Caps, Profile, User, UserRole, clean_name, folded


class _SentUser(msgspec.Struct, frozen=True, kw_only=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str
    locale: str
    created_at: int
    disabled: bool
    has_password: bool

    def made(self) -> User:
        """When somebody was disabled is not said, only that they are."""
        return User(
            id=self.id,
            name=self.name,
            role=self.role,
            time_zone=self.time_zone,
            locale=self.locale,
            created_at=self.created_at,
            disabled_at=0 if self.disabled else None,
            has_password=self.has_password,
        )


class _Users(msgspec.Struct, frozen=True):
    users: tuple[_SentUser, ...]


class _Me(msgspec.Struct, frozen=True):
    user: _SentUser


class _Link(msgspec.Struct, frozen=True):
    path: str


class _SentToken(msgspec.Struct, frozen=True, kw_only=True):
    id: ApiTokenId
    name: str
    scopes: frozenset[Scope]
    created_at: int
    used_at: int | None
    expires_at: int | None

    def made(self, user: UserId) -> ApiToken:
        return ApiToken(
            id=self.id,
            user=user,
            name=self.name,
            scopes=self.scopes,
            created_at=self.created_at,
            used_at=self.used_at,
            expires_at=self.expires_at,
        )


class _Tokens(msgspec.Struct, frozen=True):
    tokens: tuple[_SentToken, ...]


class _NewToken(msgspec.Struct, frozen=True):
    token: _SentToken
    secret: str


class People:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def owner(self) -> User:
        return (await self._connection.ask(Ask("GET", path("me"), again=True), _Me)).user.made()

    async def all(self) -> Sequence[User]:
        found = await self._connection.ask(Ask("GET", path("users"), again=True), _Users)
        return [each.made() for each in found.users]

    async def named(self, name: str) -> User:
        for each in await self.all():
            if folded(each.name) == folded(name):
                return each
        raise NotFound("user", name)

    async def create(self, name: str, *, role: UserRole = "member") -> User:
        body = {"name": clean_name(name), "role": role}
        return await self._user(Ask("POST", path("users"), body=body))

    async def change(self, user: UserId, profile: Profile) -> User:
        name = None if profile.name is None else clean_name(profile.name)
        return await self._changed(user, {"name": name})

    async def set_role(self, user: UserId, role: UserRole) -> User:
        return await self._changed(user, {"role": role})

    async def disable(self, user: UserId) -> User:
        return await self._changed(user, {"disabled": True})

    async def enable(self, user: UserId) -> User:
        return await self._changed(user, {"disabled": False})

    async def remove(self, user: UserId) -> None:
        await self._connection.fetch(Ask("DELETE", path("users", user)))

    async def set_password(self, user: UserId, password: str) -> None:
        body = {"password": password}
        await self._connection.fetch(
            Ask("PUT", path("users", user, "password"), body=body, again=True)
        )

    async def set_caps(self, user: UserId, caps: Caps) -> None:
        asked = Ask("PUT", path("users", user, "caps"), body=caps, again=True)
        await self._connection.fetch(asked)

    async def _changed(self, user: UserId, body: dict[str, object]) -> User:
        return await self._user(Ask("PATCH", path("users", user), body=body, again=True))

    async def _user(self, asked: Ask) -> User:
        return (await self._connection.ask(asked, _SentUser)).made()


class Identities:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.people = People(connection)

    async def link(self, user: UserId, *, seconds: float) -> Key:
        asked = Ask("POST", path("users", user, "link"), body={"seconds": round(seconds)})
        made = await self._connection.ask(asked, _Link)
        return Key(made.path.partition("#")[2])

    async def tokens(self, user: UserId) -> Sequence[ApiToken]:
        asked = Ask("GET", path("users", user, "tokens"), again=True)
        found = await self._connection.ask(asked, _Tokens)
        return [each.made(user) for each in found.tokens]

    async def create_token(
        self,
        user: UserId,
        *,
        name: str,
        scopes: Collection[str],
        seconds: float | None = None,
    ) -> NewApiToken:
        body = {
            "name": clean_token_name(name),
            "scopes": list(scopes),
            "seconds": None if seconds is None else round(seconds),
        }
        asked = Ask("POST", path("users", user, "tokens"), body=body)
        made = await self._connection.ask(asked, _NewToken)
        return NewApiToken(token=made.token.made(user), secret=Key(made.secret))

    async def owner_of_token(self, id: ApiTokenId) -> UserId:
        for user in await self.people.all():
            if any(token.id == id for token in await self.tokens(user.id)):
                return user.id
        raise NotFound("token", id)

    async def revoke_token(self, user: UserId, id: ApiTokenId) -> None:
        await self._connection.fetch(Ask("DELETE", path("users", user, "tokens", id)))
