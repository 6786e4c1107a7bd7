"""A scripted server, and the vendors' packages pointed at it."""

from collections.abc import AsyncGenerator

import pytest

from roost.testing.models import ModelServer
from tests.unit.testing.models.listening import Clients, listening


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def clients(server: ModelServer) -> AsyncGenerator[Clients]:
    async with listening(server) as clients:
        yield clients
