"""A scripted server, connections to it, and the vendors' packages beside ours."""

from collections.abc import AsyncGenerator

import aiohttp
import pytest

from roost.testing.models import ModelServer
from tests.unit.testing.models.listening import Clients, listening


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def connections() -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as connections:
        yield connections


@pytest.fixture
async def vendors(server: ModelServer) -> AsyncGenerator[Clients]:
    async with listening(server) as clients:
        yield clients
