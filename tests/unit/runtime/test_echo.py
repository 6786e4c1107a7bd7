"""What a server does about the words of the others."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.events import Changed
from roost.store.sessions import SessionPatch
from roost.testing.models import ModelServer
from tests.engine import SECONDS, Engine
from tests.pairs import paired

pytestmark = pytest.mark.postgres

WORDS = 60


@pytest.fixture
async def servers(folder: Path) -> AsyncGenerator[tuple[Engine, Engine]]:
    async with ModelServer() as models, paired(folder, models, "heard") as pair:
        yield pair


async def test_word_of_a_session_where_nothing_waits_has_nobody_claim(
    servers: tuple[Engine, Engine],
) -> None:
    here, there = servers
    session = await here.session()
    async with asyncio.timeout(SECONDS), there.account.watch(session) as events:
        before = there.store.figures.commits
        for number in range(WORDS):
            await here.account.update(session, SessionPatch(title=f"Title {number}"))
            while not isinstance(await anext(events), Changed):
                pass
    # It writes by itself that it is there, and looks for work, every few seconds.
    assert there.store.figures.commits - before < WORDS / 2
