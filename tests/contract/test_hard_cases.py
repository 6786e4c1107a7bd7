"""Odd tools, odd callers and odd moments: a turn always ends, and its session goes on."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import LimitsConfig
from roost.core.errors import Conflict, NotFound
from roost.core.events import Snapshot
from roost.core.ids import BlobId, SessionId, new_turn_id
from roost.core.messages import FilePart, ImagePart, ToolResultPart, plain_text
from roost.core.settings import Count
from roost.core.turns import Turn
from roost.store import watching
from roost.store.leases import session_lease
from roost.testing.models import ModelServer, call, finish, say, stall
from roost.tools.base import Tool, ToolContext, ToolOutput
from tests.engine import ASKS, ECHO, SECONDS, Engine, FunctionTool, eventually, said, started
from tests.unit.store.tables import lose_bytes, lose_row

pytestmark = pytest.mark.both


class Images(FunctionTool):
    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        return ToolOutput((ImagePart(BlobId("0" * 64), "image/png", "gone.png"),))


class Speechless(FunctionTool):
    async def intent(self, arguments: str, context: ToolContext) -> None:
        raise OSError("no idea")


async def _nothing(arguments: str, context: ToolContext) -> str:
    return "done"


async def _cancelled_within(arguments: str, context: ToolContext) -> str:
    never = asyncio.get_running_loop().create_future()
    never.cancel()
    await never
    return "never"


async def _talkative(arguments: str, context: ToolContext) -> str:
    for _ in range(50):
        context.show("line\n" * 2000)
    return "word " * 200_000


TOOLS: tuple[Tool, ...] = (
    ECHO,
    Images("images", _nothing),
    FunctionTool("cancelled", _cancelled_within),
    FunctionTool("talkative", _talkative),
    FunctionTool("asks", _nothing, asks=ASKS),
    Speechless("speechless", _nothing),
)


@pytest.fixture
async def engine(folder: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=SystemClock(), tools=TOOLS)) as engine:
        yield engine


async def result_of(engine: Engine, session: SessionId) -> str:
    """What the last tool is said to have answered."""
    parts = [part for message in await engine.messages(session) for part in message.parts]
    return plain_text([p for p in parts if isinstance(p, ToolResultPart)][-1].content)


async def goes_on(engine: Engine, session: SessionId) -> None:
    assert (await engine.say(session, "And now?")).state == "completed"


@pytest.mark.contract("D12")
async def test_result_that_can_not_be_kept_is_a_failed_call(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(call("images", {}), say("No picture, then."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert "can't be kept" in await result_of(engine, session)
    await goes_on(engine, session)


@pytest.mark.parametrize("lose", [lose_bytes, lose_row])
async def test_conversation_goes_on_without_an_attachment_that_was_lost(
    engine: Engine,
    server: ModelServer,
    folder: Path,
    lose: Callable[[Path, BlobId], Awaitable[None]],
) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b"all about owls"

    server.plan(say("Owls."), say("It is gone."))
    session = await engine.session()
    kept = await engine.account.files.keep(pieces(), "text/plain")
    attached = FilePart(kept.id, kept.media_type, "owls.txt", kept.size)
    await engine.ended((await engine.account.send(session, (attached,))).id)
    assert b"all about owls" in server.requests[-1].body
    await lose(folder, kept.id)
    await goes_on(engine, session)
    assert b"[file owls.txt: lost]" in server.requests[-1].body


@pytest.mark.contract("D12")
async def test_tool_that_is_cancelled_from_within_failed(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(call("cancelled", {}), say("Too bad."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert "was cancelled" in await result_of(engine, session)


@pytest.mark.contract("D12")
async def test_tool_that_can_not_say_what_it_would_do_is_not_run(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(call("speechless", {}), say("Never mind."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert "Not run" in await result_of(engine, session)
    await goes_on(engine, session)


async def test_tool_that_outlives_its_time_is_left_alone(
    engine: Engine, server: ModelServer
) -> None:
    leave = asyncio.Event()

    async def stubborn(arguments: str, context: ToolContext) -> str:
        while not leave.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await leave.wait()
        return "at last"

    engine.tools = (FunctionTool("stubborn", stubborn, seconds=0.2),)
    await engine.restart()
    server.plan(call("stubborn", {}), say("Without it, then."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert "longer than 0.2 s" in await result_of(engine, session)
    leave.set()


async def test_what_a_tool_shows_and_says_is_bounded(engine: Engine, server: ModelServer) -> None:
    server.plan(call("talkative", {}), say("So much."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    answer = await result_of(engine, session)
    assert "characters left out" in answer
    assert len(answer) < 210_000


async def test_call_that_is_not_whole_does_not_run(engine: Engine, server: ModelServer) -> None:
    server.plan(call("echo", '{"text": "hal') + finish("length"), say("Once more."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert "not a whole JSON object" in await result_of(engine, session)


async def parked(engine: Engine, server: ModelServer, session: SessionId) -> Turn:
    server.plan(call("asks", {}))
    turn = await engine.account.send(session, "Go")
    return await engine.reached(turn.id, "waiting")


async def test_turn_that_waits_for_a_person_is_not_continued_without(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    turn = await parked(engine, server, session)
    with pytest.raises(Conflict, match="waits for your answer"):
        await engine.account.proceed(session)
    with pytest.raises(Conflict):
        await engine.parts.turns.resume(engine.owner.id, session, turn.id)
    (asked,) = await engine.account.decisions.pending()
    await engine.account.decisions.answer(asked.id, "approved")
    assert (await engine.ended(turn.id)).state == "completed"


async def test_steps_count_from_the_beginning_of_a_turn_that_waited(
    engine: Engine, server: ModelServer
) -> None:
    limits = LimitsConfig(turn_steps=Count(2))
    engine.config = msgspec.structs.replace(engine.config, limits=limits)
    await engine.restart()
    session = await engine.session()
    server.otherwise(call("asks", {}))
    turn = await parked(engine, server, session)

    async def over() -> bool:
        for asked in await engine.account.decisions.pending():
            await engine.account.decisions.answer(asked.id, "approved")
        return (await engine.store.of(engine.owner.id).turns.get(turn.id)).state == "failed"

    await eventually(over)
    ended = await engine.ended(turn.id)
    assert (ended.reason or "").startswith("budget: ")
    assert len([r for r in server.requests if r.model == "model"]) == 2


async def test_answer_that_was_stopped_is_counted(engine: Engine, server: ModelServer) -> None:
    server.plan(say("Many words came before it was stopped.") + stall())
    session = await engine.session()
    await engine.account.send(session, "Go")
    await engine.streamed(session, "stopped")
    await engine.account.cancel(session)
    counters = (await engine.account.session(session)).counters
    assert counters.input_tokens > 100
    assert 3 < counters.output_tokens < 50


@pytest.mark.contract("D1", "D8")
async def test_sender_who_leaves_holds_nobody_up(engine: Engine) -> None:
    session = await engine.session()
    for ticks in range(12):
        sending = asyncio.create_task(engine.account.send(session, f"Message {ticks}"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        async with asyncio.timeout(SECONDS):
            await goes_on(engine, session)


@pytest.mark.contract("D7")
async def test_whoever_leaves_while_asking_for_a_session_gives_it_back(engine: Engine) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    for ticks in range(12):
        asking = asyncio.create_task(engine.account.history.clear(session))
        for _ in range(ticks):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        async with asyncio.timeout(SECONDS):
            await goes_on(engine, session)


async def test_session_is_free_after_a_turn_that_is_not_there_was_to_go_on(engine: Engine) -> None:
    session = await engine.session()
    with pytest.raises(NotFound):
        await engine.parts.turns.resume(engine.owner.id, session, new_turn_id())
    assert await engine.store.leases.holder(session_lease(session)) is None


@pytest.mark.contract("D6")
async def test_only_the_named_turn_is_cancelled(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    first = await engine.say(session, "One")
    server.plan(say("Wor") + stall() + say("ds."))
    second = await engine.account.send(session, "Two")
    await engine.streamed(session, "Wor")
    assert not await engine.account.cancel(session, first.id)
    assert not await engine.parts.turns.cancel(engine.owner.id, session, first.id)
    server.requests[-1].release()
    assert (await engine.ended(second.id)).state == "completed"


async def test_live_output_reaches_whoever_watches(engine: Engine, server: ModelServer) -> None:
    server.plan(call("echo", {"text": "x"}), say("Done."))
    session = await engine.session()
    seen = ""
    async for event in engine.account.talk(session, "Go"):
        seen += said(event)
    assert seen == "Done."

    async def idle() -> bool:
        return (await engine.account.session(session)).state == "idle"

    assert await eventually(idle)


async def test_who_can_not_be_told_of_the_end_sees_that_it_is_there(
    engine: Engine, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "CATCH_UP", -1)  # as if very much happened meanwhile
    server.plan(call("echo", {"text": "x"}), say("Done."))
    session = await engine.session()
    async with asyncio.timeout(SECONDS):
        events = [event async for event in engine.account.talk(session, "Go")]
    assert isinstance(events[-1], Snapshot)
    assert plain_text(events[-1].messages[-1].parts) == "Done."
