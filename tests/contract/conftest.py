"""An engine that runs, or two of them, and the model they ask."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.store.postgres import signals
from roost.testing.models import ModelServer, say
from tests.engine import Engine, started
from tests.pairs import NEVER, Words, paired


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


@pytest.fixture
async def engine(folder: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=SystemClock())) as engine:
        yield engine


@pytest.fixture(params=["heard", "lost"])
def words(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Words:
    """Either nothing but words tells the second server anything, or no word does."""
    words: Words = request.param
    monkeypatch.setattr(signals, "LOOK", NEVER if words == "heard" else 0.1)
    return words


@pytest.fixture
async def servers(
    folder: Path, server: ModelServer, words: Words
) -> AsyncGenerator[tuple[Engine, Engine]]:
    async with paired(folder, server, words) as servers:
        yield servers
