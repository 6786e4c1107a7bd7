"""Threads that each have an event loop of their own, let go at the same moment."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def in_threads(count: int, work: Callable[[int], Awaitable[T]]) -> list[T]:
    """What `work(n)` gives in each of `count` threads."""
    barrier = threading.Barrier(count)

    async def run(number: int) -> T:
        barrier.wait(timeout=60)
        return await work(number)

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(count) as threads:
        return await asyncio.gather(
            *[
                loop.run_in_executor(threads, lambda n=number: asyncio.run(run(n)))
                for number in range(count)
            ]
        )
