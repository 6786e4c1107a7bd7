"""What an open store costs: memory, the time until it is ready and until all is searchable."""

import asyncio
import resource
import sys
import time
from pathlib import Path

from bench.report import Figure
from bench.store.corpus import MESSAGES, Library
from bench.store.rig import CLOCK, opened
from bench.timing import Samples
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import connect_reader
from roost.store.sqlite.store import open_store

STORES = 6


async def memory(folder: Path) -> list[Figure]:
    """With every connection used. To be measured first: what was freed would be used again."""
    readings: list[int] = []
    async with asyncio.TaskGroup() as group:
        done = asyncio.Event()

        async def use(part: Path, ready: asyncio.Event) -> None:
            async with opened(part) as rig:
                live = await rig.live()
                await asyncio.gather(*[rig.me.history.load(live.session) for _ in range(8)])
                ready.set()
                await done.wait()

        for number in range(STORES):
            ready = asyncio.Event()
            group.create_task(use(folder / str(number), ready))
            await ready.wait()
            readings.append(_resident())
        done.set()
    growth = (readings[-1] - readings[0]) / (STORES - 1)
    return [Figure(name="memory of an open store", value=growth / 1e6, unit="MB")]


def _resident() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


async def catch_up(library: Library) -> list[Figure]:
    """Open the store and let its background work index every message."""
    store = open_store(library.folder, clock=CLOCK, version="bench")
    reader = connect_reader(library.folder / DATABASE)
    started = time.perf_counter()
    while reader.rows("SELECT indexed FROM search_progress")[0][0] != MESSAGES:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    seconds = time.perf_counter() - started
    reader.close()
    await store.close()
    return [Figure(name="messages indexed when idle", value=MESSAGES / seconds, unit="/s")]


async def ready(library: Library) -> list[Figure]:
    samples = Samples()
    for _ in range(5):
        started = time.perf_counter()
        store = open_store(library.folder, clock=CLOCK, version="bench")
        await store.users.all()
        samples.seconds.append(time.perf_counter() - started)
        await store.close()
    name = f"opening a store of {MESSAGES:,} messages, p50"
    return [Figure(name=name, value=samples.p50, unit="ms")]
