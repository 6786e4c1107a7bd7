"""Repairing a store that lost a tool call or its result: no model takes one without the other."""

from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.compaction import Compaction, Replacement
from roost.core.ids import SessionId, ToolCallId, new_message_id
from roost.core.messages import Draft, Message, TextPart, ToolResultPart
from roost.core.turns import Step
from roost.store.folder import DATABASE
from roost.store.sqlite.connect import Connection
from roost.store.sqlite.repair import check, repair
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say
from roost.tools.base import ToolContext
from tests.engine import ASKS, Engine, FunctionTool, started
from tests.faults.recount import recount
from tests.store_driver import Driver, Run, new_turn, open_any

RESULT_LOST = TextPart(
    "The result of this was lost when the store was damaged. Check before doing it again."
)
CALL_LOST = TextPart("What asked for this was lost when the store was damaged. Its result was:")
ANSWERED = "what came of 1 tool call; with a stand-in for each"
TOLD = "what asked for 1 tool call; what came of it is a note now"
GIVEN_UP = "what asked for 1 tool call under way; it is given up"


async def careful(arguments: str, context: ToolContext) -> str:
    raise AssertionError("it was never allowed")


CAREFUL = FunctionTool("careful", careful, asks=ASKS)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def lose(folder: Path, role: str) -> None:
    """The first message in this role is no JSON any more."""
    connection = Connection(str(folder / DATABASE))
    connection.rows(
        "UPDATE messages SET parts = '[{' WHERE seq ="
        " (SELECT min(seq) FROM messages WHERE role = ?)",
        (role,),
    )
    connection.close()


def lost_by(folder: Path) -> list[str]:
    """What a repair says, besides that some messages were."""
    first, *lost = repair(folder, "0").lost
    assert first == "some rows of messages could not be read"
    assert check(folder) == []
    assert recount(folder, logs=False) == []
    assert repair(folder, "0").lost == []
    return lost


async def answer(ada: Driver, run: Run, call: ToolCallId) -> None:
    result = ToolResultPart(call, (TextPart("found"),))
    for state in ("running", "done"):
        parts = (result,) if state == "done" else None
        await ada.turns.set_tool_call(run.session, run.token, run.turn, call, state, parts)
    answered = Draft(new_message_id(), "tool", (result,))
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(answered,)))


async def live(folder: Path, ada: Driver, session: SessionId) -> list[Message]:
    """As it is read from the store, where the words of a repair are found too."""
    store = await open_any(folder, FakeClock())
    try:
        again = Driver(store, ada.user)
        found = await again.live(session)
        told = [each.id for each in found if "damaged" in str(each.parts)]
        assert await again.found("damaged") == told
        return found
    finally:
        await store.close()


@pytest.mark.contract("D4")
@pytest.mark.parametrize("ends", [True, False])
async def test_call_whose_result_is_lost_gets_one_that_says_so(data: Path, ends: bool) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await answer(ada, run, call)
    if ends:
        await ada.end(run, "There")
    await store.close()
    lose(data, "tool")
    assert lost_by(data) == [ANSWERED]
    _, asked, told, *_ = await live(data, ada, run.session)
    assert told.parts == (ToolResultPart(call, (RESULT_LOST,), error=True),)
    assert (told.role, told.turn, told.position) == ("tool", run.turn, asked.position + 1)


@pytest.mark.contract("D4")
async def test_result_whose_call_is_lost_is_a_note(data: Path) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    await answer(ada, run, (await ada.call_tool(run)).call)
    await ada.end(run, "There")
    before = await ada.live(run.session)
    await store.close()
    lose(data, "assistant")
    assert lost_by(data) == [TOLD]
    found = await live(data, ada, run.session)
    assert [message.id for message in found] == [before[0].id, before[2].id, before[3].id]
    assert (found[1].role, found[1].parts) == ("note", (CALL_LOST, TextPart("found")))


@pytest.mark.contract("D4")
async def test_call_after_which_others_spoke_at_once_gets_room_for_its_result(data: Path) -> None:
    """As in a session that was imported by a Roost that answered no calls, and went on."""
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    session = await ada.session()
    calls: list[ToolCallId] = []
    for _ in range(2):
        run = await ada.run(session)
        calls.append((await ada.call_tool(run)).call)
        await ada.end(run, "There")
    await store.close()
    assert repair(data, "0").lost == ["what came of 2 tool calls; with a stand-in for each"]
    found = await live(data, ada, session)
    assert [message.role for message in found] == ["user", "assistant", "tool", "assistant"] * 2
    assert [message.position for message in found] == list(range(1, 9))
    assert found[6].parts == (ToolResultPart(calls[1], (RESULT_LOST,), error=True),)
    assert recount(data, logs=False) == []
    assert repair(data, "0").lost == []


async def restored(
    folder: Path, ada: Driver, session: SessionId
) -> tuple[list[Message], list[Message]]:
    """The history before and after its last rewrite is taken back."""
    store = await open_any(folder, FakeClock())
    try:
        again = Driver(store, ada.user)
        before, lease = await again.live(session), await again.claim(session)
        await again.history.restore(session, lease.token)
        return before, await again.live(session)
    finally:
        await store.close()


@pytest.mark.contract("D4")
async def test_result_lost_in_a_past_that_can_be_brought_back_gets_a_stand_in(data: Path) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await answer(ada, run, call)
    await ada.end(run, "There")
    await ada.compact(run.session)
    await store.close()
    lose(data, "tool")
    assert lost_by(data) == [ANSWERED]
    _, (_, asked, told, *_) = await restored(data, ada, run.session)
    assert told.parts == (ToolResultPart(call, (RESULT_LOST,), error=True),)
    assert (told.role, told.turn, told.position) == ("tool", run.turn, asked.position + 1)


@pytest.mark.contract("D4")
async def test_result_lost_that_was_cut_down_since_gets_a_stand_in_in_the_past(data: Path) -> None:
    """At its place stands what it was cut down to, and answers the call until that is undone."""
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await answer(ada, run, call)
    await ada.end(run, "There")
    result = (await ada.live(run.session))[2]
    short = Draft(new_message_id(), "tool", (ToolResultPart(call, (TextPart("cut"),)),))
    pruning = Compaction(
        epoch=0,
        replaced=(result.id,),
        replacements=(Replacement(result.id, short),),
        trigger="turn",
    )
    lease = await ada.claim(run.session)
    await ada.history.compact(run.session, lease.token, pruning)
    await store.close()
    lose(data, "tool")
    assert lost_by(data) == [ANSWERED]
    before, after = await restored(data, ada, run.session)
    assert [message.parts for message in before[2:3]] == [short.parts]
    assert after[2].parts == (ToolResultPart(call, (RESULT_LOST,), error=True),)
    assert len(before) == len(after) == 4


@pytest.mark.contract("D4")
async def test_result_in_the_past_whose_call_is_lost_is_a_note(data: Path) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    await answer(ada, run, (await ada.call_tool(run)).call)
    await ada.end(run, "There")
    lease = await ada.claim(run.session)
    await ada.history.clear(run.session, lease.token)
    await store.close()
    lose(data, "assistant")
    assert lost_by(data) == [TOLD]
    before, after = await restored(data, ada, run.session)
    assert before == []
    assert [message.role for message in after] == ["user", "note", "assistant"]


async def test_histories_that_were_rewritten_in_every_way_have_lost_nothing(data: Path) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    session = await ada.session()

    async def ask() -> Run:
        run = await ada.run(session)
        await answer(ada, run, (await ada.call_tool(run)).call)
        await ada.end(run, "There")
        return run

    async def restore() -> None:
        lease = await ada.claim(session)
        await ada.history.restore(session, lease.token)

    for _ in range(2):
        await ask()
        await ada.compact(session)
        run = await ask()
        await ada.history.undo(session, run.token, run.turn)
        await restore()
        await ask()
        await restore()  # of the compaction
        run = await ask()
        await ada.history.clear(session, run.token)
    run = await ask()
    await ada.history.edit(session, run.token, run.turn, new_turn("Other words"))
    await store.close()
    assert repair(data, "0").lost == []


async def test_call_that_a_turn_has_yet_to_answer_is_left_to_it(data: Path) -> None:
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    parked, running = await ada.run(), await ada.run()
    await ada.park(parked)
    await ada.call_tool(running)
    await store.close()
    assert repair(data, "0").lost == []
    for run in (parked, running):
        assert len(await live(data, ada, run.session)) == 2


async def test_message_that_makes_no_sense_stands_in_nobodys_way(data: Path) -> None:
    """A damaged page can give JSON that is no message."""
    store = await open_any(data, FakeClock())
    ada = await Driver.of(store, "Ada", "admin")
    run = await ada.run()
    await ada.call_tool(run)
    await ada.end(run, "There")
    await store.close()
    connection = Connection(str(data / DATABASE))
    connection.rows("""UPDATE messages SET parts = '{"kind": 7}' WHERE position = 3""")
    connection.close()
    assert repair(data, "0").lost == [ANSWERED]
    assert check(data) == []


@pytest.mark.contract("D4")
@pytest.mark.parametrize(("role", "lost"), [("tool", ANSWERED), ("assistant", TOLD)])
async def test_conversation_goes_on_after_a_repair(data: Path, role: str, lost: str) -> None:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        async with started(Engine(data, server, clock=SystemClock())) as engine:
            session = await engine.session()
            server.plan(call("echo", {"text": "a"}), say("Done."))
            await engine.say(session, "Go")
        lose(data, role)
        assert lost_by(data) == [lost]
        async with started(Engine(data, server, clock=SystemClock())) as engine:
            assert (await engine.say(session, "And now?")).state == "completed"


@pytest.mark.contract("D4")
async def test_turn_whose_question_is_lost_goes_on_without_it(data: Path) -> None:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        tools = (CAREFUL,)
        async with started(Engine(data, server, clock=SystemClock(), tools=tools)) as engine:
            session = await engine.session()
            server.plan(call("careful", {"text": "a"}))
            turn = await engine.account.send(session, "Go")
            await engine.reached(turn.id, "waiting")
        lose(data, "assistant")
        assert lost_by(data) == [GIVEN_UP]
        async with started(Engine(data, server, clock=SystemClock(), tools=tools)) as engine:
            assert (await engine.ended(turn.id)).state == "completed"
            assert await engine.texts(session) == ["Go", "Good day."]
