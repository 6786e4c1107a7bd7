"""Work that is done in order within a lane, and side by side across lanes."""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Self


class Lanes:
    """At most one task for each lane, and at most `width` of them. `freed` is called when one has
    ended; what goes wrong in one is for that one to see to."""

    def __init__(self, width: int, freed: Callable[[], None]) -> None:
        self._room = asyncio.Semaphore(width)
        self._freed = freed
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, lane: str) -> bool:
        return lane in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    async def start(self, lane: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Once there is room. The lane must be free."""
        await self._room.acquire()
        task = asyncio.create_task(work())
        self._tasks[lane] = task
        task.add_done_callback(lambda _: self._ended(lane))

    def _ended(self, lane: str) -> None:
        del self._tasks[lane]
        self._room.release()
        self._freed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
