"""A session's events, one at a time, with a way to wait for the next without taking it."""

import asyncio
from collections.abc import AsyncIterator

from roost.core.events import SessionEvent


class Feed:
    def __init__(self, events: AsyncIterator[SessionEvent]) -> None:
        self._events = events
        self._next: asyncio.Task[SessionEvent] | None = None

    async def ready(self) -> None:
        """Until there is one to take. To be cancelled loses nothing."""
        await asyncio.wait([self._task()])

    @property
    def is_ready(self) -> bool:
        return self._task().done()

    async def take(self) -> SessionEvent | None:
        """The next; None once there are no more: the session was deleted."""
        task = self._task()
        await asyncio.wait([task])
        try:
            event = task.result()
        except StopAsyncIteration:
            return None
        self._next = None
        return event

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])

    def _task(self) -> asyncio.Task[SessionEvent]:
        if self._next is None:
            self._next = asyncio.create_task(self._one())
        return self._next

    async def _one(self) -> SessionEvent:
        return await anext(self._events)
