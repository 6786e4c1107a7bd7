"""Turns: started, carried on step by step, parked, resumed, ended; repeats change nothing."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound, QueueChanged, RoostError
from roost.core.events import AttemptBegan, MessageAdded, ToolCallUpdated, TurnUpdated
from roost.core.ids import BlobId, SessionId, TurnId, new_message_id, new_tool_call_id
from roost.core.messages import Draft, ImagePart, TextPart, ToolCallPart, ToolResultPart
from roost.core.turns import Begun, CallEnd, EndState, OutboxEntry, Step, TurnEnd
from roost.core.usage import Usage
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from tests.store_driver import OTHER_HOLDER, Driver, Run, draft, new_turn, question, text

pytestmark = pytest.mark.both


async def test_turn_goes_from_step_to_step(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    started_at = clock.now()
    clock.advance(1)
    await ada.say(run, "One")
    await ada.say(run, "Two")
    await ada.retry(run)
    turn = await ada.turns.get(run.turn)
    assert (turn.state, turn.step, turn.attempt) == ("running", 3, 4)
    clock.advance(1)
    await ada.end(run, "Three")
    turn = await ada.turns.get(run.turn)
    assert (turn.state, turn.started_at, turn.ended_at) == ("completed", started_at, clock.now())
    assert await ada.texts(run.session) == ["Hello", "One", "Two", "Three"]


async def test_events_tell_the_whole_story(ada: Driver) -> None:
    run = await ada.run()
    call = await ada.call_tool(run)
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call.call, "running")
    await ada.end(run, state="failed")
    changes = await ada.history.since(run.session, 2)
    first, second = (message.id for message in changes.messages)
    assert [record.events for record in changes.recorded] == [
        (TurnUpdated(run.turn, "running"), MessageAdded(first), AttemptBegan(run.turn, 1, 1)),
        (
            MessageAdded(second),
            ToolCallUpdated(call.call, "requested"),
            AttemptBegan(run.turn, 2, 2),
        ),
        (ToolCallUpdated(call.call, "running"),),
        (TurnUpdated(run.turn, "failed"),),
    ]


async def test_finished_step_drops_its_deltas(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    await ada.say(run, "abc")
    assert await ada.turns.deltas(run.turn) == []
    await ada.stream(run, "def", attempt=2)
    assert await ada.streamed(run.turn) == "def"
    await ada.say(run, "def", unfinished=True)
    assert (await ada.stream(run, "ghi", attempt=2)).stored == {}


async def test_parked_turn_holds_nothing_and_goes_on_with_the_answer(ada: Driver) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    assert (await ada.sessions.get(run.session)).state == "waiting"
    assert await ada.store.leases.holder(run.lease.name) is None
    await ada.submit(run.session, "Next")
    assert await ada.store.work.claim_waiting("host:2:x:y") == []
    await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    (claimed,) = await ada.store.work.claim_waiting("host:2:x:z")
    run = run._replace(lease=claimed.lease)
    begun = await ada.resume(run)
    assert (begun.step, begun.attempt) == (2, 3)
    await ada.end(run, "Done")


@pytest.mark.parametrize("state", ["failed", "cancelled", "interrupted"])
async def test_turn_that_stopped_short_can_be_continued(ada: Driver, state: EndState) -> None:
    run = await ada.run()
    await ada.stream(run, "ab")
    await ada.end(run, "ab", state=state)
    lease = await ada.claim(run.session)
    begun = await ada.resume(run._replace(lease=lease))
    assert begun.attempt == 2
    turn = await ada.turns.get(run.turn)
    assert (turn.state, turn.reason, turn.ended_at) == ("running", None, None)
    await ada.end(run._replace(lease=lease), "abc")
    assert await ada.texts(run.session) == ["Hello", "ab", "abc"]
    assert (await ada.sessions.get(run.session)).counters.turns == 1


async def test_completed_queued_and_undone_turns_are_not_resumed(
    ada: Driver, session: SessionId
) -> None:
    done = await ada.talk(session)
    stopped = await ada.run(session)
    await ada.end(stopped, state="cancelled")
    queued = await ada.submit(session)
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, stopped.turn)
    before = await ada.everything(session)
    for turn in (done, stopped.turn, queued):
        with pytest.raises(Conflict):
            await ada.resume(Run(session, turn, lease))
    assert await ada.everything(session) == before


async def test_turn_that_failed_before_it_could_start_keeps_its_message(
    ada: Driver, session: SessionId
) -> None:
    turn = await ada.submit(session, "Hello?")
    lease = await ada.claim(session)
    end = TurnEnd(state="failed", reason="no model", messages=(draft("Hello?", "user"),))
    await ada.turns.end(session, lease.token, turn, end)
    found = await ada.turns.get(turn)
    assert (found.state, found.reason, found.message) == (
        "failed",
        "no model",
        end.messages[0].id,
    )
    assert await ada.texts(session) == ["Hello?"]
    assert (await ada.sessions.get(session)).counters.turns == 1
    await ada.talk(session)


async def test_tool_call_carries_its_result_until_it_stands_in_a_message(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    call = await ada.call_tool(run)
    (found,) = await ada.turns.tool_calls(run.turn)
    assert (found.call, found.name, found.arguments, found.state) == (
        call.call,
        "ls",
        "{}",
        "requested",
    )
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call.call, "running")
    started_at = clock.now()
    clock.advance(2)
    result = text("a file")
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call.call, "done", result)
    (found,) = await ada.turns.tool_calls(run.turn)
    assert (found.result, found.started_at, found.ended_at) == (result, started_at, clock.now())

    placed = Draft(new_message_id(), "tool", (ToolResultPart(call.call, (TextPart("a file"),)),))
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(placed,)))
    (found,) = await ada.turns.tool_calls(run.turn)
    assert (found.state, found.result) == ("done", None)


async def test_what_a_result_shows_is_kept_until_it_stands_in_a_message(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running")
    blob = await ada.blobs.put_bytes(b"owl", "image/png")
    result = ToolResultPart(call, (ImagePart(blob.id, "image/png"),))
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "done", (result,))
    clock.advance(2 * DAY)
    await ada.store.upkeep.run()
    assert await ada.blobs.read_bytes(blob.id) == b"owl"
    placed = Draft(new_message_id(), "tool", (result,))
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(placed,)))


async def test_result_that_shows_what_is_not_stored_is_refused(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running")
    before = await ada.everything(run.session)
    blob = await ada.blobs.put_bytes(b"owl", "image/png")
    shown = (ImagePart(blob.id, "image/png"), ImagePart(BlobId("f" * 64), "image/png"))
    result = (ToolResultPart(call, shown),)
    with pytest.raises(InvalidInput):
        await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "done", result)
    assert await ada.everything(run.session) == before
    assert await ada.blobs.of_session(run.session) == []


async def test_tool_call_makes_legal_moves_only(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    before = await ada.everything(run.session)
    for state in ("done", "unknown"):
        with pytest.raises(Conflict):
            await ada.turns.set_tool_call(run.session, run.token, run.turn, call, state)
    with pytest.raises(NotFound):
        await ada.turns.set_tool_call(
            run.session, run.token, run.turn, new_tool_call_id(), "running"
        )
    assert await ada.everything(run.session) == before


async def test_call_of_another_turn_is_not_moved(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.end(run, state="interrupted")
    later = await ada.run(run.session)
    before = await ada.everything(run.session)
    with pytest.raises(NotFound):
        await ada.turns.set_tool_call(later.session, later.token, later.turn, call, "running")
    assert await ada.everything(run.session) == before


async def test_calls_are_listed_in_the_order_they_were_asked_for(ada: Driver) -> None:
    run = await ada.run()
    parts = tuple(ToolCallPart(new_tool_call_id(), f"tool{n}", "{}") for n in range(3))
    for batch in (parts[:2], parts[2:]):
        step = Step(messages=(Draft(new_message_id(), "assistant", batch[::-1]),))
        await ada.turns.append(run.session, run.token, run.turn, step)
    names = [call.name for call in await ada.turns.tool_calls(run.turn)]
    assert names == ["tool1", "tool0", "tool2"]


async def test_usage_adds_up_and_unknown_cost_is_not_free(ada: Driver) -> None:
    run = await ada.run()
    usage = Usage("p", "m", calls=1, input_tokens=10, output_tokens=5, cost=7)
    step = Step(messages=(draft("One"),), usage=(usage, replace(usage, model="n", cost=None)))
    await ada.turns.append(run.session, run.token, run.turn, step)
    end = TurnEnd(state="completed", messages=(draft("Two"),), usage=(usage,))
    await ada.turns.end(run.session, run.token, run.turn, end)
    counters = (await ada.sessions.get(run.session)).counters
    assert (counters.input_tokens, counters.output_tokens) == (30, 15)
    assert (counters.cost, counters.unpriced) == (14, 1)


Again = Callable[[], Awaitable[object]]


async def test_repeats_of_writes_that_carry_ids_change_nothing(
    ada: Driver, session: SessionId
) -> None:
    new = new_turn()
    lease = await ada.claim(session)
    first = draft("Hello", "user")
    steer = new_turn("Faster", steer=True)
    call = ToolCallPart(new_tool_call_id(), "ls", "{}")
    asked = Draft(new_message_id(), "assistant", (call,))
    step = Step(
        messages=(asked, draft("Faster", "user")),
        usage=(Usage("p", "m", input_tokens=1, cost=1),),
        steers=(steer.id,),
    )
    entry = OutboxEntry("out_1", "telegram:dm:42", "{}")
    end = TurnEnd(
        state="completed",
        messages=(draft("Done"),),
        usage=(Usage("p", "m", input_tokens=1, cost=1),),
        outbox=(entry,),
        memory_scope="builtin",
    )
    writes: list[Again] = [
        lambda: ada.queue.submit(session, new),
        lambda: ada.turns.start(session, lease.token, new.id, first),
        lambda: ada.queue.submit(session, steer),
        lambda: ada.turns.append(session, lease.token, new.id, step),
        lambda: ada.turns.set_tool_call(session, lease.token, new.id, call.call, "running"),
        lambda: ada.turns.end(session, lease.token, new.id, end),
    ]
    for write in writes:
        answer = await write()
        before = await ada.everything(session)
        assert await write() == answer
        assert await ada.everything(session) == before


async def test_turn_that_goes_on_says_no_more_how_it_had_stopped(ada: Driver) -> None:
    run = await ada.run()
    end = TurnEnd(state="interrupted", reason="crashed: Roost stopped.")
    await ada.turns.end(run.session, run.token, run.turn, end)
    stopped = await ada.turns.get(run.turn)
    assert stopped.reason == end.reason
    assert stopped.ended_at is not None
    await ada.resume(run._replace(lease=await ada.claim(run.session)))
    running = await ada.turns.get(run.turn)
    assert (running.state, running.reason, running.ended_at) == ("running", None, None)


async def test_message_id_that_is_taken_is_refused(ada: Driver) -> None:
    run, other = await ada.run(), await ada.run()
    taken = (await ada.live(other.session))[0].id
    mine = (await ada.live(run.session))[0].id
    await ada.end(run)
    waiting = await ada.submit(run.session)
    lease = await ada.claim(run.session)
    before = await ada.everything(run.session)
    for message in (taken, mine):
        with pytest.raises(InvalidInput, match="taken"):
            await ada.turns.start(
                run.session, lease.token, waiting, draft("Hello", "user", id=message)
            )
    assert await ada.everything(run.session) == before


async def test_step_under_a_message_id_of_another_session_is_refused(ada: Driver) -> None:
    run, other = await ada.run(), await ada.run()
    taken = (await ada.live(other.session))[0].id
    before = await ada.everything(run.session)
    step = Step(messages=(draft("Yes", id=taken),))
    with pytest.raises(InvalidInput, match="taken"):
        await ada.turns.append(run.session, run.token, run.turn, step)
    assert await ada.everything(run.session) == before


BAD_STEPS: dict[str, Step] = {
    "no message": Step(messages=()),
    "missing attachment": Step(
        messages=(
            draft("Look"),
            Draft(new_message_id(), "assistant", (ImagePart(BlobId("0" * 64), "image/png"),)),
        )
    ),
    "steer without words": Step(messages=(draft("Yes"),), steers=(TurnId("trn_x"),)),
    "words without a steer": Step(messages=(draft("Yes", "user"),)),
    "unknown steer": Step(messages=(draft("Yes", "user"),), steers=(TurnId("trn_x"),)),
    "one call twice": Step(
        messages=(
            Draft(
                new_message_id(),
                "assistant",
                (ToolCallPart(new_tool_call_id(), "ls", "{}"),) * 2,
            ),
        )
    ),
}


@pytest.mark.parametrize("name", BAD_STEPS)
async def test_step_that_can_not_be_written_changes_nothing(ada: Driver, name: str) -> None:
    run = await ada.run()
    before = await ada.everything(run.session)
    with pytest.raises(RoostError):
        await ada.turns.append(run.session, run.token, run.turn, BAD_STEPS[name])
    assert await ada.everything(run.session) == before


async def test_steer_that_waits_for_its_own_turn_by_now_is_not_taken_in(ada: Driver) -> None:
    run = await ada.run()
    steer = (await ada.queue.submit(run.session, new_turn("Faster", steer=True))).id
    await ada.queue.edit(steer, None, steer=False)
    before = await ada.everything(run.session)
    step = Step(messages=(draft("On it"), draft("Faster", "user")), steers=(steer,))
    with pytest.raises(QueueChanged):
        await ada.turns.append(run.session, run.token, run.turn, step)
    assert await ada.everything(run.session) == before


async def test_turn_of_another_session_is_not_found(ada: Driver) -> None:
    run, other = await ada.run(), await ada.run()
    mixed = run._replace(turn=other.turn)
    for write in (
        ada.say(mixed, "Yes"),
        ada.end(mixed),
        ada.turns.park(
            mixed.session, mixed.token, mixed.turn, (question(new_tool_call_id()),), ttl=1
        ),
        ada.retry(mixed),
        ada.history.undo(mixed.session, mixed.token, mixed.turn),
    ):
        with pytest.raises(RoostError):
            await write
    assert await ada.texts(run.session) == await ada.texts(other.session) == ["Hello"]


async def test_ended_turn_takes_no_further_step(ada: Driver) -> None:
    run: Run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.end(run, "Done")
    lease = await ada.claim(run.session)
    run = run._replace(lease=lease)
    before = await ada.everything(run.session)
    for write in (
        ada.say(run, "More"),
        ada.end(run, state="cancelled"),
        ada.turns.park(run.session, run.token, run.turn, (question(call),), ttl=1),
        ada.retry(run),
        ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running"),
    ):
        with pytest.raises(Conflict):
            await write
    assert await ada.everything(run.session) == before


async def test_end_can_keep_the_lease_for_the_next_turn(ada: Driver) -> None:
    run = await ada.run()
    following = await ada.submit(run.session, "Next")
    end = TurnEnd(state="completed", release=False)
    await ada.turns.end(run.session, run.token, run.turn, end)
    await ada.start(following, run.lease)
    assert (await ada.sessions.get(run.session)).state == "running"


async def test_cleared_turn_is_not_resumed(ada: Driver, session: SessionId) -> None:
    run = await ada.run(session)
    await ada.end(run, "Half", state="interrupted")
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    with pytest.raises(Conflict):
        await ada.resume(run._replace(lease=lease))


async def test_second_end_with_other_words_is_not_taken_for_a_repeat(ada: Driver) -> None:
    run = await ada.run()
    await ada.end(run, "First", state="cancelled")
    lease = await ada.claim(run.session)
    with pytest.raises(Conflict):
        await ada.end(run._replace(lease=lease), "Second", state="cancelled")


async def test_only_the_last_turn_can_go_on(ada: Driver, session: SessionId) -> None:
    stopped = await ada.run(session)
    await ada.end(stopped, "Half", state="interrupted")
    await ada.talk(session, "another")
    lease = await ada.claim(session)
    with pytest.raises(Conflict):
        await ada.resume(stopped._replace(lease=lease))


async def standing(ada: Driver, session: SessionId) -> tuple[int, int, int]:
    found = await ada.sessions.get(session)
    return found.revision, found.epoch, found.head


async def test_every_beginning_says_where_the_history_stands(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session)
    await ada.compact(session)
    turn, lease = await ada.submit(session), await ada.claim(session)
    begun = await ada.turns.start(session, lease.token, turn, draft("Hello", "user"))
    assert (begun.revision, begun.epoch, begun.head) == await standing(ada, session)
    assert (begun.epoch, begun.head, begun.step, begun.attempt) == (1, 3, 1, 1)
    step = Step(messages=(draft("One"), draft("Two")))
    begun = await ada.turns.append(session, lease.token, turn, step)
    assert (begun.revision, begun.epoch, begun.head) == await standing(ada, session)
    assert (begun.head, begun.step, begun.attempt) == (5, 2, 2)
    begun = await ada.turns.retry_step(session, lease.token, turn, after=2)
    assert (begun.revision, begun.epoch, begun.head) == await standing(ada, session)
    assert (begun.step, begun.attempt) == (2, 3)
    await ada.turns.end(session, lease.token, turn, TurnEnd(state="failed", release=False))
    note = draft("Your answer broke off.", "note")
    begun = await ada.turns.resume(session, lease.token, turn, after=3, messages=(note,))
    assert (begun.revision, begun.epoch, begun.head) == await standing(ada, session)
    assert (begun.head, begun.step, begun.attempt) == (6, 2, 4)


async def test_repeats_say_what_is_true_now(ada: Driver) -> None:
    run = await ada.run()
    first = draft("One")
    step = Step(messages=(first,))
    await ada.turns.append(run.session, run.token, run.turn, step)
    await ada.turns.retry_step(run.session, run.token, run.turn, after=2)
    await ada.submit(run.session, "Meanwhile")
    before = await ada.everything(run.session)
    again = await ada.turns.append(run.session, run.token, run.turn, step)
    assert (again.step, again.attempt) == (2, 3)
    assert (again.revision, again.epoch, again.head) == await standing(ada, run.session)
    assert await ada.turns.retry_step(run.session, run.token, run.turn, after=2) == again
    assert await ada.everything(run.session) == before


async def test_repeat_by_a_writer_that_lost_its_lease_is_refused(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running")
    step = Step(messages=(draft("One"),))
    await ada.turns.append(run.session, run.token, run.turn, step)
    clock.advance(31)
    await ada.claim(run.session, OTHER_HOLDER)
    for write in (
        ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running"),
        ada.turns.append(run.session, run.token, run.turn, step),
        ada.turns.retry_step(run.session, run.token, run.turn, after=1),
        ada.turns.resume(run.session, run.token, run.turn, after=1),
    ):
        with pytest.raises(Fenced):
            await write


async def test_writer_that_lost_its_lease_does_not_hear_that_the_turn_ended_as_it_wanted(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    clock.advance(31)
    other = run._replace(lease=await ada.claim(run.session, OTHER_HOLDER))
    await ada.end(other, state="interrupted")
    await ada.claim(run.session, OTHER_HOLDER)
    with pytest.raises(Fenced):
        await ada.end(run, state="interrupted")


@pytest.mark.parametrize("after", [0, 3, 7])
async def test_step_is_retried_from_the_attempt_that_the_caller_knows(
    ada: Driver, after: int
) -> None:
    run = await ada.run()
    await ada.say(run, "One")
    before = await ada.everything(run.session)
    with pytest.raises(Conflict, match="attempt 2"):
        await ada.turns.retry_step(run.session, run.token, run.turn, after=after)
    assert await ada.everything(run.session) == before


async def test_resumed_turn_says_why_it_goes_on(ada: Driver) -> None:
    run = await ada.run()
    await ada.end(run, "Half", state="interrupted")
    run = run._replace(lease=await ada.claim(run.session))
    note = draft("Your answer broke off.", "note")

    def resume(after: int) -> Awaitable[Begun]:
        return ada.turns.resume(
            run.session, run.token, run.turn, after=after, messages=(note,), automatic=True
        )

    with pytest.raises(Conflict, match="attempt 1"):
        await resume(2)
    begun = await resume(1)
    assert await ada.texts(run.session) == ["Hello", "Half", "Your answer broke off."]
    assert (await ada.live(run.session))[-1].turn == run.turn
    before = await ada.everything(run.session)
    assert await resume(1) == begun
    assert await ada.everything(run.session) == before
    for after in (0, 2):
        with pytest.raises(Conflict):
            await resume(after)


async def test_open_calls_end_with_their_turn(ada: Driver) -> None:
    run = await ada.run()
    asked, ran, over = [(await ada.call_tool(run)).call for _ in range(3)]
    for state in ("running", "done"):
        await ada.turns.set_tool_call(run.session, run.token, run.turn, over, state)
    await ada.turns.set_tool_call(run.session, run.token, run.turn, ran, "running")
    new = ToolCallPart(new_tool_call_id(), "ls", "{}")
    end = TurnEnd(
        state="interrupted",
        messages=(
            Draft(new_message_id(), "assistant", (new,), partial=True),
            Draft(new_message_id(), "tool", (ToolResultPart(new.call, (), error=True),)),
        ),
        calls=(
            CallEnd(asked, "cancelled"),
            CallEnd(ran, "unknown"),
            CallEnd(new.call, "cancelled"),
            CallEnd(over, "done"),
        ),
    )
    revision = (await ada.sessions.get(run.session)).revision
    await ada.turns.end(run.session, run.token, run.turn, end)
    states = {call.call: call.state for call in await ada.turns.tool_calls(run.turn)}
    assert states == {asked: "cancelled", ran: "unknown", over: "done", new.call: "cancelled"}
    (recorded,) = (await ada.history.since(run.session, revision)).recorded
    updates = [event for event in recorded.events if isinstance(event, ToolCallUpdated)]
    assert updates == [
        ToolCallUpdated(new.call, "requested"),
        ToolCallUpdated(asked, "cancelled"),
        ToolCallUpdated(ran, "unknown"),
        ToolCallUpdated(new.call, "cancelled"),
    ]


async def test_call_that_can_not_end_so_keeps_the_turn_as_it_is(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    before = await ada.everything(run.session)
    for wrong, refusal in ((CallEnd(call, "unknown"), Conflict), (UNKNOWN_CALL, NotFound)):
        end = TurnEnd(state="cancelled", messages=(draft("Half"),), calls=(wrong,))
        with pytest.raises(refusal):
            await ada.turns.end(run.session, run.token, run.turn, end)
    assert await ada.everything(run.session) == before


UNKNOWN_CALL = CallEnd(new_tool_call_id(), "cancelled")


async def test_latest_turn_is_the_newest_in_the_history(ada: Driver, session: SessionId) -> None:
    assert await ada.turns.latest(session) is None
    await ada.submit(session, "Waits")
    assert await ada.turns.latest(session) is None
    first = await ada.start((await ada.queue.of(session))[0].id, await ada.claim(session))
    assert await ada.turns.latest(session) == await ada.turns.get(first.turn)
    await ada.end(first, "One")
    second = await ada.talk(session)
    await ada.submit(session, "Waits too")
    assert (found := await ada.turns.latest(session)) is not None
    assert found.id == second
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, second)
    assert (found := await ada.turns.latest(session)) is not None
    assert found.id == first.turn
    await ada.history.clear(session, lease.token)
    assert await ada.turns.latest(session) is None


async def test_turn_of_a_history_that_was_compacted_and_cleared_is_not_resumed(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    await ada.end(run, "Half", state="interrupted")
    await ada.compact(session)
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    with pytest.raises(Conflict):
        await ada.resume(run._replace(lease=lease))
    await ada.history.note(session, lease.token, draft("The workspace is gone.", "note"))
    with pytest.raises(Conflict, match="no longer part of the history"):
        await ada.resume(run._replace(lease=lease))


async def test_turn_that_was_cleared_is_the_latest_again_only_if_the_clear_is_taken_back(
    ada: Driver, session: SessionId
) -> None:
    turn = await ada.talk(session)
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    await ada.history.restore(session, lease.token)
    assert (found := await ada.turns.latest(session)) is not None
    assert found.id == turn
    await ada.history.clear(session, lease.token)
    await ada.history.note(session, lease.token, draft("The workspace is gone.", "note"))
    assert await ada.turns.latest(session) is None
    after = await ada.talk(session)
    assert (found := await ada.turns.latest(session)) is not None
    assert found.id == after
