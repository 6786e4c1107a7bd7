"""After a crash: what was said is there, marked, and goes on; what is in doubt is left alone."""

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config, RecoveryConfig, ServerConfig
from roost.core.errors import Conflict
from roost.core.events import Changed, MessageAdded, TurnUpdated
from roost.core.ids import SessionId
from roost.core.messages import Part, TextPart, ToolResultPart, plain_text
from roost.core.settings import Window
from roost.core.turns import Turn
from roost.runtime.turn_run import BROKE_OFF
from roost.store.leases import session_lease
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import ToolContext
from tests.engine import ASKS, ECHO, Engine, FunctionTool, config_for, eventually, said, started
from tests.store_driver import new_turn

pytestmark = pytest.mark.both

WINDOW = Window(timedelta(minutes=10))


def never(config: Config) -> Config:
    """Nothing goes on by itself."""
    return msgspec.structs.replace(
        config, recovery=RecoveryConfig(auto_continue=Window(timedelta(0)))
    )


def patient(config: Config, grace: float) -> Config:
    server = ServerConfig(grace=timedelta(seconds=grace))
    return msgspec.structs.replace(config, server=server)


async def turn_of(engine: Engine, turn: Turn) -> Turn:
    return await engine.store.of(engine.owner.id).turns.get(turn.id)


async def crash_after(engine: Engine, session: SessionId, words: str) -> None:
    """Kill it once these words are durable."""
    await engine.streamed(session, words)
    await engine.parts.checkpoints.flush()
    await engine.crash()


async def half_an_answer(engine: Engine, server: ModelServer, *, auto: bool = False) -> Turn:
    """A turn whose answer a crash has cut in half; Roost is not started again yet."""
    if not auto:
        engine.config = never(engine.config)
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await crash_after(engine, session, "answer")
    return turn


def words_of(part: Part) -> str:
    assert isinstance(part, ToolResultPart)
    return plain_text(part.content)


# What is there.


@pytest.mark.contract("D3")
async def test_interrupted_answer_is_kept_and_marked(engine: Engine, server: ModelServer) -> None:
    turn = await half_an_answer(engine, server)
    await engine.start()
    found = await turn_of(engine, turn)
    assert (found.state, found.reason) == (
        "interrupted",
        "crashed: Roost stopped while it answered.",
    )
    messages = await engine.messages(turn.session)
    assert [plain_text(message.parts) for message in messages] == ["Question", "Half an answer"]
    assert [message.partial for message in messages] == [False, True]


@pytest.mark.contract("D3")
async def test_nothing_says_running_after_a_crash(engine: Engine, server: ModelServer) -> None:
    turn = await half_an_answer(engine, server)
    await engine.start()
    assert (await engine.account.session(turn.session)).state == "idle"
    snapshot = await engine.account.snapshot(turn.session)
    assert (snapshot.turn, snapshot.deltas) == (None, ())
    assert not engine.parts.turns.is_running(turn.session)


@pytest.mark.contract("D3")
async def test_what_was_streamed_after_the_last_checkpoint_is_withdrawn(
    engine: Engine, server: ModelServer
) -> None:
    engine.config = never(engine.config)
    server.plan(say("Durable.") + stall() + say(" Provisional.") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await engine.streamed(session, "Durable.")
    await engine.parts.checkpoints.flush()
    async with engine.account.watch(session) as events:
        server.requests[0].release()
        seen, cursor = "", None
        while "Provisional." not in seen:
            event = await anext(events)
            seen += said(event)
            cursor = event.cursor
        # The tick comes a fifth of a second after the one before; this is sooner.
        await engine.crash()
    await engine.start()
    assert await engine.texts(session) in (
        ["Question", "Durable."],
        ["Question", "Durable. Provisional."],
    )
    async with engine.account.watch(session, cursor) as events:
        kinds = [type(await anext(events)).__name__ for _ in range(2)]
        assert kinds == ["Rewound", "Changed"]
    assert (await turn_of(engine, turn)).state == "interrupted"


@pytest.mark.contract("D3")
async def test_session_takes_messages_at_once(engine: Engine, server: ModelServer) -> None:
    turn = await half_an_answer(engine, server)
    await engine.start()
    assert (await engine.say(turn.session, "And now?")).state == "completed"
    assert await engine.texts(turn.session) == [
        "Question",
        "Half an answer",
        "And now?",
        "Good day.",
    ]
    assert server.requests[-1].refused is None


@pytest.mark.contract("D3")
async def test_messages_are_taken_while_what_was_interrupted_goes_on(
    engine: Engine, server: ModelServer
) -> None:
    turn = await half_an_answer(engine, server, auto=True)
    server.plan(stall() + say(", and the rest."))
    asked = len(server.requests)
    await engine.start()
    next_turn = await engine.account.send(turn.session, "And now?")
    await (await server.request(asked)).stalled()
    assert (await turn_of(engine, next_turn)).state == "queued"
    server.release()
    assert (await engine.ended(next_turn.id)).state == "completed"
    assert (await turn_of(engine, turn)).state == "completed"
    assert [text for text in await engine.texts(turn.session) if text != BROKE_OFF] == [
        "Question",
        "Half an answer",
        ", and the rest.",
        "And now?",
        "Good day.",
    ]


@pytest.mark.contract("D3", "D8")
async def test_what_waited_runs_after_what_was_interrupted(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    first = await engine.account.send(session, "One")
    await engine.streamed(session, "answer")
    second = await engine.account.send(session, "Two")
    await engine.parts.checkpoints.flush()
    await engine.crash()
    server.plan(say("The rest."), say("Second answer."))
    await engine.start()
    assert (await engine.ended(second.id)).state == "completed"
    assert (await turn_of(engine, first)).state == "completed"
    assert [text for text in await engine.texts(session) if text != BROKE_OFF] == [
        "One",
        "Half an answer",
        "The rest.",
        "Two",
        "Second answer.",
    ]


# Going on.


@pytest.mark.contract("D3")
async def test_interrupted_turn_can_be_continued(engine: Engine, server: ModelServer) -> None:
    turn = await half_an_answer(engine, server)
    await engine.start()
    server.plan(say(", and the rest."))
    assert (await engine.account.proceed(turn.session)).state in ("running", "completed")
    assert (await engine.ended(turn.id)).state == "completed"
    messages = await engine.messages(turn.session)
    assert [message.role for message in messages] == ["user", "assistant", "note", "assistant"]
    asked = server.requests[-1]
    assert asked.refused is None
    assert BROKE_OFF in asked.last_text
    assert b"Half an answer" in asked.body


@pytest.mark.contract("D3")
async def test_interrupted_turn_can_be_retried(engine: Engine, server: ModelServer) -> None:
    turn = await half_an_answer(engine, server)
    await engine.start()
    again = await engine.account.history.retry(turn.session)
    assert (await engine.ended(again.id)).state == "completed"
    assert await engine.texts(turn.session) == ["Question", "Good day."]
    assert b"Half an answer" not in server.requests[-1].body


@pytest.mark.contract("D3")
async def test_interrupted_turn_continues_by_itself_once(
    engine: Engine, server: ModelServer
) -> None:
    turn = await half_an_answer(engine, server, auto=True)
    server.plan(say(", a little more") + stall())
    await engine.start()
    await crash_after(engine, turn.session, "more")
    asked = len(server.requests)
    await engine.start()
    found = await turn_of(engine, turn)
    assert found.state == "interrupted"
    texts = await engine.texts(turn.session)
    assert texts == ["Question", "Half an answer", BROKE_OFF, ", a little more"]
    note = (await engine.account.messages(turn.session))[2]
    assert note.parts == (TextPart(BROKE_OFF, "continuation"),)
    await engine.say(turn.session, "And now?")
    assert len(server.requests) == asked + 1
    assert not any(request.refused for request in server.requests)


@pytest.mark.contract("D3")
async def test_turn_that_was_cut_before_its_first_word_goes_on(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await server.request(0)
    await engine.crash()
    await engine.start()
    await engine.reached(turn.id, "completed")
    assert await engine.texts(session) == ["Question", "Good day."]


@pytest.mark.contract("D3")
@pytest.mark.parametrize("late", [False, True])
async def test_only_a_turn_younger_than_the_limit_continues_by_itself(
    folder: Path, server: ModelServer, late: bool
) -> None:
    """However long the machine was off: what counts is when the turn stopped."""
    clock = FakeClock()
    config = msgspec.structs.replace(
        config_for(folder, server), recovery=RecoveryConfig(auto_continue=WINDOW)
    )
    engine = Engine(folder, server, clock=clock, config=config)
    await engine.start()
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await crash_after(engine, session, "answer")
    clock.advance(WINDOW.total_seconds() + (1 if late else -60))
    async with started(engine):
        if late:
            await engine.say(session, "And now?")  # what goes on by itself would come before it
            assert (await turn_of(engine, turn)).state == "interrupted"
            assert len(server.requests) == 2
        else:
            await engine.reached(turn.id, "completed")


# Tools.


class Effects:
    """A tool that leaves a trace, and then never comes back until it is let."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()
        self.tool = FunctionTool("act", self.run)

    async def run(self, arguments: str, context: ToolContext) -> str:
        self.calls.append(context.call)
        context.show("half way")
        self.entered.set()
        await self.leave.wait()
        return "done"


@pytest.mark.contract("D3", "D4")
async def test_call_that_ran_is_unknown_and_never_repeated(
    folder: Path, server: ModelServer
) -> None:
    effects = Effects()
    async with started(
        Engine(folder, server, clock=SystemClock(), tools=(effects.tool, ECHO))
    ) as engine:
        server.plan(call("echo", {"text": "1"}) + call("act", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await effects.entered.wait()
        await engine.parts.checkpoints.flush()
        await engine.crash()
        await engine.start()
        found = await turn_of(engine, turn)
        assert found.state == "interrupted", "it may not go on by itself"
        calls = await engine.store.of(engine.owner.id).turns.tool_calls(turn.id)
        assert [each.state for each in calls] == ["done", "unknown"]
        results = (await engine.messages(session))[-1].parts
        assert words_of(results[0]) == '{"text":"1"}'
        assert "nobody knows whether it took effect" in words_of(results[1])
        assert "half way" in words_of(results[1])
        await engine.account.proceed(session)
        assert (await engine.ended(turn.id)).state == "completed"
        assert len(effects.calls) == 1
        assert server.requests[-1].refused is None
        assert len(server.requests[-1].results) == 2


@pytest.mark.contract("D4")
async def test_call_that_had_not_begun_is_not_run_and_said_so(
    folder: Path, server: ModelServer
) -> None:
    """Not run at all, so not in doubt: but what came before it in the same step is."""
    effects = Effects()
    first = FunctionTool("first", effects.run, parallel=False)
    second = FunctionTool("second", effects.run, parallel=False)
    async with started(
        Engine(folder, server, clock=SystemClock(), tools=(first, second))
    ) as engine:
        server.plan(call("first", {}) + call("second", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await effects.entered.wait()
        await engine.crash()
        await engine.start()
        calls = await engine.store.of(engine.owner.id).turns.tool_calls(turn.id)
        assert [each.state for each in calls] == ["unknown", "cancelled"]
        assert "Not run" in words_of((await engine.messages(session))[-1].parts[1])
        assert (await engine.say(session, "Next")).state == "completed"
        assert len(effects.calls) == 1
        assert server.requests[-1].refused is None


@pytest.mark.contract("D3", "D4")
async def test_finished_step_is_not_run_again(folder: Path, server: ModelServer) -> None:
    effects = Effects()
    effects.leave.set()
    async with started(
        Engine(folder, server, clock=SystemClock(), tools=(effects.tool,))
    ) as engine:
        server.plan(call("act", {}), say("It is ") + stall(), say("done."))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await crash_after(engine, session, "It is")
        await engine.start()
        await engine.reached(turn.id, "completed")
        assert len(effects.calls) == 1
        assert (await engine.texts(session))[-3:] == ["It is ", BROKE_OFF, "done."]


@pytest.mark.contract("D4")
async def test_call_that_was_still_being_written_gets_a_result(
    engine: Engine, server: ModelServer
) -> None:
    engine.config = never(engine.config)
    server.plan(say("I call.") + call("echo", '{"text": "half of i', size=5) + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Go")
    await server.request(0)
    await server.requests[0].stalled()
    await engine.streamed(session, "I call.")

    async def stored() -> bool:
        await engine.parts.checkpoints.flush()
        found = await engine.store.of(engine.owner.id).turns.deltas(turn.id)
        return "half of i" in str(found)

    await eventually(stored)
    await engine.crash()
    await engine.start()
    await engine.account.proceed(session)
    assert (await engine.ended(turn.id)).state == "completed"
    assert [request.refused for request in server.requests] == [None, None]
    (result,) = server.requests[-1].results.values()
    assert "Not run" in result


# People.


@pytest.mark.contract("D3", "E5")
async def test_turn_that_waits_for_a_person_survives_a_crash(
    folder: Path, server: ModelServer
) -> None:
    effects = Effects()
    effects.leave.set()
    careful = FunctionTool("careful", effects.run, asks=ASKS)
    async with started(Engine(folder, server, clock=SystemClock(), tools=(careful,))) as engine:
        server.plan(call("careful", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await engine.reached(turn.id, "waiting")
        await engine.crash()
        await engine.start()
        assert (await turn_of(engine, turn)).state == "waiting"
        (approval,) = await engine.account.decisions.pending()
        queued = await engine.account.send(session, "Meanwhile")
        assert (await turn_of(engine, queued)).state == "queued"
        await engine.account.decisions.answer(approval.id, "approved")
        assert (await engine.ended(turn.id)).state == "completed"
        assert (await engine.ended(queued.id)).state == "completed"
        assert len(effects.calls) == 1


@pytest.mark.contract("D3", "D8")
async def test_steer_that_was_not_heard_waits_as_a_message(
    engine: Engine, server: ModelServer
) -> None:
    engine.config = never(engine.config)
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await engine.streamed(session, "answer")
    steer = await engine.account.send(session, "Shorter", steer=True)
    await engine.parts.checkpoints.flush()
    await engine.crash()
    await engine.start()
    assert (await engine.ended(steer.id)).state == "completed"
    assert (await turn_of(engine, turn)).state == "interrupted"
    assert await engine.texts(session) == ["Question", "Half an answer", "Shorter", "Good day."]


@pytest.mark.contract("D3", "D5")
async def test_who_watched_sees_the_end_and_the_partial_answer_in_one_event(
    engine: Engine, server: ModelServer
) -> None:
    engine.config = never(engine.config)
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await engine.streamed(session, "answer")
    cursor = (await engine.account.snapshot(session)).cursor
    await engine.parts.checkpoints.flush()
    await engine.crash()
    await engine.start()
    async with engine.account.watch(session, cursor) as events:
        event = await anext(events)
        while not isinstance(event, Changed):
            event = await anext(events)
        (kept,) = event.messages
        assert (kept.partial, plain_text(kept.parts)) == (True, "Half an answer")
        assert any(isinstance(each, MessageAdded) for each in event.events)
        ends = [each for each in event.events if isinstance(each, TurnUpdated)]
        assert [(end.turn, end.state) for end in ends] == [(turn.id, "interrupted")]


# Stopping on purpose.


@pytest.mark.contract("D3")
async def test_stopped_turn_is_kept_and_goes_on_at_the_next_start(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Half an answer") + stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await engine.streamed(session, "answer")
    await engine.stop()
    server.plan(stall() + say("The rest."))
    await engine.start()
    await (await server.request(1)).stalled()
    texts = await engine.texts(session)
    assert texts == ["Question", "Half an answer", BROKE_OFF]
    assert (await engine.messages(session))[1].partial
    server.release()
    assert (await engine.ended(turn.id)).state == "completed"
    assert (await engine.texts(session))[-1] == "The rest."


@pytest.mark.contract("D3")
async def test_short_turn_is_finished_before_the_end(engine: Engine, server: ModelServer) -> None:
    engine.config = patient(engine.config, 10)
    await engine.restart()
    server.plan(say("One ") + stall() + say("two."))
    session = await engine.session()
    turn = await engine.account.send(session, "Question")
    await engine.streamed(session, "One")
    stopping = asyncio.create_task(engine.stop())
    await asyncio.sleep(0)
    server.release()
    await stopping
    await engine.start()
    assert (await turn_of(engine, turn)).state == "completed"
    assert await engine.texts(session) == ["Question", "One two."]


@pytest.mark.contract("D4")
async def test_tool_that_was_stopped_on_purpose_is_not_in_doubt(
    folder: Path, server: ModelServer
) -> None:
    """It was told to end and did: cancelled, not unknown. It is not run again all the same."""
    effects = Effects()
    async with started(
        Engine(folder, server, clock=SystemClock(), tools=(effects.tool,))
    ) as engine:
        server.plan(call("act", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await effects.entered.wait()
        await engine.restart()
        calls = await engine.store.of(engine.owner.id).turns.tool_calls(turn.id)
        assert [each.state for each in calls] == ["cancelled"]
        await engine.reached(turn.id, "completed")
        assert len(effects.calls) == 1
        assert server.requests[-1].refused is None


@pytest.mark.contract("D4")
async def test_branch_made_while_a_tool_runs_goes_on_without_it(
    folder: Path, server: ModelServer
) -> None:
    effects = Effects()
    async with started(
        Engine(folder, server, clock=SystemClock(), tools=(effects.tool,))
    ) as engine:
        server.plan(call("act", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Go")
        await effects.entered.wait()
        during = await engine.account.branch(session)
        effects.leave.set()
        await engine.ended(turn.id)
        asked = (await engine.messages(session))[1]
        at_the_call = await engine.account.branch(session, at=asked.id)
        await engine.account.proceed(during.id)
        (copied,) = await engine.account.turns(during.id)
        for done in (await engine.ended(copied.id), await engine.say(at_the_call.id, "Next")):
            assert done.state == "completed"
        assert len(effects.calls) == 1
        for request in server.requests[-2:]:
            assert request.refused is None
            assert "branched off" in str(request.results)


@pytest.mark.contract("D3")
async def test_queue_survives_stop_and_crash(engine: Engine, server: ModelServer) -> None:
    engine.config = never(engine.config)
    server.plan(stall())
    session = await engine.session()
    first = await engine.account.send(session, "One")
    await server.request(0)
    waiting = [await engine.account.send(session, words) for words in ("Two", "Three")]
    await engine.crash()
    await engine.start()
    for turn in waiting:
        assert (await engine.ended(turn.id)).state == "completed"
    assert (await turn_of(engine, first)).state == "interrupted"
    texts = [text for text in await engine.texts(session) if text != "Good day."]
    assert texts == ["One", "Two", "Three"]


@pytest.mark.contract("D3")
async def test_what_was_not_begun_when_roost_stops_waits_for_the_next_start(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Half an answer") + stall())
    busy, other = await engine.session(), await engine.session()
    await engine.account.send(busy, "Question")
    await engine.streamed(busy, "answer")
    new = new_turn("Too late")
    assert await engine.store.leases.claim(session_lease(other), "a test")
    await engine.store.of(engine.owner.id).queue.submit(other, new)
    (claimed,) = await engine.store.work.claim_waiting("a test")
    stopping = asyncio.create_task(engine.parts.turns.stop(0.05))
    await asyncio.sleep(0)
    with pytest.raises(Conflict):
        await engine.parts.turns.take(claimed)
    await stopping
    assert (await turn_of(engine, claimed.turn)).state == "queued"
    await engine.restart()
    assert (await engine.ended(new.id)).state == "completed"
