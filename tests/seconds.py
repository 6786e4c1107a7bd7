"""Seconds as a test gets them on a machine that runs others beside it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

TICK = 0.005


@asynccontextmanager
async def within(seconds: float) -> AsyncGenerator[None]:
    """For what is promised in so many. They are counted in short sleeps, each of which takes longer
    where others have the processor: a second is one on a quiet machine, and more on a busy one."""
    async with asyncio.timeout(None) as deadline:
        counting = asyncio.create_task(_count(seconds, deadline))
        try:
            yield
        finally:
            counting.cancel()
    assert not deadline.expired(), f"it took longer than {seconds} s"


async def _count(seconds: float, deadline: asyncio.Timeout) -> None:
    for _ in range(round(seconds / TICK)):
        await asyncio.sleep(TICK)
    deadline.reschedule(asyncio.get_running_loop().time())
