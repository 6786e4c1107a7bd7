"""A Roost to talk to: a real account on a real store, and a model that says what it is told to."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.cli.chat.commands import ROUTE, Room
from roost.core.config import Config, ModelsConfig, ProviderConfig
from roost.core.settings import BaseUrl
from roost.llm.providers import Providers
from roost.testing.models import ModelServer
from roost.wiring import running
from tests.unit.cli.tools import Ask, Stubborn


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def stubborn() -> Stubborn:
    return Stubborn()


@pytest.fixture
async def room(tmp_path: Path, server: ModelServer, stubborn: Stubborn) -> AsyncGenerator[Room]:
    """Its session has a title already: none is asked for beside what a test plans."""
    config = Config(
        data=tmp_path / "data",
        models=ModelsConfig(default="nest/heron"),
        providers={
            "nest": ProviderConfig(base_url=BaseUrl(server.openai_url), models=("heron", "owl"))
        },
    )
    tools = [Ask("approval"), Ask("question"), stubborn]
    async with running(config, {}, {}, tools=tools) as roost:
        account = roost.app.of((await roost.app.owner()).id)
        session = await account.create(origin="cli", title="First")
        await account.point(ROUTE, session.id)
        yield Room(account, Providers.of(config, {}, {}), session.id)
