"""Schedules in the store: a tick becomes one turn, whoever asks and however often."""

import asyncio

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import SessionId, new_schedule_id, new_turn_id
from roost.core.messages import TextPart
from roost.core.schedules import MOST, Kind, NewSchedule, Schedule, SchedulePatch, When
from roost.store.schedules import KEPT_ENDED, KEPT_RUNS, Started
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import CONFIG, Driver

pytestmark = pytest.mark.both

MINUTE, HOUR = 60, 3600


def schedule(spec: str = "1h", kind: Kind = "every", *, text: str = "Look!") -> NewSchedule:
    when = When(kind=kind, spec=spec, time_zone="UTC")
    return NewSchedule(id=new_schedule_id(), name="Looking", when=when, text=text)


async def fire_all(store: Store) -> list[Started | None]:
    due = (await store.ticks.look()).due
    return [await store.ticks.fire(user, each, CONFIG) for user, each in due]


async def finish(who: Driver, started: Started) -> None:
    lease = await who.claim(started.session)
    await who.end(await who.start(started.turn, lease), "Done")


async def states(who: Driver, made: Schedule) -> list[str]:
    return [run.state for run in await who.schedules.runs(made.id)]


async def test_a_schedule_is_kept_as_it_was_made(ada: Driver, session: SessionId) -> None:
    await ada.sessions.point("telegram:dm:1", session)
    new = replace(
        schedule("30 9 * * mon", "cron", text="Line\nanother"),
        model="p/m",
        toolset="chat",
        session=session,
        route="telegram:dm:1",
        missed="skip",
    )
    made = await ada.schedules.add(new)
    for name in new.__struct_fields__:
        assert getattr(made, name) == getattr(new, name)
    assert not made.paused
    assert await ada.schedules.get(new.id) == made
    assert await ada.schedules.all() == [made]


async def test_made_twice_it_is_one(ada: Driver, bob: Driver) -> None:
    new = schedule()
    made = await ada.schedules.add(new)
    assert await ada.schedules.add(new) == made
    assert await ada.schedules.all() == [made]
    with pytest.raises(InvalidInput, match="taken"):
        await bob.schedules.add(new)


async def test_nothing_is_due_before_its_time(store: Store, ada: Driver, clock: FakeClock) -> None:
    made = await ada.schedules.add(schedule("1h"))
    look = await store.ticks.look()
    assert not look.due
    assert made.due_at == clock.now() + HOUR * 1000
    assert look.wait == HOUR * 1000, "by the store's clock"
    clock.advance(HOUR - 0.001)
    assert not (await store.ticks.look()).due
    clock.advance(0.001)
    assert (await store.ticks.look()).due == [(ada.user.id, made)]


async def test_a_run_is_a_turn_in_a_session_of_its_own(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    (started,) = await fire_all(store)
    assert started is not None
    session = await ada.sessions.get(started.session)
    assert (session.origin, session.title, session.config) == ("schedule", "Looking", CONFIG)
    (turn,) = await ada.queue.of(started.session)
    assert (turn.id, turn.route, turn.parts[0]) == (started.turn, "schedule", TextPart("Look!"))
    (run,) = await ada.schedules.runs(made.id)
    assert (run.tick, run.turn, run.session) == (made.due_at, started.turn, started.session)
    assert run.state == "queued"
    assert (await ada.schedules.get(made.id)).due_at == clock.now() + HOUR * 1000


async def test_a_run_is_a_turn_in_the_session_that_was_named_for_a_route(
    store: Store, ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.sessions.point("telegram:dm:1", session)
    new = replace(schedule("1h"), session=session, route="telegram:dm:1")
    await ada.schedules.add(new)
    clock.advance(HOUR)
    (started,) = await fire_all(store)
    assert started is not None
    assert started.session == session
    assert [turn.route for turn in await ada.queue.of(session)] == ["telegram:dm:1"]


async def test_of_many_who_see_a_tick_one_runs_it(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    """As several servers would, each with what it read before any of them wrote."""
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    ((user, due),) = (await store.ticks.look()).due
    fired = await asyncio.gather(*[store.ticks.fire(user, due, CONFIG) for _ in range(8)])
    assert len({each for each in fired if each is not None}) == 1
    assert len(await ada.schedules.runs(made.id)) == 1
    assert len(await ada.sessions.page()) == 1


async def test_a_tick_that_was_seen_before_a_change_does_not_run(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    ((user, due),) = (await store.ticks.look()).due
    await ada.schedules.change(made.id, SchedulePatch(text="Listen!"))
    assert await store.ticks.fire(user, due, CONFIG) is None
    (started,) = await fire_all(store)
    assert started is not None
    assert [turn.parts[0] for turn in await ada.queue.of(started.session)] == [TextPart("Listen!")]
    await ada.schedules.remove(made.id)
    assert await store.ticks.fire(user, due, CONFIG) is None


async def test_after_a_long_absence_one_run_is_made_up_for(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(5.5 * HOUR)
    (started,) = await fire_all(store)
    assert started is not None
    assert not (await store.ticks.look()).due
    after = await ada.schedules.get(made.id)
    assert after.due_at == clock.now() + HOUR * 500
    assert await states(ada, made) == ["queued"]


async def test_what_was_missed_is_skipped_if_so_wished(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(replace(schedule("1h"), missed="skip"))
    clock.advance(HOUR + 61)
    assert await fire_all(store) == [None]
    assert await states(ada, made) == ["missed"]
    assert (await ada.schedules.get(made.id)).due_at == clock.now() + (HOUR - 61) * 1000
    assert await ada.sessions.page() == []


async def test_a_little_late_is_not_missed(store: Store, ada: Driver, clock: FakeClock) -> None:
    made = await ada.schedules.add(replace(schedule("1h"), missed="skip"))
    clock.advance(HOUR + 60)
    assert await fire_all(store) != [None]
    assert await states(ada, made) == ["queued"]


async def test_a_run_is_left_out_while_the_one_before_goes_on(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    (first,) = await fire_all(store)
    clock.advance(HOUR)
    assert await fire_all(store) == [None]
    assert await states(ada, made) == ["overlapped", "queued"]
    assert first is not None
    await finish(ada, first)
    clock.advance(HOUR)
    assert await fire_all(store) != [None]
    assert await states(ada, made) == ["queued", "overlapped", "completed"]


async def test_a_deleted_run_holds_up_nothing(store: Store, ada: Driver, clock: FakeClock) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    (first,) = await fire_all(store)
    assert first is not None
    await ada.sessions.delete(first.session)
    clock.advance(HOUR)
    assert await fire_all(store) != [None]
    assert await states(ada, made) == ["queued", "gone"]


async def test_without_its_session_it_runs_in_sessions_of_its_own(
    store: Store, ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    made = await ada.schedules.add(replace(schedule("1h"), session=session))
    await ada.sessions.delete(session)
    assert (await ada.schedules.get(made.id)).session is None
    clock.advance(HOUR)
    (started,) = await fire_all(store)
    assert started is not None
    assert started.session != session


async def test_once_is_over_when_it_has_run(store: Store, ada: Driver, clock: FakeClock) -> None:
    made = await ada.schedules.add(schedule("2027-01-15T08:30", "once"))
    assert made.due_at == clock.now() + 30 * MINUTE * 1000
    clock.advance(30 * MINUTE)
    assert await fire_all(store) != [None]
    assert (await ada.schedules.get(made.id)).due_at is None
    assert (await store.ticks.look()).wait is None


async def test_what_has_passed_is_refused(ada: Driver) -> None:
    with pytest.raises(InvalidInput, match="passed"):
        await ada.schedules.add(schedule("2027-01-15T08:00", "once"))


async def test_what_is_paused_does_not_run_and_goes_on_from_now(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    await ada.schedules.change(made.id, SchedulePatch(paused=True))
    clock.advance(2.5 * HOUR)
    look = await store.ticks.look()
    assert (look.due, look.wait) == ([], None)
    resumed = await ada.schedules.change(made.id, SchedulePatch(paused=False))
    assert resumed.due_at == clock.now() + HOUR * 500
    assert await states(ada, made) == []


async def test_what_was_paused_past_its_time_can_not_go_on(ada: Driver, clock: FakeClock) -> None:
    made = await ada.schedules.add(schedule("2027-01-15T08:30", "once"))
    await ada.schedules.change(made.id, SchedulePatch(paused=True))
    clock.advance(HOUR)
    with pytest.raises(InvalidInput, match="passed"):
        await ada.schedules.change(made.id, SchedulePatch(paused=False))


async def test_other_times_count_from_now_and_other_words_change_no_time(
    ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(10 * MINUTE)
    renamed = await ada.schedules.change(made.id, SchedulePatch(name="Other"))
    assert renamed.due_at == made.due_at
    when = When(kind="cron", spec="0 9 * * *", time_zone="UTC")
    moved = await ada.schedules.change(made.id, SchedulePatch(when=when))
    assert moved.due_at == clock.now() + 50 * MINUTE * 1000
    assert await ada.schedules.get(made.id) == moved


async def test_disabled_users_schedules_wait(
    store: Store, ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    made = await bob.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    ((user, due),) = (await store.ticks.look()).due
    await store.users.change(bob.user.id, disabled=True)
    look = await store.ticks.look()
    assert (look.due, look.wait) == ([], None)
    assert await store.ticks.fire(user, due, CONFIG) is None
    assert await bob.schedules.runs(made.id) == []
    await store.users.change(bob.user.id, disabled=False)
    assert await fire_all(store) != [None]


async def test_run_now_is_once_for_each_asking(ada: Driver, clock: FakeClock) -> None:
    made, turn = await ada.schedules.add(schedule("1h")), new_turn_id()
    first = await ada.schedules.run(made.id, turn, CONFIG)
    assert first.turn == turn
    assert await ada.schedules.run(made.id, turn, CONFIG) == first
    assert len(await ada.schedules.runs(made.id)) == 1
    with pytest.raises(Conflict, match="still going"):
        await ada.schedules.run(made.id, new_turn_id(), CONFIG)
    await finish(ada, first)
    await ada.schedules.run(made.id, new_turn_id(), CONFIG)
    runs = await ada.schedules.runs(made.id)
    assert [run.state for run in runs] == ["queued", "completed"]
    assert (await ada.schedules.get(made.id)).due_at == made.due_at


async def test_run_by_hand_at_the_very_time_is_that_times_run(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    made = await ada.schedules.add(schedule("1h"))
    clock.advance(HOUR)
    by_hand = await ada.schedules.run(made.id, new_turn_id(), CONFIG)
    assert await fire_all(store) == [by_hand]
    assert (await ada.schedules.get(made.id)).due_at == clock.now() + HOUR * 1000
    assert len(await ada.schedules.runs(made.id)) == 1


async def test_places_have_to_be_ones_own(ada: Driver, bob: Driver, session: SessionId) -> None:
    await ada.sessions.point("telegram:dm:1", session)
    for wrong in (
        replace(schedule(), session=session),
        replace(schedule(), route="telegram:dm:1"),
    ):
        with pytest.raises(NotFound):
            await bob.schedules.add(wrong)
    made = await bob.schedules.add(schedule())
    for patch in (SchedulePatch(session=session), SchedulePatch(route="telegram:dm:1")):
        with pytest.raises(NotFound):
            await bob.schedules.change(made.id, patch)


async def test_there_is_a_most_of_those_that_are_to_run(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    once = schedule("2027-01-15T08:30", "once")
    made = await ada.schedules.add(once)
    await asyncio.gather(*[ada.schedules.add(schedule("1h")) for _ in range(MOST - 1)])
    with pytest.raises(Conflict, match=str(MOST)):
        await ada.schedules.add(schedule())
    clock.advance(30 * MINUTE)
    await fire_all(store)
    await ada.schedules.add(schedule())
    again = When(kind="every", spec="1h", time_zone="UTC")
    with pytest.raises(Conflict, match=str(MOST)):
        await ada.schedules.change(made.id, SchedulePatch(when=again))


async def test_old_runs_and_old_schedules_go(
    store: Store, ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    made = await ada.schedules.add(replace(schedule("1m"), missed="skip"))
    for _ in range(KEPT_RUNS + 5):
        clock.advance(2 * MINUTE + 1)
        await fire_all(store)
    runs = await ada.schedules.runs(made.id, limit=1000)
    assert len(runs) == KEPT_RUNS
    page = await ada.schedules.runs(made.id, before=runs[9].tick, limit=10)
    assert page == runs[10:20]
    await ada.schedules.remove(made.id)
    new = [schedule("2027-02-15T08:30", "once") for _ in range(KEPT_ENDED)]
    await asyncio.gather(*[ada.schedules.add(each) for each in new])
    clock.advance(60 * 24 * HOUR)
    while await fire_all(store):
        pass
    await ada.schedules.add(schedule("2027-05-15T08:30", "once"))
    clock.advance(60 * 24 * HOUR)
    await fire_all(store)
    await ada.schedules.add(schedule("1h"))
    ended = [each for each in await ada.schedules.all() if each.due_at is None]
    assert len(ended) == KEPT_ENDED
