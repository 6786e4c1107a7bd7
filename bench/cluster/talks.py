"""Sessions that talk as fast as they can, on all servers at once: turns, and their cost."""

import asyncio
import time
from collections.abc import Callable
from itertools import cycle
from typing import NamedTuple

from bench.cluster.place import Place
from bench.server.client import Client

MODEL = "quick-50"
TURNS = 200
"""In each measurement, at least one for each session."""


class Talk(NamedTuple):
    """`server` and `database` are milliseconds of processor for a turn."""

    rate: float
    server: float
    database: float


async def talk(place: Place, sessions: int, database: Callable[[], float] = lambda: 0.0) -> Talk:
    """The sessions are open and watched before the first of them speaks."""
    turns = max(1, TURNS // sessions)
    ready = asyncio.Semaphore(0)
    go = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for _, client in zip(range(sessions), cycle(place.clients), strict=False):
            tasks.create_task(_talk(client, turns, ready, go))
        for _ in range(sessions):
            await ready.acquire()
        began, used, stored = time.perf_counter(), place.used(), database()
        go.set()
    passed, count = time.perf_counter() - began, sessions * turns
    return Talk(
        rate=count / passed,
        server=(place.used() - used) / count * 1000,
        database=(database() - stored) / count * 1000,
    )


async def _talk(client: Client, turns: int, ready: asyncio.Semaphore, go: asyncio.Event) -> None:
    session = await client.session(MODEL)
    async with client.watch(session) as events:
        ready.release()
        await go.wait()
        for _ in range(turns):
            await client.say(session, events)
