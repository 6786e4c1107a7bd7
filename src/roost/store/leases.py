"""Leases: who may do a thing, until when, and the token that shuts out whoever came before."""

import secrets

import msgspec

from roost.core.errors import NotFound
from roost.core.ids import SessionId, Token
from roost.store.operations import Engine, Operation, maybe, query, reading, writing

_SESSION = "session:"


def session_lease(session: SessionId) -> str:
    """The name of the lease that a session's turns, compactions and edits are done under."""
    return _SESSION + session


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """`holder` reads host:pid:task:nonce. Times are the store's."""

    name: str
    holder: str
    token: Token
    since: int
    until: int


def claim(name: str, holder: str, ttl_ms: int) -> Operation[Lease | None]:
    if not name or not holder:
        return None
    rows = yield query("claim_lease", name=name, holder=holder, ttl=ttl_ms)
    lease = maybe(rows, Lease)
    if lease is None:
        # Held. If it is by this very claim, its first answer was lost.
        held = maybe((yield query("live_lease", name=name)), Lease)
        return held if held is not None and held.holder == holder else None
    if name.startswith(_SESSION):
        session = name.removeprefix(_SESSION)
        if not (yield query("fence_session", session=session, token=lease.token)):
            raise NotFound("session", session)
    return lease


class Leases:
    def __init__(self, engine: Engine, ttl: float, server: str) -> None:
        """`ttl` is in seconds: how long a lease lives without renewal. `server` names whoever has
        the store open."""
        self.engine = engine
        self._ttl = round(ttl * 1000)
        self._server = server

    def new_holder(self, task: str) -> str:
        """Who holds a lease, for people: host:pid:task, and a nonce."""
        return f"{self._server}:{task}:{secrets.token_hex(4)}"

    @writing
    def claim(self, name: str, holder: str) -> Operation[Lease | None]:
        """The lease, or None at once if somebody else holds it."""
        return (yield from claim(name, holder, self._ttl))

    @writing
    def renew(self, lease: Lease) -> Operation[bool]:
        """Whether it is still this holder's, for another `ttl`."""
        rows = yield query(
            "renew_lease", name=lease.name, token=lease.token, holder=lease.holder, ttl=self._ttl
        )
        return bool(rows)

    @writing
    def release(self, lease: Lease) -> Operation[None]:
        """Free it at once. What is not held by this claim is left alone."""
        yield query("release_lease", name=lease.name, token=lease.token, holder=lease.holder)

    @reading
    def holder(self, name: str) -> Operation[Lease | None]:
        """Who holds it now, since when, until when."""
        return maybe((yield query("live_lease", name=name)), Lease)
