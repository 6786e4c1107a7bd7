"""The servers on one database: who they are, and which of them are there."""

from collections.abc import Awaitable, Collection, Sequence
from typing import Protocol

import msgspec

from roost.core.ids import SessionId


class KnownServer(msgspec.Struct, frozen=True, array_like=True):
    """`id` is the first part of whatever holds its leases. It was heard of `silent` milliseconds
    ago; one that is `draining` takes nothing up any more."""

    id: str
    host: str
    pid: int
    version: str
    address: str | None
    started_at: int
    draining: bool
    silent: int


class Settled(msgspec.Struct, frozen=True):
    """Where a session's workspace is. `elsewhere` is where it is left, on a server that may be
    `there` or not; `before` is the server that had it and is gone, or has let it go: only who names
    it takes the workspace from there."""

    elsewhere: str | None = None
    there: bool = True
    before: str | None = None


class Servers(Protocol):
    address: str | None
    """Where this one is reached, once it is; told with each beat."""

    @property
    def id(self) -> str:
        """This server's."""
        ...

    def beat(self) -> Awaitable[None]:
        """Say that this server is there."""
        ...

    def drain(self) -> Awaitable[None]:
        """Say that it takes nothing up any more."""
        ...

    def leave(self) -> Awaitable[None]:
        """Say that it is no longer there."""
        ...

    def all(self) -> Awaitable[Sequence[KnownServer]]: ...

    def bury(self, silence: float) -> Awaitable[Sequence[str]]:
        """Take the leases of those that have been silent for so many seconds: what they held is
        free, and what they still write is refused by its token (B3). Who they were."""
        ...

    def settle(self, session: SessionId, *, taking: str | None = None) -> Awaitable[Settled]:
        """Have the session's workspace here, unless another server has it, or works on the session.
        Whoever works on it may always; who only looks takes nothing from a server that is away. It
        is taken from none but `taking`: who has to tell the session writes that down first."""
        ...

    def has_elsewhere(self, session: SessionId) -> Awaitable[str | None]:
        """The other server that has the session's workspace, if it is there."""
        ...

    def over_among(self, sessions: Collection[SessionId]) -> Awaitable[frozenset[SessionId]]:
        """Those of them that have ended, or whose workspace another server has, there or not."""
        ...

    def settle_all(self, sessions: Collection[SessionId]) -> Awaitable[None]:
        """Have the workspaces of those here that nobody has."""
        ...
