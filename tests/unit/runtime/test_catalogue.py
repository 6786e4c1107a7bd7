"""What an admin added to the configuration: kept, taken up again, and left out where it must be."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from roost.core.clock import SystemClock
from roost.core.config import Config, ModelsConfig
from roost.core.errors import Conflict
from roost.core.keys import Key
from roost.llm.providers import Providers
from roost.memory.builtin import Builtin
from roost.memory.ports import Inquiry
from roost.runtime.catalogue import Catalogue, Setup
from roost.store.store import Store
from roost.testing.models import ModelServer, say
from tests.engine import Engine, config_for, started

KEY = Key("sk-heron-0123456789")


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


def bare(folder: Path, server: ModelServer) -> Engine:
    """Only the built-in model is set up."""
    config = msgspec.structs.replace(
        config_for(folder, server), models=ModelsConfig(), providers={}
    )
    engine = Engine(folder, server, clock=SystemClock(), config=config)

    async def nothing_new(inquiry: Inquiry) -> str:
        return '{"facts":[],"entities":[]}'

    memory = Builtin(lambda user: engine.store.of(user).facts, nothing_new, clock=SystemClock())
    engine.memories = {"builtin": memory}
    return engine


@pytest.fixture
async def engine(tmp_path: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    async with started(bare(tmp_path, server)) as engine:
        yield engine


def nest(server: ModelServer) -> Setup:
    return Setup(base_url=server.openai_url, models=("heron",))


async def test_memory_begins_with_the_first_model_that_can_learn(
    engine: Engine, server: ModelServer
) -> None:
    assert engine.parts.builder.is_tiny()
    await engine.parts.catalogue.put("nest", nest(server), KEY)
    assert engine.parts.builder.is_tiny(), "nobody has chosen it, or seen it answer"
    await engine.parts.catalogue.choose({"default": "nest/heron"})
    assert not engine.parts.builder.is_tiny()
    session = await engine.session()
    await engine.say(session)
    assert (await engine.account.session(session)).config is not None
    assert await engine.account.memory.uncommitted(session)


async def test_key_that_was_sealed_by_another_is_left_out(
    engine: Engine, server: ModelServer
) -> None:
    await engine.parts.catalogue.put("nest", nest(server), KEY)
    await engine.stop()
    (engine.folder / "secret.key").unlink()
    with capture_logs() as logs:
        await engine.start()
    assert "a provider can't be used as it is" in [line["event"] for line in logs]
    assert engine.parts.catalogue.providers.find("nest") is not None
    assert engine.parts.catalogue.providers.key("nest") is None
    await engine.parts.catalogue.put("nest", nest(server), KEY)
    assert engine.parts.catalogue.providers.key("nest") == KEY


async def loaded(store: Store) -> Catalogue:
    """As on a server that has just started."""
    providers = Providers.of(Config(data=Path("nowhere")), {}, {})
    catalogue = Catalogue(store, providers, hide=lambda _: None, changed=lambda: None)
    await catalogue.load()
    return catalogue


@pytest.mark.both
async def test_key_that_was_left_behind_is_not_inherited_by_a_provider_of_that_name(
    store: Store,
) -> None:
    setup = Setup(base_url="http://nest.example/v1", models=("heron",))
    await store.secrets.put("provider/nest@http://nest.example/v1", "old")
    await (await loaded(store)).put("nest", setup, None)
    assert (await loaded(store)).providers.key("nest") is None
    assert await store.secrets.names() == []


@pytest.mark.both
async def test_whoever_is_told_to_try_again_has_replaced_no_key(store: Store) -> None:
    """Several servers set up the same provider at once."""
    setups = [Setup(base_url="http://nest.example/v1", models=(f"heron-{n}",)) for n in range(4)]
    servers = [await loaded(store) for _ in setups]
    putting = [
        catalogue.put("nest", setup, Key(setup.models[0]))
        for catalogue, setup in zip(servers, setups, strict=True)
    ]
    for outcome in await asyncio.gather(*putting, return_exceptions=True):
        assert not isinstance(outcome, BaseException) or isinstance(outcome, Conflict)
    found = (await loaded(store)).providers
    provider, key = found.find("nest"), found.key("nest")
    assert provider is not None
    assert key is not None
    assert list(provider.models) == [key.reveal()], "both are of the same one"


@pytest.mark.both
async def test_provider_keeps_its_key_at_its_address_and_leaves_none_behind(store: Store) -> None:
    catalogue = await loaded(store)
    here = Setup(base_url="http://nest.example/v1", models=("heron",))
    await catalogue.put("nest", here, KEY)
    await catalogue.put("nest", msgspec.structs.replace(here, models=("wren",)), None)
    assert (await loaded(store)).providers.key("nest") == KEY
    await catalogue.put("nest", Setup(base_url="http://tree.example/v1", models=("wren",)), None)
    assert (await loaded(store)).providers.key("nest") is None
    assert await store.secrets.names() == []
    await catalogue.put("nest", here, KEY)
    await catalogue.remove("nest")
    assert await store.secrets.names() == []


async def test_what_can_not_be_read_keeps_nobody_from_starting(engine: Engine) -> None:
    await engine.store.settings.put("models", '{"providers": 7}')
    with capture_logs() as logs:
        await engine.restart()
    assert [line["log_level"] for line in logs if "can't be read" in line["event"]] == ["error"]


async def test_configuration_that_names_a_provider_since_goes_first(
    engine: Engine, server: ModelServer
) -> None:
    await engine.parts.catalogue.put("test", nest(server), KEY)
    engine.config = config_for(engine.folder, server)
    await engine.restart()
    providers = engine.parts.catalogue.providers
    assert (providers.origin("test"), providers.key("test")) == ("configuration", None)
    assert str(providers.default()) == "test/model"
