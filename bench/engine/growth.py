"""Whether turns leave memory behind, and how many of them there are in a second."""

import asyncio
import time
from pathlib import Path

import apsw
import uvloop

from bench.engine.memory import resident
from bench.engine.rig import Rig, opened, paced
from bench.report import Figure, at_most

TURNS = 10_000
WARM = 4_000
"""Of these: until then, the page caches of SQLite fill up."""
TOGETHER = 20
AGENTS = 32
LENGTH = 10
"""Turns of a session. Then another is opened, so that what is live stays as large as it is."""
MODEL = "quick-50"


def measure(folder: Path) -> list[Figure]:
    with paced() as url:
        return uvloop.run(_measure(folder, url))


async def _measure(folder: Path, url: str) -> list[Figure]:
    async with opened(folder, url, agents=AGENTS) as rig:
        started = time.perf_counter()
        await _talk(rig, WARM)
        before, warm = resident(), apsw.memory_used()
        await _talk(rig, TURNS - WARM)
        rate = TURNS / (time.perf_counter() - started)
        after, pages = resident(), apsw.memory_used()
    return [
        Figure(name=f"turns in {TOGETHER} sessions at once", value=rate, unit="/s", peer="3.4 /s"),
        Figure(
            name=f"memory left by each turn, from {WARM:,} to {TURNS:,}",
            value=(after - before) / (TURNS - WARM) / 1e3,
            unit="KB",
            target=at_most(0.1),
        ),
        Figure(name=f"the process after {TURNS:,} turns", value=after / 1e6, unit="MB"),
        Figure(
            name=f"of that, SQLite after {TURNS:,} turns",
            value=pages / 1e6,
            unit="MB",
            limit=warm / 1e6,
            against=f"after {WARM:,}",
        ),
    ]


async def _talk(rig: Rig, turns: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(TOGETHER):
            tasks.create_task(_take_turns(rig, turns // TOGETHER))


async def _take_turns(rig: Rig, turns: int) -> None:
    for _ in range(0, turns, LENGTH):
        session = await rig.session(MODEL)
        for _ in range(LENGTH):
            await rig.say(session)
