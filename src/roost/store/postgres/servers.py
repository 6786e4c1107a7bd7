"""Servers as rows: each writes its own, and removes those of servers that fell silent."""

import os
import socket
from collections.abc import Collection, Sequence

import msgspec

from roost.core.ids import SessionId
from roost.store.operations import Engine, Operation, every, keeping, maybe, query, reading, writing
from roost.store.servers import KnownServer, Settled


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """`live` is how a server is reached that has the workspace and is there; `working` is one that
    holds the session."""

    at: str | None
    live: str | None
    working: str | None


class _Server(msgspec.Struct, frozen=True, array_like=True):
    id: str


class _Session(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId


class PostgresServers:
    def __init__(self, engine: Engine, id: str, *, version: str, started_at: int) -> None:
        self.engine = engine
        self.id = id
        self.address: str | None = None
        self._version = version
        self._started_at = started_at
        self._draining = False

    @keeping
    def beat(self) -> Operation[None]:
        yield query(
            "beat_server",
            server=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=self._version,
            address=self.address,
            started_at=self._started_at,
            draining=int(self._draining),
        )

    async def drain(self) -> None:
        self._draining = True
        await self.beat()

    @writing
    def leave(self) -> Operation[None]:
        yield query("forget_server", server=self.id)

    @reading
    def all(self) -> Operation[Sequence[KnownServer]]:
        return every((yield query("known_servers")), KnownServer)

    @writing
    def bury(self, silence: float) -> Operation[Sequence[str]]:
        rows = yield query("silent_servers", server=self.id, silence=round(silence * 1000))
        gone = [row.id for row in every(rows, _Server)]
        for server in gone:
            yield from void_leases_of(server)
            yield query("forget_server", server=server)
        return gone

    @writing
    def settle(self, session: SessionId, *, taking: str | None = None) -> Operation[Settled]:
        place = maybe((yield query("workspace_of", session=session)), _Place)
        if place is None or place.at == self.id:
            return Settled()
        if place.working != self.id:
            if place.live is not None:
                return Settled(elsewhere=f"{place.at} ({place.live})")
            if place.working is not None:
                return Settled(elsewhere=place.working)
            if place.at is not None:
                return Settled(elsewhere=place.at, there=False)
        if place.at in (None, taking):
            yield query("settle_workspace", session=session, server=self.id)
        return Settled(before=place.at)

    @reading
    def has_elsewhere(self, session: SessionId) -> Operation[str | None]:
        place = maybe((yield query("workspace_of", session=session)), _Place)
        return None if place is None or place.at == self.id else place.live

    @reading
    def over_among(self, sessions: Collection[SessionId]) -> Operation[frozenset[SessionId]]:
        names = msgspec.json.encode(sorted(sessions)).decode()
        rows = yield query("workspaces_over", sessions=names, server=self.id)
        return frozenset([row.id for row in every(rows, _Session)])

    @writing
    def settle_all(self, sessions: Collection[SessionId]) -> Operation[None]:
        names = msgspec.json.encode(sorted(sessions)).decode()
        yield query("settle_workspaces", sessions=names, server=self.id)


def void_leases_of(server: str) -> Operation[None]:
    """Free them at once. Tokens are raised, so that not even a ghost can write."""
    rows = yield query("lock_sessions_of_server", host=server)
    locked = msgspec.json.encode([row.id for row in every(rows, _Session)]).decode()
    yield query("void_session_tokens", host=server, sessions=locked)
    yield query("void_leases", host=server, sessions=locked)
