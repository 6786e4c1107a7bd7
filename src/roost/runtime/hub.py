"""Fan-out: whoever watches a session gets a snapshot and then its tail, live."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from roost.core.events import Cursor, SessionEvent
from roost.core.ids import SessionId, UserId
from roost.runtime.attempt import Attempt
from roost.runtime.remote_streams import RemoteStreams
from roost.runtime.subscriber import Subscriber
from roost.runtime.tail import Bounds, SessionLog, Tail


class UserLogs(Protocol):
    @property
    def history(self) -> SessionLog: ...


class Logs(Protocol):
    """What of the `Store` is needed here."""

    def of(self, user: UserId) -> UserLogs: ...


class Hub:
    """The runtime says what happens; what that costs depends on who watches. Of a session that
    nobody watches, the attempt that streams is all that is known here."""

    def __init__(
        self,
        store: Logs,
        *,
        bounds: Bounds = Bounds(),  # noqa: B008 (frozen)
        elsewhere: RemoteStreams | None = None,
    ) -> None:
        """`elsewhere` follows turns of other servers, where there can be any."""
        self._store = store
        self._elsewhere = elsewhere
        self._bounds = bounds
        self._live: dict[SessionId, Attempt] = {}
        self._tails: dict[SessionId, Tail] = {}
        self._closed = False
        self.listeners: list[Callable[[SessionId], None]] = []
        """Told of every session that was written to, whoever watches it."""
        self.tellers: list[Callable[[SessionId], None]] = []
        """Told of those that were written to here."""

    # What the runtime tells.

    def begin(self, attempt: Attempt) -> None:
        """An attempt streams from here on; the one before it in its session does no more."""
        self._live[attempt.session] = attempt
        if (tail := self._tails.get(attempt.session)) is not None:
            tail.begin(attempt)

    def streamed(self, attempt: Attempt) -> None:
        """Something was added to an attempt. Called for every token."""
        if (tail := self._tails.get(attempt.session)) is not None:
            tail.streamed(len(self._live))

    def over(self, attempt: Attempt) -> None:
        """An attempt streams no more: its turn has ended or was parked."""
        if self._live.get(attempt.session) is not attempt:
            return
        del self._live[attempt.session]
        if (tail := self._tails.get(attempt.session)) is not None:
            tail.over()

    def changed(self, session: SessionId) -> None:
        """Something was written to a session, or it was deleted."""
        self.heard(session)
        for teller in self.tellers:
            teller(session)

    def heard(self, session: SessionId) -> None:
        """The same, maybe by another server."""
        if (tail := self._tails.get(session)) is not None:
            tail.changed()
        for listener in self.listeners:
            listener(session)

    def freed(self, session: SessionId) -> None:
        """A session that was held for a while can be had, by other servers too."""
        for teller in self.tellers:
            teller(session)

    def heard_streaming(self, session: SessionId) -> None:
        """A turn that runs on another server has streamed more."""
        if (tail := self._tails.get(session)) is not None:
            tail.streamed_elsewhere()

    def notice(self, session: SessionId, text: str) -> None:
        """Tell whoever watches what is being done outside of a turn."""
        if (tail := self._tails.get(session)) is not None:
            tail.notice(text)

    # What surfaces ask.

    @property
    def watched(self) -> frozenset[SessionId]:
        return frozenset(self._tails)

    def revision(self, session: SessionId) -> int | None:
        """How far a session that somebody watches has been read."""
        tail = self._tails.get(session)
        return None if tail is None else tail.revision

    @property
    def watchers(self) -> int:
        """How many watch, all sessions together."""
        return sum([tail.watchers for tail in self._tails.values()])

    @asynccontextmanager
    async def watch(
        self, user: UserId, session: SessionId, cursor: Cursor | None = None
    ) -> AsyncGenerator[AsyncIterator[SessionEvent]]:
        """A session's events: first a snapshot or, given a cursor, what came after it. They end
        when the session is deleted or the hub is closed."""
        # The tail is there before the store is read: what is written meanwhile is not missed.
        tail = self._join(session)
        try:
            subscriber = Subscriber(tail, self._store.of(user).history)
            await (subscriber.begin() if cursor is None else subscriber.resume(cursor))
            tail.add(subscriber)
            try:
                yield subscriber
            finally:
                tail.remove(subscriber)
        finally:
            await self._leave(tail)

    async def close(self) -> None:
        """End all watching."""
        self._closed = True
        for tail in list(self._tails.values()):
            await tail.end()
        if self._elsewhere is not None:
            await self._elsewhere.close()

    def _join(self, session: SessionId) -> Tail:
        tail = self._tails.get(session)
        if tail is None:
            live = self._live.get(session)
            tail = Tail(session, live, self._bounds, elsewhere=self._elsewhere)
            self._tails[session] = tail
            tail.ended = self._closed
        tail.watchers += 1
        return tail

    async def _leave(self, tail: Tail) -> None:
        tail.watchers -= 1
        if not tail.watchers:
            del self._tails[tail.session]
            await tail.end()
