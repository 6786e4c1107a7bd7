"""`roost models`, `ask` and `doctor` know the models that an admin added while Roost ran."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from roost.cli import checks
from roost.core.config import Config
from roost.core.keys import Key, StoreAddress
from roost.runtime.catalogue import Setup
from roost.runtime.checks import store
from roost.store.folder import KEY
from roost.store.sqlite.connect import connect_writer
from roost.testing.models import ModelServer
from roost.wiring import known_channels, known_models, running

SECRET = "sk-nest-0123456789"  # noqa: S105


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer(models={"heron": {}}) as server:
        yield server


async def check(config: Config) -> None:
    async with known_models(config, {}, {}) as (providers, clients):
        target = providers.resolve(None)
        assert str(target) == "nest/heron"
        assert [each.model for each in await clients.models(target.provider)] == ["heron"]
        assert providers.key("nest") == Key(SECRET)
    found = await checks.model(config, {}, {})
    assert (found.state, found.found) == ("good", "nest/heron, its provider answers")


async def test_what_was_added_is_known_beside_the_server_and_after_it(
    tmp_path: Path, server: ModelServer
) -> None:
    config = Config(data=tmp_path / "data")
    async with running(config, {}, {}) as roost:
        catalogue = roost.app.parts.catalogue
        setup = Setup(base_url=server.openai_url, models=("heron",))
        await catalogue.put("nest", setup, Key(SECRET))
        await catalogue.choose({"default": "nest/heron"})
        await check(config)
    await check(config)


async def test_looking_makes_nothing(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    async with known_models(config, {}, {}) as (providers, _):
        assert providers.find("nest") is None
    assert not config.data.exists()


async def test_store_that_died_at_its_birth_is_not_looked_at(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    async with running(config, {}, {}):
        pass
    (database,) = config.data.glob("*.db")
    database.unlink()
    connect_writer(database).close()
    (found,) = store(config)
    assert (found.state, found.found) == ("good", "none yet, made at the first start")
    with capture_logs() as logs:
        assert await known_channels(config, {}) == {}
    assert logs == []


async def test_store_that_can_not_be_read_leaves_what_is_configured(
    tmp_path: Path, server: ModelServer
) -> None:
    config = Config(data=tmp_path / "data")
    async with running(config, {}, {}):
        pass
    (database,) = config.data.glob("*.db")
    database.write_bytes(b"no database" * 1000)
    environ = {"OPENAI_API_KEY": SECRET}
    async with known_models(config, {}, environ) as (providers, _):
        assert providers.default().provider.name == "openai"


async def test_folder_of_before_a_move_is_not_looked_at(tmp_path: Path) -> None:
    """The store is in a database: what is wrong with the one in the folder is nobody's concern."""
    data = tmp_path / "data"
    async with running(Config(data=data), {}, {}):
        pass
    (data / KEY).write_bytes(b"no key")
    config = Config(data=data, store=StoreAddress("postgresql://roost@db/roost"))
    with capture_logs() as logs:
        async with known_models(config, {}, {}):
            assert await known_channels(config, {}) == {}
    assert logs == []
