"""A Roost that is served, and its account here and there."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.client.account import Account as AttachedAccount
from roost.core.config import Config, ModelsConfig, ProviderConfig
from roost.core.settings import BaseUrl
from roost.runtime.account import Account
from roost.testing.models import ModelServer
from roost.wiring import Roost, running
from tests.attached import attached_to
from tests.unit.cli.tools import Ask


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def roost(tmp_path: Path, server: ModelServer) -> AsyncGenerator[Roost]:
    config = Config(
        data=tmp_path / "data",
        models=ModelsConfig(default="nest/heron"),
        providers={
            "nest": ProviderConfig(base_url=BaseUrl(server.openai_url), models=("heron", "owl"))
        },
    )
    async with running(config, {}, {}, tools=[Ask("approval"), Ask("question")]) as roost:
        yield roost


@pytest.fixture
async def account(roost: Roost) -> Account:
    """In this process."""
    return roost.app.of((await roost.app.owner()).id)


@pytest.fixture
async def attached(roost: Roost) -> AsyncGenerator[AttachedAccount]:
    async with attached_to(roost) as attached:
        yield attached
