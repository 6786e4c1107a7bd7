"""A Roost that is served, and the model it asks."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.testing.models import ModelServer, say
from tests.unit.http.served import Client, Served, started


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    async with started(Served(folder, server)) as served:
        yield served


@pytest.fixture
async def browser(served: Served) -> AsyncGenerator[Client]:
    async with served.browser() as browser:
        yield browser
