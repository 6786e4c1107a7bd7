"""What the built-in memory learns from a real conversation, by a model that is really asked."""

from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from roost.core.config import Config, LimitsConfig, ModelsConfig, ProviderConfig
from roost.core.errors import MemoryFailed, MemoryWaits
from roost.core.ids import SessionId
from roost.core.settings import BaseUrl, Count
from roost.memory.base import Scope, Segment
from roost.memory.builtin import Builtin
from roost.memory.extraction import SCHEMA
from roost.memory.ports import Inquiry
from roost.runtime.inquiries import Inquiries
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, fail, say
from tests.engine import Engine, config_for, started

FOUND = '{"facts": [{"text": "The user keeps parrots.", "turn": 1, "about": ["user"]}]}'


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def engine(folder: Path, server: ModelServer, clock: FakeClock) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=clock)) as engine:
        yield engine


def built_in(engine: Engine) -> Builtin:
    ask = Inquiries(engine.store, engine.parts.builder, limits=engine.config.limits)
    return Builtin(lambda user: engine.store.of(user).facts, ask, clock=engine.clock)


async def spoken(engine: Engine) -> Segment:
    session = await engine.session()
    turn = await engine.say(session, "I keep parrots.")
    return Segment(
        key="seg_1",
        scope=Scope("builtin", "default", engine.owner.id),
        session=session,
        turns=(turn.id,),
        messages=tuple(await engine.messages(session)),
    )


async def test_small_model_reads_what_was_said(engine: Engine, server: ModelServer) -> None:
    server.plan(say("How nice."), say(FOUND))
    told = await spoken(engine)
    memory = built_in(engine)
    await memory.commit(told)
    asked = server.requests[1]
    assert asked.model == "small"
    assert "User: I keep parrots." in asked.last_text
    assert "Assistant: How nice." in asked.last_text
    (fact,) = await memory.recall(told.scope, "Which parrots?", limit=5)
    assert (fact.text, fact.session, fact.turn) == (
        "The user keeps parrots.",
        told.session,
        told.turns[0],
    )


async def test_what_it_cost_is_counted_for_the_session(engine: Engine, server: ModelServer) -> None:
    server.plan(say("How nice."), say(FOUND))
    told = await spoken(engine)
    before = (await engine.account.session(told.session)).counters
    await built_in(engine).commit(told)
    after = (await engine.account.session(told.session)).counters
    assert after.input_tokens > before.input_tokens
    assert after.turns == before.turns


async def test_model_that_refuses_leaves_the_segment_to_another_try(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("How nice."), fail(400), say("I will not."), say("No."), say(FOUND))
    told = await spoken(engine)
    memory = built_in(engine)
    for _ in range(2):
        with pytest.raises(MemoryFailed, match="The memory builtin failed"):
            await memory.commit(told)
    await memory.commit(told)
    assert len(await memory.recall(told.scope, "parrots", limit=5)) == 1


async def test_deleted_session_is_no_reason_to_fail(engine: Engine, server: ModelServer) -> None:
    server.plan(say("Fine."))
    owner = engine.owner.id
    inquiry = Inquiry(
        user=owner, session=SessionId("ses_gone"), system="?", text="How?", schema=b"{}"
    )
    assert (
        await Inquiries(engine.store, engine.parts.builder, limits=engine.config.limits)(inquiry)
        == "Fine."
    )


def held_to_schemas(folder: Path, server: ModelServer) -> Config:
    usual = config_for(folder, server)
    strict = ProviderConfig(vendor="vllm", base_url=BaseUrl(server.openai_url), models=("small",))
    return msgspec.structs.replace(usual, providers={**usual.providers, "test": strict})


async def test_model_that_can_is_held_to_the_schema(
    folder: Path, server: ModelServer, clock: FakeClock
) -> None:
    config = held_to_schemas(folder, server)
    async with started(Engine(folder, server, clock=clock, config=config)) as engine:
        server.plan(say("How nice."), say(FOUND))
        await built_in(engine).commit(await spoken(engine))
    sent = server.requests[1].json["response_format"]
    schema = {"name": "answer", "strict": True, "schema": msgspec.json.decode(SCHEMA)}
    assert sent == {"type": "json_schema", "json_schema": schema}
    assert "response_format" not in server.requests[0].json


async def test_server_that_takes_no_schema_is_asked_without(
    folder: Path, server: ModelServer, clock: FakeClock
) -> None:
    config = held_to_schemas(folder, server)
    async with started(Engine(folder, server, clock=clock, config=config)) as engine:
        server.plan(say("How nice."), fail(400), say(FOUND))
        await built_in(engine).commit(await spoken(engine))
    assert ["response_format" in request.json for request in server.requests[1:]] == [True, False]


@pytest.mark.parametrize("limit", ["day_tokens", "session_tokens"])
async def test_whoever_reached_a_limit_is_not_billed_for_learning(
    folder: Path, server: ModelServer, clock: FakeClock, limit: str
) -> None:
    limits = msgspec.structs.replace(LimitsConfig(), **{limit: Count(1)})
    config = msgspec.structs.replace(config_for(folder, server), limits=limits)
    async with started(Engine(folder, server, clock=clock, config=config)) as engine:
        server.plan(say("How nice."), say(FOUND))
        told = await spoken(engine)
        memory = built_in(engine)
        with pytest.raises(MemoryWaits, match=limit):
            await memory.commit(told)
        assert len(server.requests) == 1
        clock.advance(86_400)
        if limit == "day_tokens":
            await memory.commit(told)
            assert len(server.requests) == 2


async def test_tiny_model_is_not_asked(folder: Path, server: ModelServer, clock: FakeClock) -> None:
    usual = config_for(folder, server)
    config: Config = msgspec.structs.replace(
        usual, models=ModelsConfig(default="test/model", small="local/smollm2")
    )
    async with started(Engine(folder, server, clock=clock, config=config)) as engine:
        server.plan(say("How nice."))
        told = await spoken(engine)
        with pytest.raises(MemoryFailed, match="too small to learn"):
            await built_in(engine).commit(told)
    assert len(server.requests) == 1
