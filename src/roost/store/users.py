"""The users of a store, their settings, and secrets sealed at rest."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import InvalidInput, NotFound
from roost.core.ids import UserId
from roost.core.users import User, UserRole
from roost.store.cipher import Cipher
from roost.store.operations import Engine, Operation, every, maybe, query, reading, writing

SERVER = UserId("")
"""Owns the settings and secrets that are nobody's in particular."""


class _UserRow(msgspec.Struct, frozen=True, array_like=True):
    id: UserId
    name: str
    role: UserRole
    time_zone: str
    locale: str
    created_at: int
    disabled_at: int | None


class _Name(msgspec.Struct, frozen=True, array_like=True):
    name: str


class _SecretRow(msgspec.Struct, frozen=True, array_like=True):
    sealed: bytes


def _user(row: _UserRow) -> User:
    return User(
        id=row.id,
        name=row.name,
        role=row.role,
        time_zone=row.time_zone,
        locale=row.locale,
        created_at=row.created_at,
        disabled_at=row.disabled_at,
    )


class Users:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @writing
    def create(self, user: User) -> Operation[User]:
        """Add a user. The same id again gives the user that is there."""
        taken = maybe((yield query("user_by_name", name=user.name)), _UserRow)
        if taken is not None and taken.id != user.id:
            raise InvalidInput(f"There is a user called {user.name} already.")
        yield query(
            "insert_user",
            user=user.id,
            name=user.name,
            role=user.role,
            time_zone=user.time_zone,
            locale=user.locale,
        )
        return (yield from self._load(user.id))

    @reading
    def get(self, user: UserId) -> Operation[User]:
        return (yield from self._load(user))

    @reading
    def all(self) -> Operation[Sequence[User]]:
        return [_user(row) for row in every((yield query("list_users")), _UserRow)]

    def _load(self, user: UserId) -> Operation[User]:
        row = maybe((yield query("user_by_id", user=user)), _UserRow)
        if row is None:
            raise NotFound("user", user)
        return _user(row)


class Settings:
    """Small JSON values by name, of a user or of the server."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def put(self, key: str, value: str) -> Operation[None]:
        yield query("put_setting", user=self._user, key=key, value=value)

    @reading
    def get(self, key: str) -> Operation[str | None]:
        return maybe((yield query("get_setting", user=self._user, key=key)), str)


class Secrets:
    """Provider keys and the like: written, used, replaced, never listed with their values."""

    def __init__(self, engine: Engine, user: UserId, cipher: Cipher) -> None:
        self.engine = engine
        self._user = user
        self._cipher = cipher

    @writing
    def put(self, name: str, value: str) -> Operation[None]:
        sealed = self._cipher.seal(value, owner=self._user, name=name)
        yield query("put_secret", user=self._user, name=name, sealed=sealed)

    @reading
    def get(self, name: str) -> Operation[str | None]:
        row = maybe((yield query("get_secret", user=self._user, name=name)), _SecretRow)
        return None if row is None else self._cipher.open(row.sealed, owner=self._user, name=name)

    @reading
    def names(self) -> Operation[Sequence[str]]:
        rows = every((yield query("secret_names", user=self._user)), _Name)
        return [row.name for row in rows]

    @writing
    def remove(self, name: str) -> Operation[None]:
        yield query("remove_secret", user=self._user, name=name)
