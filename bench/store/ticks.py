"""The tick: what all live turns have streamed since the last one, in one commit."""

import asyncio
import struct
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.report import Figure, at_most
from bench.store.rig import Bare, Live, Rig, opened, text_of
from bench.timing import Samples
from roost.core.events import Deltas, TextDelta
from roost.store.folder import DATABASE
from roost.store.work import Checkpoint

TURNS = 500
STREAMED = 100_000
DELTA = 60
"""Characters that a quick model streams between two ticks."""

TICKS = 100
RENEWAL = 25
"""Every so many ticks, leases are renewed with them: 5 s, a sixth of their time."""

BURN = 0.002


async def measure(folder: Path) -> list[Figure]:
    async with opened(folder) as rig:
        lives = await asyncio.gather(*[rig.live() for _ in range(TURNS)])
        clock = _Ticker(rig, lives, folder)
        for _ in range(100):
            await clock.tick(STREAMED // 100)
        ticks, inserts, processor, commits = Samples(), Samples(), Samples(), list[int]()
        bare = Bare(folder / "bare.db")
        for _ in range(TICKS):
            before, cpu = await clock.rest(), time.process_time()
            await ticks.wait(clock.tick(DELTA))
            processor.seconds.append(time.process_time() - cpu)
            commits.append(clock.commits() - before)
            inserts.time(lambda: bare.insert_all([text_of(DELTA)] * TURNS))
        busy = Samples()
        async with _burning():
            for _ in range(TICKS // 2):
                await busy.wait(clock.tick(DELTA))
                await asyncio.sleep(0.02)
        bare.close()
    against = f"{TURNS} bare inserts and one commit"
    name = f"tick for {TURNS} turns"
    return [
        Figure(
            name=f"{name}, p50",
            value=ticks.p50,
            unit="ms",
            limit=inserts.p50,
            against=against,
            target=at_most(10),
        ),
        Figure(
            name=f"{name}, p95",
            value=ticks.p95,
            unit="ms",
            limit=inserts.p95,
            against=against,
            target=at_most(10),
        ),
        Figure(name=f"{name}, processor, p50", value=processor.p50, unit="ms"),
        Figure(name=f"{name}, most commits", value=max(commits), unit="commits", target=at_most(1)),
        Figure(name=f"{name}, p50 while the event loop is busy", value=busy.p50, unit="ms"),
        Figure(name=f"{name}, p95 while the event loop is busy", value=busy.p95, unit="ms"),
    ]


class _Ticker:
    def __init__(self, rig: Rig, lives: Sequence[Live], folder: Path) -> None:
        self._rig = rig
        self._lives = lives
        self._log_index = folder / f"{DATABASE}-shm"
        self._seq = 0

    async def tick(self, size: int) -> None:
        self._seq += 1
        deltas = Deltas(self._seq, self._seq, (TextDelta(text_of(size)),))
        checkpoints = [Checkpoint(live.turn, 1, live.lease.token, deltas) for live in self._lives]
        held = [live.lease for live in self._lives] if self._seq % RENEWAL == 0 else []
        tick = await self._rig.store.work.tick(checkpoints, held)
        assert set(tick.stored.values()) == {self._seq}
        assert len(tick.stored) == TURNS

    async def rest(self) -> int:
        """Wait until nothing is committed in the background any more, which would be counted with
        the next tick; how many transactions there are by then."""
        before, now = -1, self.commits()
        while now != before:
            await asyncio.sleep(0.02)
            before, now = now, self.commits()
        return now

    def commits(self) -> int:
        """How many transactions were committed: SQLite counts them in the log's index."""
        with self._log_index.open("rb") as file:
            (count,) = struct.unpack_from("=I", file.read(12), 8)
        return count


@asynccontextmanager
async def _burning() -> AsyncGenerator[None]:
    """Keep the event loop busy, two milliseconds at a time."""

    async def burn() -> None:
        while True:
            until = time.perf_counter() + BURN
            while time.perf_counter() < until:
                pass
            await asyncio.sleep(0)

    task = asyncio.create_task(burn())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
