"""Tokens by which programs act for a user. Of each, its hash is kept."""

from collections.abc import Collection, Sequence

import msgspec

from roost.core.errors import Conflict, NotFound
from roost.core.identities import ApiToken, Scope, known_scopes
from roost.core.ids import ApiTokenId, UserId
from roost.core.users import User
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.users import UserRow, check_enabled, user_of

MOST = 100
"""Tokens of one user that are of use at once."""


class Bearer(msgspec.Struct, frozen=True, kw_only=True):
    """For whom a token acts, and what it may do."""

    user: User
    id: ApiTokenId
    scopes: frozenset[Scope]
    used_at: int | None
    expires_at: int | None


class _TokenRow(msgspec.Struct, frozen=True, array_like=True):
    id: ApiTokenId
    user: UserId
    name: str
    scopes: str
    created_at: int
    used_at: int | None
    expires_at: int | None


class _BearerRow(UserRow, frozen=True, array_like=True):
    token: ApiTokenId
    scopes: str
    used_at: int | None
    expires_at: int | None


def _token(row: _TokenRow) -> ApiToken:
    return ApiToken(
        id=row.id,
        user=row.user,
        name=row.name,
        scopes=_scopes(row.scopes),
        created_at=row.created_at,
        used_at=row.used_at,
        expires_at=row.expires_at,
    )


def _scopes(stored: str) -> frozenset[Scope]:
    return known_scopes(msgspec.json.decode(stored, type=list[str]))


class AllTokens:
    """Those of all users: who it is, is what they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @reading
    def find(self, hash: bytes) -> Operation[Bearer | None]:
        """Whose token it is, if it holds now and its user is not disabled."""
        row = maybe((yield query("token_by_hash", hash=hash)), _BearerRow)
        if row is None:
            return None
        return Bearer(
            user=user_of(row),
            id=row.token,
            scopes=_scopes(row.scopes),
            used_at=row.used_at,
            expires_at=row.expires_at,
        )

    @reading
    def owner(self, id: ApiTokenId) -> Operation[UserId]:
        """Whose it is, also if it is of no use any more."""
        found = maybe((yield query("owner_of_token", id=id)), str)
        if found is None:
            raise NotFound("token", id)
        return UserId(found)

    @writing
    def touch(self, ids: Collection[ApiTokenId]) -> Operation[None]:
        yield query("touch_tokens", ids=msgspec.json.encode(sorted(ids)).decode())


class Tokens:
    """One user's."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def add(
        self,
        id: ApiTokenId,
        hash: bytes,
        *,
        name: str,
        scopes: Collection[Scope],
        expires_at: int | None = None,
    ) -> Operation[ApiToken]:
        yield from check_enabled(self._user)
        if one((yield query("count_tokens", user=self._user, id=id)), int) >= MOST:
            raise Conflict(f"There are {MOST} tokens already. Revoke one first.")
        yield query(
            "insert_token",
            user=self._user,
            id=id,
            hash=hash,
            name=name,
            scopes=msgspec.json.encode(sorted(scopes)).decode(),
            expires_at=expires_at,
        )
        return _token(one((yield query("user_token", user=self._user, id=id)), _TokenRow))

    @reading
    def all(self) -> Operation[Sequence[ApiToken]]:
        """Those that are of use now."""
        rows = every((yield query("list_tokens", user=self._user)), _TokenRow)
        return [_token(row) for row in rows]

    @writing
    def revoke(self, id: ApiTokenId) -> Operation[None]:
        if not (yield query("revoke_token", user=self._user, id=id)):
            raise NotFound("token", id)
