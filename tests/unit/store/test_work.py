"""Work across users: who is next, what was left behind, which deltas join on."""

import asyncio

from roost.core.events import Deltas, TextDelta
from roost.core.ids import SessionId
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, deltas


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


async def test_orphans_are_running_turns_that_nobody_holds(ada: Driver, clock: FakeClock) -> None:
    left, parked = await ada.run(), await ada.run()
    await ada.park(parked)
    clock.advance(20)
    kept = await ada.run()
    assert await ada.store.work.orphans() == []
    clock.advance(10)
    (orphan,) = await ada.store.work.orphans()
    assert (orphan.user, orphan.session, orphan.turn) == (ada.user.id, left.session, left.turn)
    assert kept.turn != orphan.turn


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
