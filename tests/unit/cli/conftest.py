"""A Roost to talk to: a real account on a real store, and a model that says what it is told to."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.cli.chat.commands import ROUTE, Room
from roost.core.config import Config, ModelsConfig, ProviderConfig
from roost.core.settings import BaseUrl
from roost.runtime.account import Account
from roost.testing.models import ModelServer
from roost.wiring import Roost, running
from tests.attached import attached_to
from tests.unit.cli.tools import Ask, Stubborn


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A data folder that a Roost has been in, and has stored nothing yet."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "owner.lock").touch()
    return folder


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def stubborn() -> Stubborn:
    return Stubborn()


@pytest.fixture
async def roost(tmp_path: Path, server: ModelServer, stubborn: Stubborn) -> AsyncGenerator[Roost]:
    config = Config(
        data=tmp_path / "data",
        models=ModelsConfig(default="nest/heron"),
        providers={
            "nest": ProviderConfig(base_url=BaseUrl(server.openai_url), models=("heron", "owl"))
        },
    )
    tools = [Ask("approval"), Ask("question"), stubborn]
    async with running(config, {}, {}, tools=tools) as roost:
        yield roost


@pytest.fixture
async def account(roost: Roost) -> Account:
    """What another surface has."""
    return roost.app.of((await roost.app.owner()).id)


@pytest.fixture(params=["in process", "attached"])
async def room(
    request: pytest.FixtureRequest, roost: Roost, account: Account
) -> AsyncGenerator[Room]:
    """Its session has a title already: none is asked for beside what a test plans."""
    session = await account.create(origin="cli", title="First")
    await account.point(ROUTE, session.id)
    if request.param == "in process":
        yield Room(account, session.id)
        return
    async with attached_to(roost) as attached:
        yield Room(attached, session.id)
