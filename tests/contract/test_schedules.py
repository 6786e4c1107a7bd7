"""Schedules at work: each tick is one turn, at its time, over restarts and lost answers."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from roost.core.clock import SystemClock
from roost.core.config import ModelsConfig
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import new_schedule_id, new_turn_id
from roost.core.outbound import Said, decode_outbound
from roost.core.schedules import (
    Kind,
    Missed,
    NewSchedule,
    Schedule,
    SchedulePatch,
    ScheduleRun,
    When,
)
from roost.core.turns import ENDED
from roost.core.users import Profile
from roost.runtime.scheduler import Scheduler
from roost.testing import faults
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import ToolContext
from tests.engine import ASKS, Engine, FunctionTool, eventually, started

pytestmark = pytest.mark.both

HOUR = 3600
ROUTE = "telegram:dm:42"


async def _act(arguments: str, context: ToolContext) -> str:
    return "Done."


CAREFUL = FunctionTool("careful", _act, asks=ASKS)


@pytest.fixture
async def engine(folder: Path, server: ModelServer, clock: FakeClock) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=clock, tools=(CAREFUL,))) as engine:
        yield engine


def new(
    spec: str = "1h", kind: Kind = "every", *, zone: str = "UTC", missed: Missed = "once"
) -> NewSchedule:
    when = When(kind=kind, spec=spec, time_zone=zone)
    return NewSchedule(
        id=new_schedule_id(), name="News", when=when, text="Any news?", missed=missed
    )


def advance(engine: Engine, seconds: float) -> None:
    """Time passes, and the timer goes off."""
    assert isinstance(engine.clock, FakeClock)
    engine.clock.advance(seconds)
    engine.parts.alarm.set()


async def ended(engine: Engine, made: Schedule, number: int) -> list[ScheduleRun]:
    """So many runs, once all of them are over; the newest first."""

    async def over() -> list[ScheduleRun]:
        runs = list(await engine.account.schedules.runs(made.id))
        going = [run for run in runs if run.turn is not None and run.state not in ENDED]
        return runs if len(runs) >= number and not going else []

    runs = await eventually(over)
    assert len(runs) == number
    return runs


async def seen(engine: Engine, made: Schedule, *states: str) -> bool:
    runs = await engine.account.schedules.runs(made.id)
    return [run.state for run in runs] == [*states]


async def looked(engine: Engine) -> None:
    """The scheduler has looked at what there is: it has run what is due, and waits."""
    probe = await engine.account.schedules.add(new("1m"))
    await engine.account.schedules.run(probe.id)
    await ended(engine, probe, 1)
    await engine.account.schedules.remove(probe.id)

    async def idle() -> bool:
        return not (await engine.store.ticks.look()).due

    await eventually(idle)


# At its time.


async def test_what_is_due_is_said_and_answered(engine: Engine, server: ModelServer) -> None:
    made = await engine.account.schedules.add(new("1h"))
    server.plan(say("None."))
    advance(engine, HOUR)
    (run,) = await ended(engine, made, 1)
    assert run.state == "completed"
    assert run.session is not None
    assert await engine.texts(run.session) == ["Any news?", "None."]
    session = await engine.account.session(run.session)
    assert (session.origin, session.title) == ("schedule", "News")
    assert session.unread


async def test_each_time_is_a_session_of_its_own(engine: Engine) -> None:
    made = await engine.account.schedules.add(new("1h"))
    for number in (1, 2, 3):
        advance(engine, HOUR)
        await ended(engine, made, number)
    runs = await engine.account.schedules.runs(made.id)
    assert len({run.session for run in runs}) == 3


async def test_in_a_named_session_it_goes_on_with_what_was_said(
    engine: Engine, server: ModelServer
) -> None:
    session = await engine.session()
    await engine.say(session, "Hello")
    made = await engine.account.schedules.add(replace(new("1h"), session=session))
    advance(engine, HOUR)
    await ended(engine, made, 1)
    assert await engine.texts(session) == ["Hello", "Good day.", "Any news?", "Good day."]


async def test_its_answer_goes_to_the_outbox_of_its_route_once(
    engine: Engine, server: ModelServer
) -> None:
    await engine.account.point(ROUTE, await engine.session())
    made = await engine.account.schedules.add(replace(new("1h"), route=ROUTE))
    server.plan(say("None."))
    advance(engine, HOUR)
    (run,) = await ended(engine, made, 1)
    entry = await engine.store.outbox.next(ROUTE)
    assert entry is not None
    assert (entry.turn, entry.user) == (run.turn, engine.owner.id)
    said = decode_outbound(entry.body)
    assert isinstance(said, Said)
    assert said.text == "None."


async def test_the_timer_goes_off_by_itself(folder: Path, server: ModelServer) -> None:
    async with started(Engine(folder, server, clock=SystemClock())) as engine:
        at = datetime.now(UTC) + timedelta(seconds=2)
        made = await engine.account.schedules.add(new(at.isoformat(), "once"))
        (run,) = await ended(engine, made, 1)
        assert run.state == "completed"
        assert run.created_at >= round(at.timestamp() * 1000)


async def test_times_are_the_users_where_no_zone_is_named(engine: Engine) -> None:
    users = engine.store.users
    await users.change(engine.owner.id, Profile(time_zone="Asia/Tokyo"))
    made = await engine.account.schedules.add(new("0 9 * * *", "cron", zone=""))
    assert made.when.time_zone == "Asia/Tokyo"
    assert made.due_at is not None
    assert made.due_at % 86_400_000 == 0  # nine there is midnight in UTC


async def test_across_a_change_of_clocks_it_is_once_a_day(
    folder: Path, server: ModelServer
) -> None:
    """Half past two comes twice on the 25th of October, and not at all on the 28th of March."""
    for since in ("2026-10-24T12:00+00:00", "2027-03-27T12:00+00:00"):
        clock = FakeClock(round(datetime.fromisoformat(since).timestamp() * 1000))
        async with started(Engine(folder / since[:4], server, clock=clock)) as engine:
            made = await engine.account.schedules.add(
                new("30 2 * * *", "cron", zone="Europe/Berlin")
            )
            for number in range(1, 25):
                advance(engine, HOUR)
                await looked(engine)
                runs = await engine.account.schedules.runs(made.id)
                assert len(runs) <= 1, f"after {number} hours"
            await ended(engine, made, 1)


# Once.


async def test_a_tick_at_the_very_moment_of_a_restart_is_one_run(
    engine: Engine, clock: FakeClock
) -> None:
    made = await engine.account.schedules.add(new("1h", missed="skip"))
    await engine.stop()
    clock.advance(HOUR)
    await engine.start()
    await ended(engine, made, 1)
    await engine.restart()
    await looked(engine)
    (run,) = await ended(engine, made, 1)
    assert (run.state, run.tick) == ("completed", made.due_at)


@pytest.mark.parametrize("place", ["store.commit.before", "store.commit.after"])
async def test_a_write_that_fails_or_whose_answer_is_lost_is_one_run(
    engine: Engine, place: str
) -> None:
    made = await engine.account.schedules.add(new("1h"))
    with faults.failing(place):
        advance(engine, HOUR)
        (run,) = await ended(engine, made, 1)
    assert run.state == "completed"
    assert len(await engine.account.sessions()) == 1


async def test_with_several_schedulers_a_tick_is_one_run(engine: Engine) -> None:
    """As several servers on one store have one each."""
    others = [Scheduler(engine.parts) for _ in range(3)]
    made = await engine.account.schedules.add(new("1h"))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in others]
        for number in (1, 2, 3):
            advance(engine, HOUR)
            await ended(engine, made, number)
        for task in tasks:
            task.cancel()
    assert len(await engine.account.sessions()) == 3


async def test_a_run_that_a_crash_cut_short_goes_on_and_is_not_run_again(
    engine: Engine, server: ModelServer
) -> None:
    made = await engine.account.schedules.add(new("1h"))
    server.plan(say("Half an answer") + stall())
    advance(engine, HOUR)
    await eventually(lambda: seen(engine, made, "running"))
    (run,) = await engine.account.schedules.runs(made.id)
    assert run.session is not None
    await engine.streamed(run.session, "answer")
    await engine.parts.checkpoints.flush()
    await engine.crash()
    await engine.start()
    await eventually(lambda: seen(engine, made, "completed"))
    assert [each.turn for each in await engine.account.schedules.runs(made.id)] == [run.turn]


async def test_what_was_missed_is_made_up_for_once_or_skipped(
    engine: Engine, clock: FakeClock
) -> None:
    once = await engine.account.schedules.add(new("1h"))
    skip = await engine.account.schedules.add(new("1h", missed="skip"))
    await engine.stop()
    clock.advance(7.5 * HOUR)
    await engine.start()
    (made_up,) = await ended(engine, once, 1)
    assert (made_up.state, made_up.tick) == ("completed", once.due_at)
    (skipped,) = await ended(engine, skip, 1)
    assert (skipped.state, skipped.turn) == ("missed", None)
    for made in (once, skip):
        assert (await engine.account.schedules.get(made.id)).due_at == clock.now() + HOUR * 500


async def test_a_run_that_still_goes_on_is_not_joined_by_the_next(
    engine: Engine, server: ModelServer
) -> None:
    """One that waits for a person goes on, too."""
    made = await engine.account.schedules.add(new("1h"))
    server.plan(call("careful", {}))
    advance(engine, HOUR)

    await eventually(lambda: seen(engine, made, "waiting"))
    advance(engine, HOUR)
    await eventually(lambda: seen(engine, made, "overlapped", "waiting"))
    with pytest.raises(Conflict, match="still going"):
        await engine.account.schedules.run(made.id)
    _, first = await engine.account.schedules.runs(made.id)
    assert first.session is not None
    await engine.account.cancel(first.session)
    advance(engine, HOUR)
    await eventually(lambda: seen(engine, made, "completed", "overlapped", "cancelled"))


# What people do.


async def test_run_now_is_one_run_for_each_asking(engine: Engine) -> None:
    made, id = await engine.account.schedules.add(new("1h")), new_turn_id()
    await engine.account.schedules.change(made.id, SchedulePatch(paused=True))
    turn = await engine.account.schedules.run(made.id, id=id)
    assert (turn.id, turn.route) == (id, "schedule")
    assert (await engine.account.schedules.run(made.id, id=id)).id == id
    (run,) = await ended(engine, made, 1)
    assert run.turn == id


async def test_what_is_paused_waits_and_goes_on(engine: Engine) -> None:
    made = await engine.account.schedules.add(new("1h"))
    await engine.account.schedules.change(made.id, SchedulePatch(paused=True))
    advance(engine, 3 * HOUR)
    await looked(engine)
    assert await engine.account.schedules.runs(made.id) == []
    await engine.account.schedules.change(made.id, SchedulePatch(paused=False))
    advance(engine, HOUR)
    await ended(engine, made, 1)


async def test_its_model_is_asked_and_one_that_is_gone_is_told_of(
    engine: Engine, server: ModelServer
) -> None:
    made = await engine.account.schedules.add(replace(new("1h"), model="test/other"))
    advance(engine, HOUR)
    await ended(engine, made, 1)
    assert server.requests[-1].model == "other"
    await engine.stop()
    engine.config = replace(engine.config, models=ModelsConfig(), providers={})
    await engine.start()
    advance(engine, HOUR)
    newest, _ = await ended(engine, made, 2)
    assert (newest.state, newest.turn is not None) == ("failed", True)


async def test_what_makes_no_sense_is_refused(engine: Engine) -> None:
    good = new("1h")
    for wrong in (
        replace(good, name=""),
        replace(good, toolset="none"),
        replace(good, when=new("1s").when),
    ):
        with pytest.raises(InvalidInput):
            await engine.account.schedules.add(wrong)
    with pytest.raises(NotFound):
        await engine.account.schedules.add(replace(good, route="telegram:dm:1"))
    made = await engine.account.schedules.add(good)
    with pytest.raises(InvalidInput):
        await engine.account.schedules.change(made.id, SchedulePatch(text=" "))
    assert await engine.account.schedules.all() == [made]


async def test_many_at_one_moment_all_run(engine: Engine) -> None:
    made = await asyncio.gather(*[engine.account.schedules.add(new("1h")) for _ in range(80)])
    advance(engine, HOUR)
    for each in made:
        await ended(engine, each, 1)
