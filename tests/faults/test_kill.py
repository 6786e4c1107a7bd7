"""`kill -9` at any instant: what was acknowledged is there, once, and everything adds up."""

import os
import random
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.store.folder import DATABASE
from roost.store.leases import session_lease
from roost.store.migrations import SCHEMA_VERSION
from roost.store.sqlite.connect import connect_reader
from roost.store.sqlite.repair import check
from roost.store.sqlite.schema import read_schema
from roost.store.sqlite.store import open_store
from roost.store.watching import CATCH_UP
from roost.testing import faults
from tests.faults.ledger import Ledger
from tests.faults.recount import recount
from tests.faults.victim import nursery
from tests.faults.writer import MAILBOX, USER

KILLS = int(os.environ.get("ROOST_TEST_KILLS", "100"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
ELSEWHERE = ("store.migrate", "memory.", "channel.", "move.", "repair.")
REACHED = {place for place in faults.PLACES if not place.startswith(ELSEWHERE)}


def settle(folder: Path, ledger: Ledger, *, everything: bool) -> list[str]:
    """Compare and recount before anyone opens the store again: what is on disk is what the dead one
    left."""
    path = folder / DATABASE
    unborn = path.with_name(f"{DATABASE}-journal").exists()
    if not path.exists() or path.stat().st_size == 0 or unborn:
        return []
    connection = connect_reader(path)
    try:
        if read_schema(connection, path).version < SCHEMA_VERSION:
            return []
        problems = ledger.settle(connection, everything=everything)
        return [*problems, *check(folder), *recount(folder)]
    finally:
        connection.close()


async def restart(folder: Path) -> None:
    """Open it as the next owner would, and use it."""
    store = open_store(folder, clock=SystemClock(), version="0")
    me = store.of(USER)
    for session in await me.sessions.page(limit=200):
        assert await store.leases.holder(session_lease(session.id)) is None
        assert session.state != "running"
        behind = max(0, session.revision - CATCH_UP)  # of all before that, see `recount`
        assert (await me.history.since(session.id, behind)).complete
    await store.close()
    assert check(folder) == []
    assert recount(folder) == []


@pytest.mark.contract("B9")
@pytest.mark.timeout(60 + KILLS * 2)
async def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    ledger = Ledger()
    lives = answers = 0
    with nursery(tmp_path, ledger) as writers:
        for number in range(KILLS):
            seed = SEED + number
            writers.kill_one(seed)
            lives += writers.opened
            answers += ledger.answers
            last = number == KILLS - 1
            problems = settle(tmp_path, ledger, everything=last)
            assert problems == [], f"after kill {number} with ROOST_TEST_SEED={SEED}"
            if number % 10 == 9 or last:
                await restart(tmp_path)
    assert lives > KILLS // 4  # a machine at its limit opens fewer stores before their time is up
    assert answers > KILLS * 10


@pytest.mark.parametrize("nth", [1, 3, 20])
@pytest.mark.parametrize("place", sorted(REACHED))
async def test_killed_at_a_fault_point_nothing_acknowledged_is_lost(
    tmp_path: Path, place: str, nth: int
) -> None:
    ledger = Ledger()
    with nursery(tmp_path, ledger) as writers:
        writers.let_die(SEED, f"{place}=kill:{nth}")
        assert settle(tmp_path, ledger, everything=True) == []
        writers.kill_after(SEED, 50, 0)
        assert settle(tmp_path, ledger, everything=True) == [], f"with ROOST_TEST_SEED={SEED}"
    await restart(tmp_path)
    store = open_store(tmp_path, clock=SystemClock(), version="0")
    assert (await store.of(USER).sessions.get(MAILBOX)).id == MAILBOX
    await store.close()
