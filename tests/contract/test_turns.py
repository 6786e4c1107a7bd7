"""Turns through the application: durable, one at a time, stopped and taken back."""

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from roost.core.clock import SystemClock
from roost.core.config import LimitsConfig, ModelsConfig
from roost.core.errors import Conflict, InvalidInput, KeyReused, NotFound
from roost.core.events import Changed
from roost.core.messages import ContextPart, Part, TextPart, ToolResultPart, plain_text
from roost.core.settings import Count
from roost.core.turns import TurnState
from roost.store.leases import Lease
from roost.store.sessions import SessionPatch
from roost.testing import faults
from roost.testing.models import ModelServer, Reply, call, cut, fail, nothing, say, stall
from roost.tools.base import Intent, ToolContext
from tests.engine import ECHO, Engine, FunctionTool, eventually, said, started, states
from tests.seconds import within

pytestmark = pytest.mark.both


async def _answered(arguments: str, context: ToolContext) -> str:
    assert context.approval is not None
    return context.approval.answer or ""


_QUESTION = Intent(does="Ask", subject="Which colour?", kind="question")


def _words(part: Part) -> str:
    assert isinstance(part, ToolResultPart)
    return plain_text(part.content)


async def test_answer_stands_after_the_question(engine: Engine) -> None:
    session = await engine.session()
    turn = await engine.say(session, "Hello")
    assert turn.state == "completed"
    assert await engine.texts(session) == ["Hello", "Good day."]


@pytest.mark.contract("D1")
async def test_message_is_durable_before_it_is_accepted(
    engine: Engine, server: ModelServer
) -> None:
    server.otherwise(stall())
    session = await engine.session()
    turn = await engine.account.send(session, "Remember this")
    await engine.crash()
    await engine.start()
    found = await engine.store.of(engine.owner.id).turns.get(turn.id)
    assert plain_text(found.parts) == "Remember this"


@pytest.mark.contract("D1")
async def test_same_key_is_one_turn_and_with_another_body_refused(engine: Engine) -> None:
    session = await engine.session()
    first = await engine.account.send(session, "Hello", key="k")
    await engine.ended(first.id)
    again = await engine.account.send(session, "Hello", key="k")
    assert again.id == first.id
    with pytest.raises(KeyReused):
        await engine.account.send(session, "Something else", key="k")
    assert await engine.texts(session) == ["Hello", "Good day."]


async def test_half_of_a_character_is_refused_wherever_it_is_written(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    first = await engine.say(session, "Hello")
    server.plan(stall())
    running = await engine.account.send(session, "Go on")
    await server.request(1)
    waiting = await engine.account.send(session, "Next")
    account, half = engine.account, "Owl \ud83e"
    for refused in (
        account.send(session, half),
        account.send(session, (TextPart("Owl"), TextPart(half))),
        account.edit_queued(waiting.id, half),
        account.update(session, SessionPatch(title=half)),
        account.update(session, SessionPatch(project=half)),
        account.create(origin="test", title=half),
        account.create(origin="test", project=half),
    ):
        with pytest.raises(InvalidInput, match="characters that are not text"):
            await refused
    await account.remove_queued(waiting.id)
    await account.cancel(session, running.id)
    with pytest.raises(InvalidInput, match="characters that are not text"):
        await account.history.edit(session, first.id, half)
    assert await engine.texts(session) == ["Hello", "Good day.", "Go on"]
    assert len(await account.sessions()) == 1


@pytest.mark.contract("D6")
async def test_cancel_keeps_the_partial_answer_and_the_queue(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Half an ans") + stall(), say("Second answer"))
    session = await engine.session()
    first = await engine.account.send(session, "One")
    await engine.streamed(session, "Half an ans")
    second = await engine.account.send(session, "Two")
    async with within(1):
        assert await engine.account.cancel(session)
    stopped = await engine.store.of(engine.owner.id).turns.get(first.id)
    assert stopped.state == "cancelled"
    assert (await engine.ended(second.id)).state == "completed"
    assert await engine.texts(session) == ["One", "Half an ans", "Two", "Second answer"]
    assert (await engine.messages(session))[1].partial
    assert await server.requests[0].closed()


@pytest.mark.contract("D6")
async def test_cancel_ends_turn_and_lease_in_one_transaction(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Words") + stall())
    session = await engine.session()
    await engine.account.send(session, "One")
    await engine.streamed(session, "Words")
    before = (await engine.account.session(session)).revision
    await engine.account.cancel(session)
    after = await engine.account.session(session)
    assert (after.revision, after.state) == (before + 1, "idle")


@pytest.mark.contract("D6")
async def test_cancel_while_a_checkpoint_is_written(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    for number in range(10):
        server.plan(say("word " * 50, pace=0.002) + stall())
        turn = await engine.account.send(session, f"Question {number}")
        await engine.streamed(session, "word")
        _, cancelled = await asyncio.gather(
            engine.parts.checkpoints.flush(), engine.account.cancel(session)
        )
        assert cancelled
        assert (await engine.ended(turn.id)).state == "cancelled"


@pytest.mark.contract("D6")
async def test_cancel_finds_a_turn_that_is_just_being_taken_up(
    engine: Engine, server: ModelServer
) -> None:
    server.otherwise(stall())
    session = await engine.session()
    for ticks in range(30):
        turn = await engine.account.send(session, "Go")
        for _ in range(ticks):
            await asyncio.sleep(0)
        assert await engine.account.cancel(session, turn.id)
        found = await engine.store.of(engine.owner.id).turns.get(turn.id)
        assert found.state in ("cancelled", "removed")


@pytest.mark.contract("D6")
async def test_cancel_with_nothing_under_way_says_so(engine: Engine) -> None:
    session = await engine.session()
    assert not await engine.account.cancel(session)
    await engine.say(session)
    assert not await engine.account.cancel(session)


@pytest.mark.contract("D6")
async def test_tool_that_does_not_stop_holds_nobody_up(engine: Engine, server: ModelServer) -> None:
    entered = asyncio.Event()

    async def stubborn(arguments: str, context: object) -> str:
        entered.set()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if leave.is_set():
                    raise

    leave = asyncio.Event()
    engine.tools = (FunctionTool("stubborn", stubborn),)
    await engine.restart()
    server.plan(call("stubborn", {}))
    session = await engine.session()
    turn = await engine.account.send(session, "Go")
    await entered.wait()
    async with within(1):
        await engine.account.cancel(session)
    assert (await engine.ended(turn.id)).state == "cancelled"
    result = (await engine.messages(session))[-1].parts[0]
    assert isinstance(result, ToolResultPart)
    assert result.error
    leave.set()
    assert (await engine.say(session, "Next")).state == "completed"


@pytest.mark.contract("D6")
async def test_turn_that_was_cancelled_stays_so_if_roost_stops_meanwhile(
    engine: Engine, server: ModelServer
) -> None:
    entered, told, leave = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(arguments: str, context: object) -> str:
        entered.set()
        try:
            await asyncio.sleep(3600)
        finally:
            told.set()
            await leave.wait()
        return "never"

    engine.tools = (FunctionTool("slow", slow),)
    await engine.restart()
    server.plan(call("slow", {}))
    session = await engine.session()
    turn = await engine.account.send(session, "Go")
    await entered.wait()
    cancelling = asyncio.create_task(engine.account.cancel(session))
    await told.wait()
    await engine.stop()
    leave.set()
    assert await cancelling
    await engine.start()
    assert (await engine.account.turn(session, turn.id)).state == "cancelled"


@pytest.mark.contract("D8")
async def test_messages_sent_meanwhile_wait_and_run_in_order(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall() + say("First answer"))
    session = await engine.session()
    await engine.account.send(session, "One")
    await server.request(0)
    two = await engine.account.send(session, "Two")
    three = await engine.account.send(session, "Three")
    four = await engine.account.send(session, "Four")
    assert [turn.id for turn in await engine.account.queue(session)] == [two.id, three.id, four.id]
    await engine.account.edit_queued(two.id, "Two, edited")
    await engine.account.remove_queued(three.id)
    server.requests[0].release()
    await engine.ended(four.id)
    said = [text for text in await engine.texts(session) if text != "Good day."]
    assert said == ["One", "First answer", "Two, edited", "Four"]
    with pytest.raises(Conflict):
        await engine.account.edit_queued(two.id, "Too late")


@pytest.mark.contract("D8")
async def test_steer_joins_the_running_turn_at_the_next_step(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall() + call("echo", {"text": "x"}), say("Both done."))
    session = await engine.session()
    turn = await engine.account.send(session, "Start")
    await server.request(0)
    steer = await engine.account.send(session, "And also this", steer=True)
    server.requests[0].release()
    assert (await engine.ended(turn.id)).state == "completed"
    assert (await engine.ended(steer.id)).state == "merged"
    texts = await engine.texts(session)
    assert (texts[0], texts[3], texts[4]) == ("Start", "And also this", "Both done.")
    assert server.requests[1].last_text == "And also this"


@pytest.mark.contract("D8")
async def test_sessions_do_not_wait_for_one_another(engine: Engine, server: ModelServer) -> None:
    server.plan(stall())
    slow, quick = await engine.session(), await engine.session()
    await engine.account.send(slow, "One")
    await server.request(0)
    assert (await engine.say(quick, "Two")).state == "completed"


@pytest.mark.contract("D12")
@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (fail(401), "key-refused"),
        (fail(400), "request-refused"),
        (nothing(), "no-answer"),
    ],
)
async def test_failed_turn_says_why_and_the_next_can_start(
    engine: Engine, server: ModelServer, reply: Reply, word: str
) -> None:
    server.otherwise(reply)
    session = await engine.session()
    turn = await engine.say(session, "Hello")
    assert turn.state == "failed"
    assert turn.reason is not None
    assert turn.reason.startswith(f"{word}: ")
    assert await engine.texts(session) == ["Hello"]
    server.otherwise(say("Fine again."))
    assert (await engine.say(session, "And now?")).state == "completed"
    assert await engine.texts(session) == ["Hello", "And now?", "Fine again."]


@pytest.mark.contract("D12")
async def test_turn_that_fails_before_the_agent_exists_keeps_the_message(engine: Engine) -> None:
    session = await engine.session(model="other")
    engine.config = msgspec.structs.replace(engine.config, providers={}, models=ModelsConfig())
    await engine.restart()
    turn = await engine.say(session, "Hello")
    assert turn.state == "failed"
    assert turn.reason is not None
    assert "test" in turn.reason
    assert await engine.texts(session) == ["Hello"]


@pytest.mark.contract("D12")
async def test_answer_equal_to_the_one_before_is_an_answer(engine: Engine) -> None:
    session = await engine.session()
    await engine.say(session, "Hello")
    assert (await engine.say(session, "Hello")).state == "completed"
    assert await engine.texts(session) == ["Hello", "Good day."] * 2


async def test_answer_that_breaks_off_is_tried_again_and_kept_at_last(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Once upon") + cut(), say("Good after all."))
    session = await engine.session()
    assert (await engine.say(session)).state == "completed"
    assert await engine.texts(session) == ["Hello", "Good after all."]
    server.plan(*[say(f"Try {number}") + cut() for number in range(3)])
    turn = await engine.say(session, "Again")
    assert turn.state == "failed"
    assert (await engine.texts(session))[-1] == "Try 2"


@pytest.mark.contract("D9")
async def test_title_by_the_model_never_overwrites_a_persons(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall() + say("A model's title"), model="small")
    session = await engine.session(title=None)
    await engine.say(session)
    title_request = await server.request(1)
    await engine.account.update(session, SessionPatch(title="Mine"))
    title_request.release()
    await title_request.closed()
    await engine.say(session, "Next")
    found = await engine.account.session(session)
    assert (found.title, found.title_by) == ("Mine", "person")


@pytest.mark.contract("D9")
async def test_session_gets_a_title_after_its_first_answer(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say('"Greetings at noon."'), model="small")
    session = await engine.session(title=None)
    await engine.say(session)

    async def title() -> str | None:
        return (await engine.account.session(session)).title

    assert await eventually(title) == "Greetings at noon"


@pytest.mark.contract("D9")
async def test_session_without_a_title_is_named_by_its_first_words_at_the_end(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(stall(), model="small")
    session = await engine.session(title=None)
    await engine.say(session, "How do herons sleep?")
    await server.request(1)
    await engine.restart()
    found = await engine.account.session(session)
    assert (found.title, found.title_by) == ("How do herons sleep?", "model")


@pytest.mark.contract("D7")
async def test_rewrites_wait_for_no_turn_and_mix_with_none(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    done = await engine.say(session, "One")
    server.plan(say("Wor") + stall())
    running = await engine.account.send(session, "Two")
    await engine.streamed(session, "Wor")
    with pytest.raises(Conflict):
        await engine.account.history.undo(session, done.id)
    with pytest.raises(Conflict):
        await engine.account.history.retry(session)
    await engine.account.cancel(session)
    await engine.ended(running.id)
    await engine.account.history.undo(session, done.id)
    assert await engine.texts(session) == []
    await engine.account.history.restore(session)
    assert await engine.texts(session) == ["One", "Good day.", "Two", "Wor"]


@pytest.mark.contract("D7")
async def test_retry_and_edit_take_the_turn_back_first(engine: Engine, server: ModelServer) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    server.plan(say("Better."))
    again = await engine.account.history.retry(session)
    await engine.ended(again.id)
    assert await engine.texts(session) == ["One", "Better."]
    server.plan(say("Other answer."))
    edited = await engine.account.history.edit(session, again.id, "Two")
    await engine.ended(edited.id)
    assert await engine.texts(session) == ["Two", "Other answer."]
    assert server.requests[-1].last_text.endswith("\n\nTwo")


@pytest.mark.contract("D7")
async def test_delete_cancels_the_turn_and_removes_the_session(
    engine: Engine, server: ModelServer
) -> None:
    server.plan(say("Wor") + stall())
    session = await engine.session()
    await engine.account.send(session, "Two")
    await engine.streamed(session, "Wor")
    await engine.account.delete(session)
    with pytest.raises(NotFound):
        await engine.account.session(session)
    assert await server.requests[0].closed()


async def test_turn_waits_for_a_person_and_goes_on_with_the_answer(
    folder: Path, server: ModelServer
) -> None:
    tool = FunctionTool("ask", _answered, asks=_QUESTION)
    async with started(Engine(folder, server, clock=SystemClock(), tools=(tool, ECHO))) as engine:
        server.plan(call("echo", {"text": "1"}) + call("ask", {}) + call("echo", {"text": "2"}))
        session = await engine.session()
        turn = await engine.account.send(session, "Ask me")
        await engine.reached(turn.id, "waiting")
        (pending,) = await engine.account.decisions.pending()
        assert (await engine.account.session(session)).state == "waiting"
        await engine.restart()
        server.plan(say("Thanks."))
        await engine.account.decisions.answer(pending.id, "answered", answer="blue")
        ended = await engine.ended(turn.id)
        assert (ended.state, ended.reason) == ("completed", None)
        results = (await engine.messages(session))[2].parts
        assert [_words(part) for part in results] == ['{"text":"1"}', "blue", '{"text":"2"}']
        with pytest.raises(Conflict):
            await engine.account.decisions.answer(pending.id, "denied")


async def test_parked_turn_can_be_cancelled(folder: Path, server: ModelServer) -> None:
    tool = FunctionTool("ask", _answered, asks=_QUESTION)
    async with started(Engine(folder, server, clock=SystemClock(), tools=(tool,))) as engine:
        server.plan(call("ask", {}))
        session = await engine.session()
        turn = await engine.account.send(session, "Ask me")
        await engine.reached(turn.id, "waiting")
        assert await engine.account.cancel(session)
        assert (await engine.ended(turn.id)).state == "cancelled"
        assert await engine.account.decisions.pending() == []
        assert (await engine.say(session, "Never mind")).state == "completed"


@pytest.mark.parametrize(
    ("reply", "becomes", "stopped"),
    [(say("Wor") + stall(), "running", True), (say("Done."), "completed", False)],
)
async def test_parked_turn_that_is_answered_while_it_is_cancelled(
    folder: Path,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    reply: Reply,
    becomes: TurnState,
    stopped: bool,
) -> None:
    tool = FunctionTool("ask", _answered, asks=_QUESTION)
    async with started(Engine(folder, server, clock=SystemClock(), tools=(tool,))) as engine:
        server.plan(call("ask", {}), reply)
        session = await engine.session()
        turn = await engine.account.send(session, "Ask me")
        await engine.reached(turn.id, "waiting")
        (pending,) = await engine.account.decisions.pending()
        claim = engine.store.leases.claim

        async def after_the_answer(name: str, holder: str) -> Lease | None:
            if ":hold:" in holder:
                monkeypatch.undo()
                await engine.account.decisions.answer(pending.id, "answered", answer="blue")
                await engine.reached(turn.id, becomes)
            return await claim(name, holder)

        monkeypatch.setattr(engine.store.leases, "claim", after_the_answer)
        async with asyncio.timeout(10):
            assert await engine.account.cancel(session) is stopped
        assert (await engine.ended(turn.id)).state == ("cancelled" if stopped else becomes)


@pytest.mark.parametrize("place", ["store.commit.before", "store.commit.after"])
@pytest.mark.parametrize("nth", range(1, 9))
async def test_store_that_fails_once_loses_and_doubles_nothing(
    engine: Engine, server: ModelServer, place: str, nth: int
) -> None:
    server.plan(say("Calling.") + call("echo", {"text": "x"}), say("Done."))
    session = await engine.session()
    turn = await engine.account.send(session, "Hello")
    with faults.failing(place, nth=nth):
        assert (await engine.ended(turn.id)).state == "completed"
    assert await engine.texts(session) == ["Hello", "Calling.", "", "Done."]


async def test_what_is_true_now_is_stored_with_the_message(engine: Engine) -> None:
    session = await engine.session()
    await engine.say(session, "Hello")
    first = (await engine.messages(session))[0]
    assert [type(part) for part in first.parts] == [ContextPart, TextPart]


async def test_session_that_was_ended_goes_on_with_a_new_message(engine: Engine) -> None:
    session = await engine.session()
    await engine.say(session, "One")
    await engine.account.end(session)
    assert (await engine.account.session(session)).ended_at is not None
    assert (await engine.say(session, "Two")).state == "completed"
    assert (await engine.account.session(session)).ended_at is None
    assert len(await engine.texts(session)) == 4


@pytest.mark.parametrize("reset", [False, True])
async def test_what_waited_does_not_run_when_its_session_ends(
    engine: Engine, server: ModelServer, reset: bool
) -> None:
    server.plan(say("Half an ans") + stall())
    session = await engine.session()
    await engine.account.point("cli", session)
    first = await engine.account.send(session, "One")
    await engine.streamed(session, "Half an ans")
    waiting = [await engine.account.send(session, words) for words in ("Two", "Three")]
    if reset:
        await engine.account.reset("cli", origin="cli")
    else:
        await engine.account.end(session)
    assert (await engine.ended(first.id)).state == "cancelled"
    assert [(await engine.ended(turn.id)).state for turn in waiting] == ["removed"] * 2
    assert await engine.texts(session) == ["One", "Half an ans"]


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (LimitsConfig(turn_steps=Count(2)), "turn_steps"),
        (LimitsConfig(turn_tokens=Count(10)), "turn_tokens"),
        (LimitsConfig(session_tokens=Count(10)), "session_tokens"),
        (LimitsConfig(day_tokens=Count(10)), "day_tokens"),
    ],
)
async def test_turn_that_reaches_a_limit_fails_with_what_it_has(
    engine: Engine, server: ModelServer, limits: LimitsConfig, word: str
) -> None:
    engine.config = msgspec.structs.replace(engine.config, limits=limits)
    await engine.restart()
    server.otherwise(say("Again.") + call("echo", {"text": "x"}))
    session = await engine.session()
    turn = await engine.say(session, "Go on for ever")
    assert turn.state == "failed"
    assert turn.reason is not None
    assert turn.reason.startswith("budget: ")
    assert f"limits.{word}" in turn.reason
    assert "Again." in await engine.texts(session)


async def test_turn_that_takes_too_long_fails_with_what_it_has(
    engine: Engine, server: ModelServer
) -> None:
    limits = LimitsConfig(turn_time=timedelta(seconds=3))
    engine.config = msgspec.structs.replace(engine.config, limits=limits)
    await engine.restart()
    server.plan(say("Half") + stall())
    session = await engine.session()
    turn = await engine.say(session)
    assert (turn.state, (turn.reason or "").partition(":")[0]) == ("failed", "budget")
    assert await engine.texts(session) == ["Hello", "Half"]


@pytest.mark.contract("D11")
async def test_all_who_watch_see_the_same(engine: Engine, server: ModelServer) -> None:
    server.plan(say("Calling.") + call("echo", {"text": "x"}), say("Done."))
    session = await engine.session()

    async def seen() -> tuple[list[str], str]:
        durable: list[str] = []
        streamed = ""
        async with engine.account.watch(session) as events:
            await anext(events)
            ready.append(None)
            async for event in events:
                streamed += said(event)
                if isinstance(event, Changed):
                    durable.append(str(event.cursor.revision) + repr(event.events))
                if "completed" in states(event):
                    return durable, streamed
        raise AssertionError("the watch ended before the turn")

    ready: list[None] = []
    async with asyncio.TaskGroup() as tasks:
        watching = [tasks.create_task(seen()) for _ in range(5)]
        await eventually(lambda: _all_are(ready, 5))
        await engine.account.send(session, "Hello")
    assert len({repr(task.result()) for task in watching}) == 1
    assert watching[0].result()[1] == "Calling.Done."


async def _all_are(ready: list[None], number: int) -> bool:
    return len(ready) == number
