"""Servers killed, frozen and set wrong, their database restarted, its connections cut in the middle
of a commit, under people who talk all the while: nothing lost, nothing doubled, one writer at a
time."""

import asyncio
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import structlog

from roost.testing.models import ModelServer
from tests.faults import cluster_books
from tests.faults.cluster_model import Counting
from tests.faults.cluster_people import Person, client_of
from tests.faults.cluster_scene import scene
from tests.faults.cluster_storm import Storm

log = structlog.get_logger()

DURATION = float(os.environ.get("ROOST_TEST_CLUSTER_SECONDS", "60"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
SERVERS = 3
PEOPLE = 50
PACE = 0.2
CALM = 180.0
"""Seconds in which everything has come to its end after the storm, on a machine that is busy."""


@pytest.mark.contract("B1", "B2", "B3", "D1", "D3", "D5", "D8", "D11")
@pytest.mark.timeout(DURATION + 3 * CALM)
async def test_nothing_is_lost_or_doubled_and_one_writes_at_a_time(tmp_path: Path) -> None:
    over = asyncio.Event()
    async with (
        ModelServer(otherwise=Counting(SEED, PACE)) as models,
        scene(tmp_path, models, servers=SERVERS) as set,
        client_of(set.cluster.servers, set.cluster.token, SEED) as client,
    ):
        people = [Person(f"p{number}", client, SEED + number, over) for number in range(PEOPLE)]
        storm = Storm(set, SEED, over)
        await live(people, storm, over)
        async with client_of(set.cluster.servers, set.cluster.token, SEED, silence=CALM) as calm:
            for person in people:
                await person.check_pages(calm)
        sent = [each for person in people for each in person.sent]
        wrong = await cluster_books.check(sent, set.fences)
    log.info("the storm is over", turns=len(sent), **storm.seen)
    assert wrong == [], "\n".join([f"with ROOST_TEST_SEED={SEED}", *wrong])


async def live(people: Sequence[Person], storm: Storm, over: asyncio.Event) -> None:
    """Until everybody has the answers to what they asked."""
    async with asyncio.timeout(None) as deadline, asyncio.TaskGroup() as tasks:
        for person in people:
            tasks.create_task(person.talk())
        raging = tasks.create_task(storm.rage())
        await asyncio.sleep(DURATION)
        over.set()
        await raging
        deadline.reschedule(asyncio.get_running_loop().time() + CALM)
