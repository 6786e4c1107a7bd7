"""`kill -9` on the way to memory: no completed turn is lost, and a repeat is the same as before."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.ids import TurnId
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import connect_reader
from roost.testing.models import ModelServer
from tests.engine import started
from tests.faults.memory_process import DURING, FileMemory, Ledger
from tests.memories import remembering

KILLS = int(os.environ.get("ROOST_TEST_MEMORY_KILLS", "50"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
REPOSITORY = Path(__file__).parents[2]
DEADLINE = 60.0


@asynccontextmanager
async def nursery(folder: Path) -> AsyncGenerator[Process]:
    command = [sys.executable, "-m", "tests.faults.memory_process", str(folder)]
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=log
        )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def let_die(process: Process, seed: int, armed: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{seed} {armed}\n".encode())
    async with asyncio.timeout(DEADLINE):
        status = int(await process.stdout.readline())
    assert status == -signal.SIGKILL, f"it was not killed at {armed} with ROOST_TEST_SEED={SEED}"


def on_disk(folder: Path) -> tuple[set[TurnId], set[TurnId]]:
    """The turns that completed and were not taken back; and those of them that are in a segment
    that is said to be committed."""
    connection = connect_reader(folder / "data" / DATABASE)
    try:
        rows = connection.rows(
            "SELECT t.id, g.state FROM turns t LEFT JOIN memory_segments g ON g.id = t.segment_id"
            " WHERE t.state = 'completed' AND t.undone IS NULL"
        )
    finally:
        connection.close()
    turns = {TurnId(str(turn)): state for turn, state in rows}
    return set(turns), {turn for turn, state in turns.items() if state == "committed"}


def settle(folder: Path) -> None:
    """What the dead one left: nothing is said to be committed that the memory does not have."""
    ledger = Ledger(folder)
    assert ledger.problems() == [], f"with ROOST_TEST_SEED={SEED}"
    _, committed = on_disk(folder)
    kept = {turn for turns in ledger.kept.values() for turn in turns}
    assert committed <= kept


async def come_to_rest(folder: Path) -> None:
    """The next owner brings everything to memory: what waits for another try, and at its stop what
    was interrupted and has gone on."""
    async with ModelServer() as server:
        memories = {"file": FileMemory(folder)}
        engine = remembering(folder / "data", server, SystemClock(), memories, grace=DEADLINE)
        async with started(engine):
            for found in await engine.store.memory.all_waiting():
                await engine.account.memory.commit(found.session)


@pytest.mark.contract("C6", "C10")
@pytest.mark.parametrize(
    "place", ["memory.cut.before", "memory.commit.before", DURING, "memory.commit.after"]
)
@pytest.mark.timeout(120 + KILLS * 5)
async def test_killed_on_the_way_to_memory_no_turn_is_lost_or_doubled(
    tmp_path: Path, place: str
) -> None:
    chance = random.Random(SEED)  # noqa: S311 (reproducible, not secret)
    async with nursery(tmp_path) as process:
        for number in range(KILLS):
            await let_die(process, SEED + number, f"{place}=kill:{chance.randrange(1, 5)}")
            settle(tmp_path)
            if number % 10 == 9 or number == KILLS - 1:
                await come_to_rest(tmp_path)
                settle(tmp_path)
                completed, committed = on_disk(tmp_path)
                assert completed == committed
    completed, _ = on_disk(tmp_path)
    ledger = Ledger(tmp_path)
    assert sorted([turn for turns in ledger.kept.values() for turn in turns]) == sorted(completed)
    assert len(completed) > KILLS // 2
