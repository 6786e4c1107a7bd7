"""Browsers that are signed in, and one-time links that sign one in. Of secrets, hashes are kept."""

from collections.abc import Collection, Sequence

import msgspec

from roost.core.errors import NotFound
from roost.core.identities import SignIn
from roost.core.ids import SignInId, UserId
from roost.core.users import User
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.users import UserRow, check_enabled, user_of

MOST = 100
"""Browsers of one user that are signed in at once."""


class NewSignIn(msgspec.Struct, frozen=True):
    """`ttl` is in seconds."""

    id: SignInId
    hash: bytes
    agent: str | None
    ttl: float


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a cookie belongs to."""

    user: User
    id: SignInId
    seen_at: int | None
    expires_at: int


class _SignInRow(msgspec.Struct, frozen=True, array_like=True):
    id: SignInId
    user: UserId
    agent: str | None
    created_at: int
    seen_at: int | None
    expires_at: int


class _AdmittedRow(UserRow, frozen=True, array_like=True):
    sign_in: SignInId
    seen_at: int | None
    expires_at: int


class AllSignIns:
    """Those of all users: who it is, is what they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @reading
    def find(self, hash: bytes) -> Operation[Admitted | None]:
        """Whose browser it is, if it is signed in now and its user is not disabled."""
        return (yield from _admitted(hash))

    @writing
    def redeem(self, link: bytes, new: NewSignIn) -> Operation[Admitted | None]:
        """Sign a browser in by a link, which is of no use after that. Of two at the same moment,
        one gets None; whoever asks again for the same browser gets the same answer."""
        known = yield from _admitted(new.hash)
        if known is not None:
            return known
        user = maybe((yield query("use_link", hash=link)), str)
        return None if user is None else (yield from _open(UserId(user), new))

    @writing
    def first_link(self, user: UserId, id: SignInId, hash: bytes, ttl: float) -> Operation[bool]:
        """A link for a Roost that nobody has used yet; False if somebody has."""
        if not one((yield query("is_untouched")), bool):
            return False
        yield from _link(user, id, hash, ttl)
        return True

    @writing
    def touch(self, ids: Collection[SignInId], ttl: float) -> Operation[None]:
        """They were seen now, and last for `ttl` seconds from now on."""
        listed = msgspec.json.encode(sorted(ids)).decode()
        yield query("touch_sign_ins", ids=listed, ttl=_milliseconds(ttl))


class SignIns:
    """One user's."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def add_link(self, id: SignInId, hash: bytes, ttl: float) -> Operation[None]:
        """The last link is the one that holds: those before it, if unused, are void."""
        yield from _link(self._user, id, hash, ttl)

    @writing
    def add(self, new: NewSignIn, *, checked: str) -> Operation[Admitted | None]:
        """Sign a browser in whose user has shown the password that this hash is of. None if that
        is not their password any more, or they were disabled."""
        return (yield from _open(self._user, new, checked))

    @reading
    def all(self) -> Operation[Sequence[SignIn]]:
        """The browsers that are signed in now, the last seen first."""
        rows = every((yield query("list_sign_ins", user=self._user)), _SignInRow)
        return [SignIn(**msgspec.structs.asdict(row)) for row in rows]

    @writing
    def revoke(self, id: SignInId) -> Operation[None]:
        if not (yield query("revoke_sign_in", user=self._user, id=id)):
            raise NotFound("sign-in", id)

    @writing
    def revoke_all(self, *, keep: SignInId | None = None) -> Operation[int]:
        """Links too. How many there were."""
        return len((yield query("revoke_sign_ins", user=self._user, keep=keep)))


def _admitted(hash: bytes) -> Operation[Admitted | None]:
    row = maybe((yield query("sign_in_by_hash", hash=hash)), _AdmittedRow)
    if row is None:
        return None
    return Admitted(
        user=user_of(row), id=row.sign_in, seen_at=row.seen_at, expires_at=row.expires_at
    )


def _link(user: UserId, id: SignInId, hash: bytes, ttl: float) -> Operation[None]:
    yield from check_enabled(user)
    yield query("void_links", user=user, id=id)
    yield query("insert_link", user=user, id=id, hash=hash, ttl=_milliseconds(ttl))


def _open(user: UserId, new: NewSignIn, checked: str | None = None) -> Operation[Admitted | None]:
    yield query(
        "insert_sign_in",
        id=new.id,
        user=user,
        hash=new.hash,
        agent=new.agent,
        ttl=_milliseconds(new.ttl),
        checked=checked,
    )
    yield query("crowd_out_sign_ins", user=user, most=MOST)
    return (yield from _admitted(new.hash))


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
