"""The tail of one watched session: its newest durable events, and the attempts that stream."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import NamedTuple, Protocol

import msgspec
import structlog

from roost.core.errors import NotFound, StoreError
from roost.core.events import Changed, Cursor, Snapshot
from roost.core.ids import SessionId, TurnId
from roost.runtime.attempt import Attempt
from roost.runtime.changes import changed
from roost.store.watching import Changes

log = structlog.get_logger()


class Bounds(NamedTuple):
    """How much of a session is kept for its slowest subscriber: so many changes and attempts, and
    so many bytes of either. Who falls further behind reads the store instead."""

    entries: int = 256
    bytes: int = 1 << 20


PACE = 0.0002
SLOWEST = 0.1
SOON = 0.002
"""With many attempts streaming, subscribers are woken less often and get more at once: `PACE`
seconds per attempt, `SLOWEST` at most, and at once where that is sooner than `SOON`."""

RETRY = 0.2
LONGEST_RETRY = 5.0


class SessionLog(Protocol):
    """What of the store's `Histories` is needed here."""

    def since(self, session: SessionId, revision: int) -> Awaitable[Changes]: ...
    def snapshot(self, session: SessionId) -> Awaitable[Snapshot]: ...


class Reader(Protocol):
    """A subscriber, as its tail sees it."""

    @property
    def cursor(self) -> Cursor: ...
    def wake(self) -> None: ...
    def notice(self, text: str) -> None: ...


class Trouble:
    """A read that fails, again and again maybe: reported, and tried again ever later."""

    def __init__(self, session: SessionId) -> None:
        self._session = session
        self._delay = RETRY / 2

    def met(self, error: Exception) -> float:
        """How long to wait now."""
        expected = isinstance(error, StoreError)
        log.warning(
            "events can't be read",
            session=self._session,
            error=str(error),
            exc_info=None if expected else error,
        )
        self._delay = min(2 * self._delay, LONGEST_RETRY)
        return self._delay


class _Entry(msgspec.Struct, frozen=True):
    change: Changed
    weight: int


class Tail:
    """Durable events are read once for all subscribers, by one task, and only when there are any.
    It keeps what some subscriber has still to be told, within bounds."""

    def __init__(self, session: SessionId, live: Attempt | None, bounds: Bounds) -> None:
        self.session = session
        self.bounds = bounds
        self.ended = False
        self.watchers = 0
        """Those on their way in included."""
        self._history: SessionLog | None = None
        self._high = 0
        self._entries: dict[int, _Entry] = {}
        self._weight = 0
        self._live = live
        self._attempts: dict[tuple[TurnId, int], Attempt] = {}
        self._readers: list[Reader] = []
        self._stale = False
        self._reading: asyncio.Task[None] | None = None
        self._paced: asyncio.TimerHandle | None = None
        if live is not None:
            self._attempts[live.turn, live.attempt] = live

    # What the runtime tells.

    def begin(self, attempt: Attempt) -> None:
        self._live = attempt
        self._attempts[attempt.turn, attempt.attempt] = attempt

    def over(self) -> None:
        self._live = None

    def streamed(self, streams: int) -> None:
        """`streams` is how many attempts stream in all sessions."""
        if self._paced is not None:
            return
        delay = min(SLOWEST, streams * PACE)
        if delay < SOON:
            self._wake()
        else:
            self._paced = asyncio.get_running_loop().call_later(delay, self._wake)

    def notice(self, text: str) -> None:
        for reader in self._readers:
            reader.notice(text)

    def changed(self) -> None:
        self._stale = True
        if self._history is not None and self._reading is None and not self.ended:
            self._reading = asyncio.create_task(self._read(self._history))

    async def end(self) -> None:
        """No more events: subscribers take what is here and are done."""
        self._finish()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    # What subscribers ask.

    def follows(self, history: SessionLog, revision: int) -> None:
        """Somebody entitled has read the session up to a revision: from there on it is followed."""
        if self._history is None:
            self._history = history
            self._high = revision
            if self._stale:
                self.changed()

    def add(self, reader: Reader) -> None:
        self._readers.append(reader)

    def remove(self, reader: Reader) -> None:
        self._readers.remove(reader)
        self.trim()

    def after(self, revision: int) -> Changed | None:
        """The change that follows a revision, if it is here."""
        entry = self._entries.get(revision + 1)
        return None if entry is None else entry.change

    def lacks(self, revision: int) -> bool:
        """Whether the change that follows was here, and is no more."""
        return revision < self._high and revision + 1 not in self._entries

    def attempt(self, cursor: Cursor) -> Attempt | None:
        """The attempt that a cursor is in, as long as someone may have to be told of it."""
        return self._attempts.get((cursor.turn, cursor.attempt)) if cursor.turn else None

    def trim(self) -> None:
        """Drop what every subscriber has been told, and what goes beyond the bounds."""
        if not self._entries and len(self._attempts) < 2:
            return
        low = min((reader.cursor.revision for reader in self._readers), default=self._high)
        if low >= self._high and not self._stale and self._reading is None:
            self._keep_attempts(reader.cursor for reader in self._readers)
        for revision in list(self._entries):
            if revision > low and not self._too_much(len(self._entries), self._weight):
                break
            self._weight -= self._entries.pop(revision).weight
        self._bound_attempts()

    def _keep_attempts(self, cursors: Iterable[Cursor]) -> None:
        named = {(cursor.turn, cursor.attempt) for cursor in cursors}
        self._attempts = {
            key: attempt
            for key, attempt in self._attempts.items()
            if attempt is self._live or key in named
        }

    def _too_much(self, number: int, size: int) -> bool:
        return number > self.bounds.entries or size > self.bounds.bytes

    def _bound_attempts(self) -> None:
        """Who is told an attempt's end without all of its text gets the message in its place."""
        letters = sum([attempt.size for attempt in self._attempts.values()])
        for key, attempt in list(self._attempts.items()):
            if not self._too_much(len(self._attempts), letters):
                break
            if attempt is not self._live:
                letters -= self._attempts.pop(key).size

    def _wake(self) -> None:
        if self._paced is not None:
            self._paced.cancel()
            self._paced = None
        for reader in self._readers:
            reader.wake()

    def _finish(self) -> None:
        self.ended = True
        self._wake()

    async def _read(self, history: SessionLog) -> None:
        """Read until nothing was written meanwhile. A store in trouble delays, and loses nothing:
        what is asked for is what comes after the last revision read."""
        trouble = Trouble(self.session)
        while self._stale:
            self._stale = False
            try:
                self._append(await history.since(self.session, self._high))
            except NotFound:
                self._finish()
                return
            except Exception as error:  # noqa: BLE001 (the task's boundary; `met` reports it)
                self._stale = True
                await asyncio.sleep(trouble.met(error))
        self._reading = None

    def _append(self, changes: Changes) -> None:
        if changes.complete:
            for change in changed(changes):
                entry = _Entry(change, len(msgspec.json.encode(change)))
                self._entries[change.cursor.revision] = entry
                self._weight += entry.weight
        else:
            # Swept before it was read: whoever stands before the gap needs a snapshot.
            self._entries.clear()
            self._weight = 0
        self._high = changes.session.revision
        self.trim()
        self._wake()
