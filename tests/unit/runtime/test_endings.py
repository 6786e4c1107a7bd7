"""Sessions that come to their end, with all that work for them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.errors import NotFound
from roost.testing.models import ModelServer
from tests.engine import Engine, started
from tests.unit.store.tables import chain_below


@pytest.fixture
async def engine(folder: Path) -> AsyncGenerator[Engine]:
    async with (
        ModelServer() as server,
        started(Engine(folder, server, clock=SystemClock())) as engine,
    ):
        yield engine


async def test_however_long_a_chain_of_subagents_is_it_ends_and_is_deleted(
    engine: Engine, folder: Path
) -> None:
    session = await engine.session()
    chain = await chain_below(folder, session, 1_000)
    await engine.account.end(session)
    for each in (chain[0], chain[-1]):
        assert (await engine.account.session(each)).ended_at is not None
    await engine.account.delete(session)
    for each in (session, chain[0], chain[-1]):
        with pytest.raises(NotFound):
            await engine.account.session(each)
