"""One subscriber of a session: how far it is, and what it is told next."""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import reduce

import msgspec

from roost.core.errors import NotFound, StoreError
from roost.core.events import (
    Changed,
    Cursor,
    Deltas,
    Noticed,
    Rewound,
    SessionEvent,
    Streamed,
)
from roost.runtime.attempt import Attempt
from roost.runtime.changes import after, changed, closes, epoch_before, keeps
from roost.runtime.tail import SessionLog, Tail
from roost.runtime.trouble import Trouble


class Subscriber:
    """An iterator without a buffer: its cursor is all it keeps, and what comes next is looked up
    when it is asked for. So whoever is slow gets more at once, and coming back with a cursor is no
    different from having been slow."""

    def __init__(self, tail: Tail, history: SessionLog) -> None:
        self.cursor = Cursor(0, 0)
        self._tail = tail
        self._history = history
        self._first: SessionEvent | None = None
        self._notice: str | None = None
        self._backlog: deque[Changed] = deque()
        self._woken = asyncio.Event()
        self._trouble: Trouble | None = None

    def wake(self) -> None:
        self._woken.set()

    def notice(self, text: str) -> None:
        """Only the latest counts."""
        self._notice = text
        self._woken.set()

    def __aiter__(self) -> "Subscriber":
        return self

    async def __anext__(self) -> SessionEvent:
        while True:
            self._woken.clear()
            if (event := self._take()) is not None:
                return event
            if self._tail.ended:
                raise StopAsyncIteration
            if self._tail.lacks(self.cursor.revision):
                await self._catch_up()
            else:
                self._tail.trim()
                await self._woken.wait()

    # Beginning, and beginning again.

    async def begin(self) -> None:
        """With a snapshot, brought up to what is streaming."""
        snapshot = await self._history.snapshot(self._tail.session)
        self._tail.follows(self._history, snapshot.cursor.revision)
        self._follow_elsewhere(snapshot.cursor, snapshot.deltas)
        attempt = self._tail.attempt(snapshot.cursor)
        if isinstance(attempt, Attempt):
            deltas = attempt.since(0)
            snapshot = msgspec.structs.replace(
                snapshot,
                cursor=msgspec.structs.replace(snapshot.cursor, seq=attempt.last_seq),
                deltas=() if deltas is None else (deltas,),
            )
        self.cursor = snapshot.cursor
        self._first = snapshot

    async def resume(self, cursor: Cursor) -> None:
        """After a cursor; with a snapshot if nobody can tell what followed it."""
        if cursor.seq and cursor.turn is None:
            # Seqs count within a turn: without one they are no place.
            await self.begin()
            return
        changes = await self._history.since(self._tail.session, cursor.revision)
        if not changes.complete or epoch_before(changes) != cursor.epoch:
            await self.begin()
            return
        self._tail.follows(self._history, changes.session.revision)
        told = changed(changes)
        self._backlog = deque(told[: self._tail.bounds.entries])
        self.cursor = cursor
        if cursor.seq and self._streams_elsewhere(cursor, told):
            # What is stored of it can be told from certain places on only.
            self._backlog.clear()
            await self.begin()
            return
        if cursor.seq and self._tail.attempt(cursor) is None:
            # Nobody can say how it went on. What of it was kept comes in a message.
            self._first = self._rewound()
        self._follow_elsewhere(reduce(lambda at, change: after(change, at), told, cursor))

    def _follow_elsewhere(self, at: Cursor, stored: Sequence[Deltas] = ()) -> None:
        """An attempt that nobody here knows is another server's; unless the tail is further than
        this, and knows of a later one."""
        if at.turn is None or self._tail.elsewhere is None:
            return
        if self._tail.attempt(at) is None and at.revision >= self._tail.revision:
            self._tail.streams_elsewhere(at.turn, at.attempt, stored)

    def _streams_elsewhere(self, cursor: Cursor, told: Sequence[Changed]) -> bool:
        """Whether the attempt that a cursor is in goes on, on another server."""
        if self._tail.elsewhere is None or isinstance(self._tail.attempt(cursor), Attempt):
            return False
        return not any(closes(change, cursor) for change in told)

    async def _catch_up(self) -> None:
        try:
            await self.resume(self.cursor)
            self._trouble = None
        except NotFound:
            await self._tail.end()
        except StoreError as error:
            self._trouble = self._trouble or Trouble(session=self._tail.session)
            await asyncio.sleep(self._trouble.met(error))

    # What comes next.

    def _noticed(self) -> Noticed | None:
        text, self._notice = self._notice, None
        return None if text is None else Noticed(self.cursor, text)

    def _take(self) -> SessionEvent | None:
        if (first := self._first) is not None:
            self._first = None
            return first
        change = self._next_change()
        if change is None:
            return self._streamed() or self._noticed()
        if closes(change, self.cursor):
            if (streamed := self._streamed()) is not None:
                return streamed
            if self.cursor.seq and not keeps(change, self.cursor):
                return self._rewound()
        return self._told(change)

    def _next_change(self) -> Changed | None:
        return self._backlog[0] if self._backlog else self._tail.after(self.cursor.revision)

    def _told(self, change: Changed) -> Changed:
        if self._backlog:
            self._backlog.popleft()
        self.cursor = after(change, self.cursor)
        return msgspec.structs.replace(change, cursor=self.cursor)

    def _streamed(self) -> Streamed | None:
        at = self.cursor
        attempt = self._tail.attempt(at)
        deltas = attempt.since(at.seq) if attempt is not None else None
        if deltas is None:
            return None
        self.cursor = Cursor(at.epoch, at.revision, at.turn, at.attempt, deltas.last_seq)
        return Streamed(self.cursor, deltas)

    def _rewound(self) -> Rewound:
        at = self.cursor
        assert at.turn is not None, "only what an attempt streamed can be withdrawn"
        self.cursor = Cursor(at.epoch, at.revision)
        return Rewound(self.cursor, at.turn, at.attempt, 0)
