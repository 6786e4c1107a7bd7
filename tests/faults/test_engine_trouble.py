"""Trouble around a running turn: the model's server dies, or a tool stalls."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import ServerConfig
from roost.core.events import Rewound, SessionEvent
from roost.core.messages import ToolResultPart, plain_text
from roost.embed import open_roost
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import ToolContext
from tests import ports
from tests.engine import ECHO, Engine, FunctionTool, config_for, said, started, states
from tests.seconds import within

NONE = timedelta(0)
SECONDS = 150


async def _forever(arguments: str, context: ToolContext) -> str:
    context.show("so far")
    await asyncio.Event().wait()
    raise AssertionError("it waits for ever")


class Mortal:
    """A model server that can die in the middle of what it says, and come back where it was."""

    def __init__(self, port: int) -> None:
        self._life = AsyncExitStack()
        self._port = port

    async def live(self) -> ModelServer:
        return await self._life.enter_async_context(ModelServer(port=self._port))

    async def die(self) -> None:
        await self._life.aclose()


@pytest.fixture
async def mortal() -> AsyncGenerator[Mortal]:
    with ports.held() as holder:
        mortal = Mortal(ports.number(holder))
        try:
            yield mortal
        finally:
            await mortal.die()


async def test_answer_of_a_server_that_died_is_withdrawn_and_asked_for_again(
    tmp_path: Path, mortal: Mortal
) -> None:
    server = await mortal.live()
    server.plan(say("Half an answer") + stall())
    async with started(Engine(tmp_path, server, clock=SystemClock())) as engine:
        session = await engine.session()
        async with engine.account.watch(session) as events:
            turn = await engine.account.send(session, "Question")
            seen: list[SessionEvent] = []
            while "answer" not in "".join(map(said, seen)):
                seen.append(await anext(events))
            await mortal.die()
            while not isinstance(seen[-1], Rewound):
                seen.append(await anext(events))
        server = await mortal.live()
        server.otherwise(say("A whole answer."))
        assert (await engine.ended(turn.id)).state == "completed"
        assert await engine.texts(session) == ["Question", "A whole answer."]
        assert [request.refused for request in server.requests] == [None]


@pytest.mark.contract("D6")
async def test_cancel_while_the_server_is_gone(tmp_path: Path, mortal: Mortal) -> None:
    server = await mortal.live()
    server.plan(say("Half an answer") + stall())
    async with started(Engine(tmp_path, server, clock=SystemClock())) as engine:
        session = await engine.session()
        turn = await engine.account.send(session, "Question")
        async with engine.account.watch(session) as events:
            seen: list[SessionEvent] = []
            while "answer" not in "".join(map(said, seen)):
                seen.append(await anext(events))
            await mortal.die()
            while not isinstance(seen[-1], Rewound):
                seen.append(await anext(events))
        async with within(1):
            assert await engine.account.cancel(session)
        assert (await engine.ended(turn.id)).state == "cancelled"
        server = await mortal.live()
        server.otherwise(say("Back again."))
        assert (await engine.say(session, "And now?")).state == "completed"


@pytest.mark.contract("D3")
async def test_crash_while_the_server_is_gone(tmp_path: Path, mortal: Mortal) -> None:
    server = await mortal.live()
    server.plan(say("Half an answer") + stall())
    async with started(Engine(tmp_path, server, clock=SystemClock())) as engine:
        session = await engine.session()
        turn = await engine.account.send(session, "Question")
        await engine.streamed(session, "answer")
        await mortal.die()
        await engine.crash()
        server = await mortal.live()
        server.otherwise(say("Back again."))
        await engine.start()
        await engine.reached(turn.id, "completed")
        assert (await engine.texts(session))[-1] == "Back again."


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.mark.contract("D8")
async def test_a_model_that_hangs_in_many_sessions_holds_up_no_other(
    tmp_path: Path, server: ModelServer
) -> None:
    """With the program's own connections, of which a client by default has a hundred."""
    hanging = 110
    server.plan(*[stall() for _ in range(hanging)])
    config = msgspec.structs.replace(config_for(tmp_path, server), server=ServerConfig(grace=NONE))
    async with open_roost(config) as account, asyncio.timeout(SECONDS):
        sessions = [await account.create(origin="test", title="Titled") for _ in range(hanging + 1)]
        for session in sessions[:-1]:
            await account.send(session.id, "Hello")
        await server.request(hanging - 1)
        async for event in account.talk(sessions[-1].id, "Hello"):
            if "completed" in states(event):
                return


async def test_stalled_tool_is_ended_by_its_time(tmp_path: Path, server: ModelServer) -> None:
    stalls = FunctionTool("stalls", _forever, seconds=0.1)
    engine = Engine(tmp_path, server, clock=SystemClock(), tools=(stalls, ECHO))
    async with started(engine):
        server.plan(call("echo", {"text": "1"}) + call("stalls", {}), say("Never mind."))
        session = await engine.session()
        assert (await engine.say(session, "Go")).state == "completed"
        first, second = (await engine.messages(session))[2].parts
        assert isinstance(first, ToolResultPart)
        assert isinstance(second, ToolResultPart)
        assert (first.error, second.error) == (False, True)
        assert plain_text(second.content) == "The tool was stopped: it took longer than 0.1 s."


@pytest.mark.contract("D6")
async def test_stalled_tool_is_ended_by_cancel_and_its_output_kept(
    tmp_path: Path, server: ModelServer
) -> None:
    stalls = FunctionTool("stalls", _forever, seconds=600)
    engine = Engine(tmp_path, server, clock=SystemClock(), tools=(stalls,))
    async with started(engine):
        server.plan(call("stalls", {}), say("Never mind."))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        async with engine.account.watch(session) as events:
            while "so far" not in str(await anext(events)):
                pass
        async with within(1):
            assert await engine.account.cancel(session)
        assert (await engine.ended(turn.id)).state == "cancelled"
        (result,) = (await engine.messages(session))[-1].parts
        assert isinstance(result, ToolResultPart)
        assert "so far" in plain_text(result.content)
        await engine.account.proceed(session)
        assert (await engine.ended(turn.id)).state == "completed"
        assert server.requests[-1].refused is None


async def test_stalled_tool_does_not_hold_up_the_end(tmp_path: Path, server: ModelServer) -> None:
    stalls = FunctionTool("stalls", _forever, seconds=600)
    engine = Engine(tmp_path, server, clock=SystemClock(), tools=(stalls,))
    await engine.start()
    server.plan(call("stalls", {}))
    session = await engine.session()
    await engine.account.send(session, "Go")
    async with engine.account.watch(session) as events:
        while "so far" not in str(await anext(events)):
            pass
    async with within(1):
        await engine.stop()
