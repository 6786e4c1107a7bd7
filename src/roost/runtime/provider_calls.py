"""Calls a memory provider and waits only so long, whatever it does."""

import asyncio
from collections.abc import Coroutine

import structlog

from roost.core.errors import MemoryFailed
from roost.core.ids import SessionId
from roost.memory.base import MemoryProvider, Scope, Segment

log = structlog.stdlib.get_logger("roost.memory")

CALL_LIMIT = 60.0
NO_ANSWER = "it did not answer in time"
DOES_NOT_END = "an earlier call to it does not end"
OBEY = 0.5
"""Seconds within which a call has to end once it is cancelled. Then it is left alone."""

Place = tuple[SessionId, Scope]


class ProviderCalls:
    """`limit` is how many seconds a call may take."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._until: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._left_alone: dict[Place, asyncio.Task[None]] = {}

    def hurry(self, until: float) -> None:
        """Roost stops at this time: from now on a call gets at most half of what is left, so that
        one that hangs leaves time for the one after it."""
        if not self._until.done():
            self._until.set_result(until)

    async def commit(self, provider: MemoryProvider, segment: Segment) -> None:
        place = segment.session, segment.scope
        if place in self._left_alone:
            # Two commits of one session never overlap (C5).
            raise MemoryFailed(DOES_NOT_END, provider=segment.scope.provider)
        await self._call(place, provider.commit(segment))

    async def withdraw(self, provider: MemoryProvider, scope: Scope, session: SessionId) -> None:
        """Forget what came from a session that was deleted, as far as the provider can."""
        if (session, scope) in self._left_alone:
            # A commit that has not ended could still bring something in afterwards.
            raise MemoryFailed(DOES_NOT_END, provider=scope.provider)
        await self._call((session, scope), provider.withdraw(scope, session))

    async def _call(self, place: Place, work: Coroutine[object, object, None]) -> None:
        call = asyncio.create_task(work)
        try:
            await self._wait_for(call)
        finally:
            if not call.done():
                await self._stop(call, place)
        if not call.done() or call.cancelled():
            raise MemoryFailed(NO_ANSWER, provider=place[1].provider)
        call.result()

    async def _wait_for(self, call: asyncio.Task[None]) -> None:
        await asyncio.wait(
            [call, self._until], timeout=self._limit, return_when=asyncio.FIRST_COMPLETED
        )
        if not call.done() and self._until.done():
            rest = self._until.result() - asyncio.get_running_loop().time()
            await asyncio.wait([call], timeout=max(0.0, rest / 2))

    async def _stop(self, call: asyncio.Task[None], place: Place) -> None:
        self._left_alone[place] = call
        call.add_done_callback(lambda _: self._left_alone.pop(place, None))
        call.add_done_callback(_hear)
        call.cancel()
        await asyncio.wait([call], timeout=OBEY)
        if not call.done():
            log.error("a memory does not stop; it is left alone", session=place[0])

    async def close(self) -> None:
        """Leave what does not end."""
        left = list(self._left_alone.values())
        for call in left:
            call.cancel()
        if left:
            await asyncio.wait(left, timeout=OBEY)


def _hear(call: asyncio.Task[None]) -> None:
    """Whatever became of it: the segment comes again, with the same key."""
    if not call.cancelled():
        call.exception()
