"""`kill -9` while schedules run: each tick is one turn, at every commit that it can die before or
after."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.ids import new_schedule_id
from roost.core.schedules import NewSchedule, Schedule, When
from roost.store.sqlite.store import open_store
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, opened

KILLS = int(os.environ.get("ROOST_TEST_SCHEDULE_KILLS", "6"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
REPOSITORY = Path(__file__).parents[2]
DEADLINE = 60.0
HOUR = 3600
PLACES = ("before", "after")


@asynccontextmanager
async def nursery(folder: Path) -> AsyncGenerator[Process]:
    command = [sys.executable, "-m", "tests.faults.schedule_process", str(folder)]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def wake(process: Process, moment: int, armed: str = "") -> int:
    """How a Roost that woke up at a moment ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{moment} {armed}\n".encode())
    async with asyncio.timeout(DEADLINE):
        return int(await process.stdout.readline())


async def make(folder: Path, clock: FakeClock) -> list[Schedule]:
    async with opened(folder, clock) as store:
        ada = await Driver.of(store, "Ada", "admin")
        when = When(kind="every", spec="1h", time_zone="UTC")
        return [
            await ada.schedules.add(
                NewSchedule(
                    id=new_schedule_id(), name="News", when=when, text="Any?", missed=missed
                )
            )
            for missed in ("once", "skip", "once")
        ]


@pytest.mark.timeout(60 + 12 * KILLS)
async def test_a_tick_is_one_run_wherever_roost_is_killed(tmp_path: Path, clock: FakeClock) -> None:
    folder, chance = tmp_path / "data", random.Random(SEED)  # noqa: S311
    made = await make(folder, clock)
    died = 0
    async with nursery(folder) as process:
        for number in range(1, KILLS + 1):
            clock.advance(HOUR)
            # The first commits are those of the start; the last, of turns that end.
            armed = f"store.commit.{chance.choice(PLACES)}=kill:{chance.randint(1, 12)}"
            status = await wake(process, clock.now(), armed)
            assert status in (0, -signal.SIGKILL), f"{armed}, with ROOST_TEST_SEED={SEED}"
            died += status != 0
            assert await wake(process, clock.now()) == 0, f"with ROOST_TEST_SEED={SEED}"
            await check(folder, clock, made, number)
    assert died, f"with ROOST_TEST_SEED={SEED}"


async def check(folder: Path, clock: FakeClock, made: list[Schedule], number: int) -> None:
    """Every tick so far has one run, every run one turn, which came to its end."""
    store = open_store(folder, clock=clock, version="test")
    try:
        (owner, *_) = [each for each in await store.users.all() if each.name == "Ada"]
        ada = Driver(store, owner)
        turns = [
            turn
            for session in await ada.sessions.page(limit=200)
            for turn in await ada.turns.of(session.id)
        ]
        assert len(turns) == number * len(made), f"with ROOST_TEST_SEED={SEED}"
        for each in made:
            runs = await ada.schedules.runs(each.id, limit=200)
            assert each.due_at is not None
            ticks = [each.due_at + HOUR * 1000 * tick for tick in range(number)]
            assert [run.tick for run in reversed(runs)] == ticks, f"with ROOST_TEST_SEED={SEED}"
            assert {run.state for run in runs} <= {"completed", "interrupted"}
            assert len({run.turn for run in runs}) == number
    finally:
        await store.close()
