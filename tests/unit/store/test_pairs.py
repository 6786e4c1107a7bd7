"""A session that is imported while its tools were at work has a result for every call."""

import json
from pathlib import Path

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.ids import SessionId, ToolCallId, new_message_id
from roost.core.messages import Draft, TextPart, ToolResultPart
from roost.core.turns import Step, ToolCallState
from roost.testing.faults import failing
from tests.store_driver import Driver, Run

pytestmark = pytest.mark.both

NOT_RUN = "Not run: this conversation was exported before it came to this."
UNKNOWN = (
    "This conversation was exported before the result of this stood in it. Check before doing it"
    " again."
)


async def move(ada: Driver, run: Run, call: ToolCallId, *states: ToolCallState) -> None:
    for state in states:
        await ada.turns.set_tool_call(run.session, run.token, run.turn, call, state)


async def assert_answered(who: Driver, session: SessionId, call: ToolCallId, why: str) -> None:
    """By the last message, which counts like any other."""
    found = await who.history.load(session)
    last = found.messages[-1]
    assert last.parts == (ToolResultPart(call, (TextPart(why),), error=True),)
    assert (last.role, last.position) == ("tool", found.session.head)
    assert found.session.counters.messages == len(found.messages) == 3
    (turn,) = await who.turns.of(session)
    assert (last.turn, turn.state) == (turn.id, "interrupted")


@pytest.mark.contract("D4")
async def test_call_that_waited_for_a_person_was_not_run_after_an_import(
    ada: Driver, bob: Driver
) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    document = await ada.transfer.export(run.session)
    session = (await bob.transfer.load(document)).session
    await assert_answered(bob, session.id, asked.call, NOT_RUN)
    await bob.talk(session.id, "And now?", "Go on")
    live = await bob.live(session.id)
    assert [message.position for message in live] == [1, 2, 3, 4, 5]
    assert len(await bob.found("exported")) == 1


@pytest.mark.contract("D4")
@pytest.mark.parametrize("ended", [(), ("done",)])
async def test_call_that_ran_may_have_taken_effect_after_an_import(
    ada: Driver, bob: Driver, ended: tuple[ToolCallState, ...]
) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await move(ada, run, call, "running", *ended)
    session = (await bob.transfer.load(await ada.transfer.export(run.session))).session
    await assert_answered(bob, session.id, call, UNKNOWN)
    (turn,) = await bob.turns.of(session.id)
    (found,) = await bob.turns.tool_calls(turn.id)
    assert found.state == (*ended, "unknown")[0]


async def test_result_of_an_import_stands_right_after_the_call(ada: Driver, bob: Driver) -> None:
    """The document tells of a conversation that went on without it."""
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.end(run, "Done")
    document = json.loads(await ada.transfer.export(run.session))
    document["messages"][-1]["position"] += 1
    document["session"]["head"] += 1
    session = (await bob.transfer.load(json.dumps(document).encode())).session
    live = await bob.live(session.id)
    assert [message.role for message in live] == ["user", "assistant", "tool", "assistant"]
    assert [message.position for message in live] == [1, 2, 3, 4]
    (result,) = live[2].parts
    assert isinstance(result, ToolResultPart)
    assert result.call == call
    assert session.head == 4


async def test_import_of_what_went_on_without_results_makes_room_for_them(
    ada: Driver, bob: Driver
) -> None:
    """As an export of a session that an older Roost had imported."""
    session = await ada.session()
    calls: list[ToolCallId] = []
    for _ in range(2):
        run = await ada.run(session)
        calls.append((await ada.call_tool(run)).call)
        await ada.end(run, "Done")
    imported = (await bob.transfer.load(await ada.transfer.export(session))).session
    live = await bob.live(imported.id)
    assert [message.role for message in live] == ["user", "assistant", "tool", "assistant"] * 2
    assert [message.position for message in live] == list(range(1, 9))
    assert imported.head == imported.counters.messages == 8
    results = [part for message in live for part in message.parts if message.role == "tool"]
    assert [part.call for part in results if isinstance(part, ToolResultPart)] == calls
    first, second = await bob.turns.of(imported.id)
    lease = await bob.claim(imported.id)
    await bob.history.undo(imported.id, lease.token, second.id)
    assert {message.turn for message in await bob.live(imported.id)} == {first.id}
    assert (await bob.sessions.get(imported.id)).counters.turns == 1


async def test_import_with_an_open_call_is_the_same_the_second_time(
    ada: Driver, bob: Driver
) -> None:
    run = await ada.run()
    await ada.park(run)
    document = await ada.transfer.export(run.session)
    session = (await bob.transfer.load(document)).session.id
    before = await bob.everything(session)
    assert not (await bob.transfer.load(document)).created
    assert await bob.everything(session) == before
    assert not (await ada.transfer.load(document)).created


@pytest.mark.parametrize("place", ["before", "after"])
async def test_import_with_an_open_call_that_fails_anywhere_answers_it_once(
    ada: Driver, bob: Driver, folder: Path, place: str
) -> None:
    failed = 0
    for nth in range(1, 20):
        run = await ada.run()
        asked = await ada.park(run)
        document = await ada.transfer.export(run.session)
        try:
            with failing(f"store.commit.{place}", nth=nth):
                await bob.transfer.load(document)
        except StoreUnavailable:
            failed += 1
        session = (await bob.transfer.load(document)).session.id
        await assert_answered(bob, session, asked.call, NOT_RUN)
    assert failed > 1


async def test_call_that_was_answered_is_not_answered_again(ada: Driver, bob: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    result = Draft(new_message_id(), "tool", (ToolResultPart(call, (TextPart("found"),)),))
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(result,)))
    await ada.end(run, "There")
    imported = (await bob.transfer.load(await ada.transfer.export(run.session))).session
    live, before = await bob.live(imported.id), await ada.live(run.session)
    assert [message.parts for message in live] == [message.parts for message in before]
    assert imported.head == 4
