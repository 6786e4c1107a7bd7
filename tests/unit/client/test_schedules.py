"""A server's schedules, seen to from the command line."""

import msgspec
import pytest

from roost.client.account import Account as AttachedAccount
from roost.core.errors import InvalidInput, NotFound
from roost.core.ids import ScheduleId, SessionId, new_schedule_id, new_turn_id
from roost.core.schedules import NewSchedule, SchedulePatch, When
from roost.runtime.account import Account


def new(spec: str = "0 9 * * *") -> NewSchedule:
    when = When(kind="cron", spec=spec, time_zone="")
    return NewSchedule(id=new_schedule_id(), name="News", when=when, text="Any news?")


async def test_schedules_are_the_same_here_and_there(
    account: Account, attached: AttachedAccount
) -> None:
    here, there = account.schedules, attached.schedules
    made = await there.add(new())
    assert made.when.time_zone == "UTC"
    assert await there.get(made.id) == await here.get(made.id) == made
    changed = await there.change(made.id, SchedulePatch(paused=True, model=None))
    assert list(await there.all()) == list(await here.all()) == [changed]
    assert changed.paused
    when = When(kind="every", spec="1h", time_zone="")
    assert (await there.change(made.id, SchedulePatch(when=when))).when.spec == "1h"
    id = new_turn_id()
    turn = await there.run(made.id, id=id)
    assert (await there.run(made.id, id=id)).id == turn.id == id
    (run,) = await there.runs(made.id)
    assert (run.turn, run.session) == (id, turn.session)
    assert list(await there.runs(made.id, before=run.tick)) == []
    await there.remove(made.id)
    assert list(await here.all()) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"session": SessionId("nope")}, "There is no session nope here."),
        ({"name": ""}, "A schedule's name is a line of 1 to"),
        ({"text": ""}, "What a schedule asks is a text of 1 to"),
        ({"route": ""}, "A route is named as telegram:dm:42 is."),
    ],
)
async def test_what_a_person_typed_is_refused_in_the_same_words(
    account: Account, attached: AttachedAccount, wrong: dict[str, str], said: str
) -> None:
    for schedules in (account.schedules, attached.schedules):
        with pytest.raises((InvalidInput, NotFound), match=said):
            await schedules.add(msgspec.structs.replace(new(), **wrong))


async def test_what_is_refused_there_is_refused_here(attached: AttachedAccount) -> None:
    with pytest.raises(InvalidInput, match="cron expression"):
        await attached.schedules.add(new("61 * * * *"))
    with pytest.raises(NotFound):
        await attached.schedules.get(ScheduleId("sch_nothing"))
