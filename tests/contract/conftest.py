"""An engine that runs, and the model it asks."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.testing.models import ModelServer, say
from tests.engine import Engine, started


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


@pytest.fixture
async def engine(folder: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=SystemClock())) as engine:
        yield engine
