"""Follows what streams on other servers and is watched here: one read for all of it."""

import asyncio
from collections.abc import Awaitable, Sequence
from itertools import islice
from typing import Protocol

import structlog

from roost.core.errors import StoreClosed, StoreUnavailable
from roost.core.events import Deltas
from roost.runtime.trouble import Trouble
from roost.store.streams import Stored, Stream

log = structlog.get_logger()

BATCH = 500
"""Streams in one read."""


class StreamLog(Protocol):
    """What of the store's `Streams` is needed here."""

    def after(self, streams: Sequence[Stream]) -> Awaitable[Stored]: ...


class Follower(Protocol):
    """A tail, as it is seen here."""

    @property
    def awaited(self) -> Stream | None:
        """What it follows on another server, if anything."""
        ...

    def arrived(self, stream: Stream, stored: Sequence[Deltas]) -> None: ...


Batch = Sequence[tuple[Follower, Stream]]


class RemoteStreams:
    """There is one read at a time, and what is heard of meanwhile goes into the next. So a slow
    store is asked for more at once, and never for more than it can do."""

    def __init__(self, log: StreamLog) -> None:
        self._log = log
        self._due: dict[Follower, None] = {}
        self._reading: asyncio.Task[None] | None = None

    def heard(self, follower: Follower) -> None:
        """There may be more of what it follows."""
        self._due[follower] = None
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Whoever follows has ended."""
        if (reading := self._reading) is not None:
            reading.cancel()
            await asyncio.wait([reading])

    async def _read(self) -> None:
        """Until nothing is due. A store in trouble delays, and loses nothing: what is asked for is
        what comes after the last that arrived."""
        trouble = Trouble()
        while self._due:
            batch = self._take()
            try:
                if batch:
                    await self._fetch(batch)
                trouble = Trouble()
            except Exception as error:  # noqa: BLE001 (the task's boundary; `met` reports it)
                self._again(batch)
                await asyncio.sleep(trouble.met(error))
        self._reading = None

    def _take(self) -> Batch:
        """The first that are due, as far as they still follow something."""
        due = list(islice(self._due, BATCH))
        for each in due:
            del self._due[each]
        return [(each, stream) for each in due if (stream := each.awaited) is not None]

    def _again(self, batch: Batch) -> None:
        self._due |= dict.fromkeys([follower for follower, _ in batch])

    async def _fetch(self, batch: Batch) -> None:
        try:
            stored = await self._log.after([stream for _, stream in batch])
        except (StoreUnavailable, StoreClosed):
            raise
        except Exception as error:
            # One of them can't be read. It must not hold the others: which one is it?
            if len(batch) == 1:
                log.warning("a stream can't be read", session=batch[0][1].session, exc_info=error)
                return
            half = len(batch) // 2
            await self._fetch(batch[:half])
            await self._fetch(batch[half:])
            return
        for (follower, stream), runs in zip(batch, stored.runs, strict=True):
            if runs:
                follower.arrived(stream, runs)
        if not stored.complete:
            self._again(batch)
