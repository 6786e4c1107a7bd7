"""Work across users: who is next, what was left behind, which deltas join on."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from roost.core.errors import Fenced
from roost.core.events import Deltas, TextDelta
from roost.core.ids import SessionId, Token, TurnId
from roost.core.turns import CallEnd, EndState, TurnEnd
from roost.store.leases import session_lease
from roost.store.store import Store
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock
from tests.store_driver import (
    HOLDER,
    OTHER_HOLDER,
    Driver,
    Run,
    deltas,
    draft,
    new_session,
    new_turn,
)

pytestmark = pytest.mark.both


async def test_message_that_has_waited_longest_is_next(
    ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    expected: list[SessionId] = []
    for who in (bob, ada, bob):
        session = await who.session()
        await who.submit(session)
        expected.append(session)
        clock.advance(1)
    claims = [await ada.store.work.claim_waiting(f"host:1:{n}:x", limit=2) for n in range(3)]
    claimed = [each for claim in claims for each in claim]
    assert [each.session.id for each in claimed] == expected
    assert [each.session.user for each in claimed] == [bob.user.id, ada.user.id, bob.user.id]
    assert [len(claim) for claim in claims] == [2, 1, 0]


async def test_order_is_that_of_arrival_whatever_the_ids_say(ada: Driver, clock: FakeClock) -> None:
    second, first = new_turn(), new_turn()
    for turn in (first, second):
        await ada.queue.submit(await ada.session(), turn)
        clock.advance(1)
    claimed = [await ada.store.work.claim_waiting(f"host:1:{n}:x", limit=1) for n in range(2)]
    assert [each.turn.id for (each,) in claimed] == [first.id, second.id]


async def test_something_waits_until_it_is_worked_on(ada: Driver) -> None:
    waits = ada.store.work.waits_among
    quiet, session = await ada.session(), await ada.session()
    assert not await waits([])
    turn = await ada.submit(session)
    assert await waits([quiet, session])
    assert not await waits([quiet])
    run = await ada.start(turn, await ada.claim(session))
    await ada.submit(session)
    assert not await waits([session]), "it is behind what runs"
    await ada.park(run)
    assert await waits([session]), "it may have its answers"


async def test_many_workers_never_get_the_same_session(ada: Driver) -> None:
    sessions = {await ada.session() for _ in range(10)}
    for session in sessions:
        await ada.submit(session)
    claims = await asyncio.gather(
        *[ada.store.work.claim_waiting(f"host:1:{n}:x", limit=1) for n in range(30)]
    )
    got = [claimed.session.id for claim in claims for claimed in claim]
    assert sorted(got) == sorted(sessions)


async def test_session_that_is_busy_waiting_or_held_is_passed_over(ada: Driver) -> None:
    running, parked = await ada.run(), await ada.run()
    await ada.park(parked)
    held = await ada.session()
    await ada.claim(held)
    gone = await ada.session()
    for session in (running.session, parked.session, held, gone):
        await ada.submit(session)
    await ada.sessions.delete(gone)
    assert await ada.store.work.claim_waiting("host:1:a:x") == []
    await ada.release(held)
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:y")
    assert claimed.session.id == held


async def test_claim_hands_over_all_it_takes_to_begin(ada: Driver, clock: FakeClock) -> None:
    session = await ada.session()
    steer = new_turn("Faster", steer=True)
    await ada.queue.submit(session, steer)
    clock.advance(1)
    await ada.submit(session)
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:x")
    assert claimed.session == await ada.sessions.get(session)
    assert claimed.turn == await ada.turns.get(steer.id)
    assert claimed.lease == await ada.store.leases.holder(session_lease(session))
    assert (claimed.lease.holder, claimed.lease.token) == ("host:1:a:x", claimed.session.token)
    await ada.start(claimed.turn.id, claimed.lease)


async def test_session_is_claimed_for_the_message_that_runs_first(
    ada: Driver, clock: FakeClock
) -> None:
    session = await ada.session()
    past = await ada.talk(session)
    await ada.submit(session, "Waits")
    clock.advance(1)
    lease = await ada.claim(session)
    edited = new_turn("Instead")
    await ada.history.edit(session, lease.token, past, edited)
    await ada.store.leases.release(lease)
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:x")
    assert claimed.turn.id == edited.id


async def test_claim_asked_again_gives_what_it_holds_and_what_is_new(
    ada: Driver, clock: FakeClock
) -> None:
    first = await ada.session()
    await ada.submit(first)
    (claimed,) = await ada.store.work.claim_waiting("host:1:a:x")
    second = await ada.session()
    await ada.submit(second)
    clock.advance(1)
    again = await ada.store.work.claim_waiting("host:1:a:x")
    assert [each.session.id for each in again] == [first, second]
    assert again[0] == claimed
    assert await ada.store.work.claim_waiting("host:1:b:x") == []
    clock.advance(30)
    (later, _) = await ada.store.work.claim_waiting("host:1:b:y")
    assert later.lease.token == claimed.lease.token + 1


async def test_claim_asked_again_lets_go_of_what_needs_no_work_any_more(ada: Driver) -> None:
    emptied, begun = await ada.session(), await ada.session()
    turn = await ada.submit(emptied)
    await ada.submit(begun)
    claims = await ada.store.work.claim_waiting("host:1:a:x")
    await ada.queue.remove(turn)
    await ada.start(claims[1].turn.id, claims[1].lease)
    assert await ada.store.work.claim_waiting("host:1:a:x") == []
    assert await ada.store.leases.holder(session_lease(emptied)) is None
    assert await ada.store.leases.holder(session_lease(begun)) == claims[1].lease


async def test_claim_without_a_holder_is_none(ada: Driver) -> None:
    await ada.submit(await ada.session())
    assert await ada.store.work.claim_waiting("") == []


async def test_answered_turns_come_before_new_ones(ada: Driver) -> None:
    queued = await ada.session()
    await ada.submit(queued)
    run = await ada.run()
    asked = await ada.park(run)
    await ada.submit(run.session, "Next")
    await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    first, second = await ada.store.work.claim_waiting("host:1:a:x")
    assert (first.turn.id, first.turn.state) == (run.turn, "waiting")
    assert (second.session.id, second.turn.state) == (queued, "queued")
    with pytest.raises(Fenced):
        await ada.end(run, state="cancelled")


async def test_no_more_is_claimed_than_was_asked_for(ada: Driver) -> None:
    run = await ada.run()
    asked = await ada.park(run)
    await ada.approvals.answer(asked.id, "approved", answer=None, by="Ada", on="web")
    for _ in range(3):
        await ada.submit(await ada.session())
    for number, expected in enumerate((2, 2, 0)):
        claimed = await ada.store.work.claim_waiting(f"host:1:{number}:x", limit=2)
        assert len(claimed) == expected


async def test_nothing_is_begun_for_a_user_who_was_disabled(store: Store, bob: Driver) -> None:
    running, parked = await bob.run(), await bob.run()
    asked = await bob.park(parked)
    await bob.approvals.answer(asked.id, "approved", answer=None, by="Bob", on="web")
    broken_off = await interrupted(bob)
    queued, free = await bob.session(), await bob.session()
    await bob.submit(queued)
    assert await store.work.stops_asked([running.session]) == frozenset()
    await store.users.change(bob.user.id, disabled=True)
    assert await store.work.stops_asked([running.session]) == {running.turn}
    sent = await store.work.submit(bob.user.id, free, new_turn(), HOLDER)
    assert sent.claimed is None
    assert await store.work.claim_waiting(HOLDER) == []
    assert await continuable(bob) == []
    await store.users.change(bob.user.id, disabled=False)
    claimed = await store.work.claim_waiting(HOLDER)
    assert {each.session.id for each in claimed} == {parked.session, queued, free}
    assert await continuable(bob) == [broken_off.turn]


async def test_orphans_are_running_turns_that_nobody_holds(ada: Driver, clock: FakeClock) -> None:
    left, parked = await ada.run(), await ada.run()
    await ada.park(parked)
    clock.advance(20)
    kept = await ada.run()
    assert await ada.store.work.orphans() == []
    clock.advance(10)
    (orphan,) = await ada.store.work.orphans()
    assert (orphan.user, orphan.session, orphan.turn) == (ada.user.id, left.session, left.turn)
    assert orphan.active_at == (await ada.sessions.get(left.session)).active_at
    assert kept.turn != orphan.turn
    await ada.sessions.delete(left.session)
    assert await ada.store.work.orphans() == []


async def test_run_that_does_not_join_on_is_left_out(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    for first in (1, 3, 5, 0, -1):
        assert (await ada.stream(run, "xyz", first=first)).stored == {run.turn: 3}
    assert await ada.streamed(run.turn) == "abc"
    assert (await ada.stream(run, "def", first=4)).stored == {run.turn: 6}
    assert await ada.streamed(run.turn) == "abcdef"


async def test_merged_deltas_keep_their_first_and_last_seq(ada: Driver) -> None:
    run = await ada.run()
    merged = Deltas(1, 50, (TextDelta("fifty"),))
    tick = await ada.store.work.tick([Checkpoint(run.turn, 1, run.token, merged)], [])
    assert tick.stored == {run.turn: 50}
    await ada.stream(run, "x", first=51)
    assert await ada.turns.deltas(run.turn) == [merged, deltas("x", first=51)]


async def test_text_that_can_not_be_encoded_fails_nobody_else(ada: Driver) -> None:
    good, bad = await ada.run(), await ada.run()
    checkpoints = [
        Checkpoint(bad.turn, 1, bad.token, Deltas(1, 1, (TextDelta("\ud800"),))),
        Checkpoint(good.turn, 1, good.token, deltas("abc")),
    ]
    tick = await ada.store.work.tick(checkpoints, [good.lease, bad.lease])
    assert (tick.stored, tick.lost) == ({good.turn: 3}, frozenset())
    assert (await ada.store.work.tick(checkpoints[:1], [])).stored == {}
    assert await ada.streamed(good.turn) == "abc"
    assert await ada.streamed(bad.turn) == ""


async def test_empty_tick_is_harmless(ada: Driver) -> None:
    tick = await ada.store.work.tick([], [])
    assert (tick.stored, tick.lost) == ({}, frozenset())


async def test_deltas_survive_the_sweep_while_their_stream_is_open(ada: Driver) -> None:
    long, short, young = await ada.run(), await ada.run(), await ada.run()
    for seq in range(1, 21):
        await ada.stream(long, "a", first=seq)
        await ada.stream(short, "b", first=seq)
    await ada.end(short, "b" * 20)
    await ada.stream(young, "y")
    await ada.indexed()  # background work has run
    assert await ada.streamed(long.turn) == "a" * 20
    await ada.stream(long, "z", first=21)
    assert await ada.streamed(long.turn) == "a" * 20 + "z"
    assert await ada.streamed(young.turn) == "y"


async def interrupted(ada: Driver) -> Run:
    run = await ada.run()
    await ada.end(run, "Half", state="interrupted")
    return run


async def continuable(ada: Driver, window: float = 60) -> list[TurnId]:
    return [orphan.turn for orphan in await ada.store.work.continuable(window)]


async def test_turn_that_was_interrupted_lately_may_go_on_once(
    ada: Driver, clock: FakeClock
) -> None:
    run = await interrupted(ada)
    clock.advance(59)
    (orphan,) = await ada.store.work.continuable(60)
    assert (orphan.user, orphan.session, orphan.turn) == (ada.user.id, run.session, run.turn)
    run = run._replace(lease=await ada.claim(run.session))
    await ada.turns.resume(run.session, run.token, run.turn, after=1, automatic=True)
    assert await continuable(ada) == []
    await ada.end(run, "Half again", state="interrupted")
    assert await continuable(ada) == []


async def test_turn_that_a_person_continued_may_still_go_on_once(ada: Driver) -> None:
    run = await interrupted(ada)
    run = run._replace(lease=await ada.claim(run.session))
    await ada.resume(run)
    await ada.end(run, "Half again", state="interrupted")
    assert await continuable(ada) == [run.turn]


async def test_turn_interrupted_long_ago_stays_as_it_is(ada: Driver, clock: FakeClock) -> None:
    await interrupted(ada)
    clock.advance(60)
    assert await continuable(ada) == []


Past = Callable[[Driver, Run], Awaitable[object]]


async def undone(ada: Driver, run: Run) -> None:
    lease = await ada.claim(run.session)
    await ada.history.undo(run.session, lease.token, run.turn)


async def cleared(ada: Driver, run: Run) -> None:
    lease = await ada.claim(run.session)
    await ada.history.clear(run.session, lease.token)


async def compacted_and_cleared(ada: Driver, run: Run) -> None:
    await ada.compact(run.session)
    await cleared(ada, run)


async def compacted_cleared_and_noted(ada: Driver, run: Run) -> None:
    await ada.compact(run.session)
    lease = await ada.claim(run.session)
    await ada.history.clear(run.session, lease.token)
    await ada.history.note(run.session, lease.token, draft("The workspace is gone.", "note"))


async def ended(ada: Driver, run: Run) -> None:
    await ada.sessions.end(run.session, (await ada.claim(run.session)).token)


PAST: dict[str, Past] = {
    "undone": undone,
    "cleared": cleared,
    "compacted and cleared": compacted_and_cleared,
    "compacted, cleared and noted": compacted_cleared_and_noted,
    "followed": lambda ada, run: ada.run(run.session),
    "ended": ended,
    "deleted": lambda ada, run: ada.sessions.delete(run.session),
}


@pytest.mark.parametrize("name", PAST)
async def test_turn_that_is_no_longer_the_end_of_its_history_does_not_go_on(
    ada: Driver, name: str
) -> None:
    run = await interrupted(ada)
    assert await continuable(ada) == [run.turn]
    await PAST[name](ada, run)
    assert await continuable(ada) == []


async def test_turn_that_was_compacted_may_go_on(ada: Driver) -> None:
    run = await interrupted(ada)
    await ada.compact(run.session)
    assert await continuable(ada) == [run.turn]


async def test_turn_may_go_on_after_a_clear_that_was_taken_back_or_came_before_it(
    ada: Driver,
) -> None:
    run = await interrupted(ada)
    await ada.compact(run.session)
    lease = await ada.claim(run.session)
    await ada.history.clear(run.session, lease.token)
    await ada.history.restore(run.session, lease.token)
    assert await continuable(ada) == [run.turn]
    await ada.history.clear(run.session, lease.token)
    later = await ada.run(run.session)
    await ada.end(later, "Half", state="interrupted")
    assert await continuable(ada) == [later.turn]


async def test_turn_with_a_call_in_doubt_does_not_go_on(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    await ada.turns.set_tool_call(run.session, run.token, run.turn, call, "running")
    end = TurnEnd(state="interrupted", calls=(CallEnd(call, "unknown"),))
    await ada.turns.end(run.session, run.token, run.turn, end)
    assert await continuable(ada) == []


async def test_turn_that_goes_on_is_not_to_stop_any_more(ada: Driver) -> None:
    run = await ada.run()
    await ada.turns.ask_to_stop(run.session, run.turn)
    assert await ada.store.work.stops_asked([run.session]) == {run.turn}
    await ada.end(run, "Half", state="cancelled")
    await ada.resume(run._replace(lease=await ada.claim(run.session)))
    assert await ada.store.work.stops_asked([run.session]) == frozenset()


async def test_turn_that_was_to_stop_when_its_server_died_does_not_go_on(ada: Driver) -> None:
    run = await ada.run()
    assert await ada.turns.ask_to_stop(run.session, run.turn) == run.turn
    await ada.end(run, "Half", state="interrupted")
    assert await continuable(ada) == []


@pytest.mark.parametrize("state", ["failed", "cancelled", "completed"])
async def test_turn_that_ended_otherwise_does_not_go_on(ada: Driver, state: EndState) -> None:
    await ada.end(await ada.run(), "Done", state=state)
    assert await continuable(ada) == []


async def test_copy_of_an_interrupted_turn_does_not_go_on_by_itself(
    ada: Driver, bob: Driver
) -> None:
    run = await interrupted(ada)
    await ada.branches.branch(run.session, new_session())
    await bob.transfer.load(await ada.transfer.export(run.session))
    assert await continuable(ada) == [run.turn]


async def test_message_to_a_free_session_claims_it_in_the_same_commit(
    store: Store, ada: Driver, session: SessionId
) -> None:
    new = new_turn("Hello")
    first = await store.work.submit(ada.user.id, session, new, HOLDER)
    assert first.claimed is not None
    assert first.claimed.turn == first.turn
    assert first.claimed.time_zone == ada.user.time_zone
    held = await store.leases.holder(session_lease(session))
    assert held == first.claimed.lease
    await ada.turns.start(session, first.claimed.lease.token, new.id, draft("Hello", "user"))


async def test_message_to_a_session_in_use_waits(
    store: Store, ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    waits = await store.work.submit(ada.user.id, session, new_turn("Next"), OTHER_HOLDER)
    assert waits.claimed is None
    await ada.end(run, "Done")
    behind = await store.work.submit(ada.user.id, session, new_turn("Last"), OTHER_HOLDER)
    assert behind.claimed is None  # the one before it is the first to run
    (claimed,) = await store.work.claim_waiting(HOLDER)
    assert claimed.turn.id == waits.turn.id


async def test_message_to_a_session_that_waits_for_a_person_waits_too(
    store: Store, ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    await ada.park(run)
    waits = await store.work.submit(ada.user.id, session, new_turn("Next"), OTHER_HOLDER)
    assert waits.claimed is None
    assert await store.leases.holder(session_lease(session)) is None


async def test_message_sent_again_by_its_claimer_is_the_same_claim(
    store: Store, ada: Driver, session: SessionId
) -> None:
    new = new_turn("Hello", key="k")
    first = await store.work.submit(ada.user.id, session, new, HOLDER)
    assert await store.work.submit(ada.user.id, session, new, HOLDER) == first
    other = await store.work.submit(ada.user.id, session, new, OTHER_HOLDER)
    assert (other.turn, other.claimed) == (first.turn, None)


async def test_nothing_streams_into_a_deleted_session_whatever_its_token(ada: Driver) -> None:
    run = await ada.run()
    await ada.stream(run, "abc")
    await ada.sessions.delete(run.session)
    for token in (run.token, Token(run.token + 1), Token(run.token + 2)):
        late = Checkpoint(run.turn, 1, token, deltas("def", first=4))
        assert (await ada.store.work.tick([late], [])).stored == {}
