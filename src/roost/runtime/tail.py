"""The tail of one watched session: its newest durable events, and the attempts that stream."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from roost.core.errors import NotFound
from roost.core.events import AttemptBegan, Changed, Cursor, Deltas, Snapshot, TurnUpdated
from roost.core.ids import SessionId, TurnId, UserId
from roost.runtime.attempt import Attempt
from roost.runtime.changes import changed
from roost.runtime.remote_attempt import RemoteAttempt
from roost.runtime.remote_streams import RemoteStreams
from roost.runtime.trouble import Trouble
from roost.store.streams import Stream
from roost.store.watching import Changes


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


class SessionLog(Protocol):
    """What of the store's `Histories` is needed here."""

    @property
    def user(self) -> UserId: ...
    def since(self, session: SessionId, revision: int) -> Awaitable[Changes]: ...
    def snapshot(self, session: SessionId) -> Awaitable[Snapshot]: ...


class Reader(Protocol):
    """A subscriber, as its tail sees it."""

    @property
    def cursor(self) -> Cursor: ...
    def wake(self) -> None: ...
    def notice(self, text: str) -> None: ...


class _Entry(msgspec.Struct, frozen=True):
    change: Changed
    weight: int


class Tail:
    """Durable events are read once for all subscribers, by one task, and only when there are any.
    It keeps what some subscriber has still to be told, within bounds."""

    def __init__(
        self,
        session: SessionId,
        live: Attempt | None,
        bounds: Bounds,
        *,
        elsewhere: RemoteStreams | None = None,
    ) -> None:
        """`elsewhere` is what follows turns of other servers, where there can be any."""
        self.elsewhere = elsewhere
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
        self._attempts: dict[tuple[TurnId, int], Attempt | RemoteAttempt] = {}
        self._remote: RemoteAttempt | None = None
        self._readers: list[Reader] = []
        self._stale = False
        self._reading: asyncio.Task[None] | None = None
        self._paced: asyncio.TimerHandle | None = None
        if live is not None:
            self._attempts[live.turn, live.attempt] = live

    # What the runtime tells.

    def begin(self, attempt: Attempt) -> None:
        self._live = attempt
        self._remote = None
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

    def streamed_elsewhere(self) -> None:
        """There may be more of an attempt that streams on another server."""
        if self._remote is not None and self.elsewhere is not None:
            self.elsewhere.heard(self)

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
        if (reading := self._reading) is not None:
            reading.cancel()
            await asyncio.wait([reading])

    @property
    def revision(self) -> int:
        """How far it was read."""
        return self._high

    # What is read of an attempt on another server.

    @property
    def awaited(self) -> Stream | None:
        """On behalf of somebody entitled."""
        remote, history = self._remote, self._history
        if remote is None or history is None or self.ended:
            return None
        return Stream(history.user, self.session, remote.turn, remote.attempt, remote.last_seq)

    def arrived(self, stream: Stream, stored: Sequence[Deltas]) -> None:
        attempt = self._attempts.get((stream.turn, stream.attempt))
        if isinstance(attempt, RemoteAttempt):
            attempt.extend(stored)
            self._wake()

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

    def attempt(self, cursor: Cursor) -> Attempt | RemoteAttempt | None:
        """The attempt that a cursor is in, as long as someone may have to be told of it."""
        return self._attempts.get((cursor.turn, cursor.attempt)) if cursor.turn else None

    def streams_elsewhere(self, turn: TurnId, attempt: int, stored: Sequence[Deltas] = ()) -> None:
        """Follow an attempt that no turn of this server's makes. There may be more of it: that was
        told while nobody followed it."""
        self._remote = RemoteAttempt(turn, attempt, stored)
        self._attempts[turn, attempt] = self._remote
        self.streamed_elsewhere()

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
            if attempt in (self._live, self._remote) or key in named
        }

    def _too_much(self, number: int, size: int) -> bool:
        return number > self.bounds.entries or size > self.bounds.bytes

    def _bound_attempts(self) -> None:
        """Who is told an attempt's end without all of its text gets the message in its place."""
        letters = sum([attempt.size for attempt in self._attempts.values()])
        for key, attempt in list(self._attempts.items()):
            if not self._too_much(len(self._attempts), letters):
                break
            if attempt not in (self._live, self._remote):
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
        trouble = Trouble(session=self.session)
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
                self._note_attempts(change)
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

    def _note_attempts(self, change: Changed) -> None:
        """One that is unknown here streams on another server, or will be known in a moment."""
        for event in change.events if self.elsewhere is not None else ():
            if isinstance(event, AttemptBegan):
                if (event.turn, event.attempt) not in self._attempts:
                    self.streams_elsewhere(event.turn, event.attempt)
            elif isinstance(event, TurnUpdated) and event.state != "running":
                self._stops_elsewhere(event.turn)

    def _stops_elsewhere(self, turn: TurnId) -> None:
        """What is known of it stays for those who are still in it."""
        if self._remote is not None and self._remote.turn == turn:
            self._remote = None
