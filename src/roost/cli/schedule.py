"""`roost schedule`: what agents do at certain times, and what came of it."""

from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from roost.cli.chat.words import one_line
from roost.cli.reach import Reached, work_on
from roost.cli.settings import Settings, flag
from roost.cli.started import as_started
from roost.cli.tables import minute, print_table
from roost.core.errors import InvalidInput
from roost.core.ids import ScheduleId, SessionId, new_schedule_id
from roost.core.schedules import Kind, NewSchedule, Schedule, SchedulePatch, ScheduleRun, When

_NO_FLAGS = Settings()

schedule = App(name="schedule", help="Have agents do things at certain times.")


@schedule.command(name="list")
def list_schedules(*, settings: Settings = _NO_FLAGS) -> None:
    """List schedules, the one that runs next first."""

    async def work(roost: Reached, out: Console) -> None:
        found = await roost.account.schedules.all()
        if found:
            heads = ("Schedule", "Name", "When", "Next", "Where")
            print_table(out, heads, [_row(each) for each in found])
        else:
            out.print(
                as_started("There are no schedules. Make one with `roost schedule add NAME TEXT`.")
            )

    work_on(settings, work)


@schedule.command
def add(
    name: str,
    text: Annotated[str, Parameter(help="What the agent is told each time.")],
    /,
    *,
    cron: Annotated[
        str | None, flag("FIELDS", 'Minute, hour, day, month, weekday: "0 9 * * mon-fri".')
    ] = None,
    at: Annotated[str | None, flag("TIME", "Once, at a time such as 2027-01-31T09:00.")] = None,
    every: Annotated[str | None, flag("DURATION", "Again and again: 30m, 1h, 7d.")] = None,
    zone: Annotated[str | None, flag("ZONE", "By which clock; by default yours.")] = None,
    session: Annotated[
        str | None, flag("ID", "In this session; by default in one of its own each time.")
    ] = None,
    route: Annotated[str | None, flag("ROUTE", "Where answers go, such as telegram:dm:42.")] = None,
    model: Annotated[str | None, flag("NAME", "Who is to answer, as provider/model.")] = None,
    skip_missed: Annotated[
        bool, Parameter(help="What is due while Roost is off is not made up for.")
    ] = False,
    settings: Settings = _NO_FLAGS,
) -> None:
    """Have an agent told something at certain times: give one of --cron, --at and --every."""
    new = NewSchedule(
        id=new_schedule_id(),
        name=name.strip(),
        when=_when(cron, at, every, zone),
        text=text,
        model=model,
        session=None if session is None else SessionId(session),
        route=route,
        missed="skip" if skip_missed else "once",
    )

    async def work(roost: Reached, out: Console) -> None:
        made = await roost.account.schedules.add(new)
        assert made.due_at is not None, "it has just been made"
        out.print(f"{made.id} runs next {minute(made.due_at)}.")

    work_on(settings, work, begins=True)


def _when(cron: str | None, at: str | None, every: str | None, zone: str | None) -> When:
    given: tuple[tuple[Kind, str | None], ...] = (("cron", cron), ("once", at), ("every", every))
    found = [
        When(kind=kind, spec=spec, time_zone=zone or "") for kind, spec in given if spec is not None
    ]
    if len(found) != 1:
        how_many = "only one" if found else "one"
        raise InvalidInput(f"Say when: give {how_many} of --cron, --at and --every.")
    return found[0]


@schedule.command
def pause(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Have a schedule not run until it is resumed."""
    _change(settings, id, paused=True)


@schedule.command
def resume(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Have a paused schedule run again, from its next time on."""
    _change(settings, id, paused=False)


def _change(settings: Settings, id: str, *, paused: bool) -> None:
    async def work(roost: Reached, out: Console) -> None:
        patch = SchedulePatch(paused=paused)
        changed = await roost.account.schedules.change(ScheduleId(id), patch)
        out.print(f"{one_line(changed.name)}: {_next(changed)}")

    work_on(settings, work)


@schedule.command
def run(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Run a schedule now, besides its times."""

    async def work(roost: Reached, out: Console) -> None:
        turn = await roost.account.schedules.run(ScheduleId(id))
        when = "when Roost runs again" if roost.place is None else "now"
        out.print(f"It runs {when}, in {turn.session}.")

    work_on(settings, work)


@schedule.command
def history(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """List the runs of a schedule, the newest first, and what became of each."""

    async def work(roost: Reached, out: Console) -> None:
        found = await roost.account.schedules.runs(ScheduleId(id), limit=200)
        if found:
            print_table(out, ("Due", "State", "Session"), [_run_row(each) for each in found])
        else:
            out.print("It has not run yet.")

    work_on(settings, work)


@schedule.command
def remove(id: str, /, *, settings: Settings = _NO_FLAGS) -> None:
    """Remove a schedule. The sessions of its runs stay."""

    async def work(roost: Reached, out: Console) -> None:
        found = await roost.account.schedules.get(ScheduleId(id))
        await roost.account.schedules.remove(found.id)
        out.print(f"{one_line(found.name)} is removed.")

    work_on(settings, work)


def _row(each: Schedule) -> tuple[str, ...]:
    when = each.when
    times = f"every {when.spec}" if when.kind == "every" else f"{when.spec} ({when.time_zone})"
    where = each.route or each.session or "a session of its own"
    return each.id, one_line(each.name), one_line(times), _next(each), one_line(where)


def _next(each: Schedule) -> str:
    if each.due_at is None:
        return "over"
    return "paused" if each.paused else minute(each.due_at)


def _run_row(run: ScheduleRun) -> tuple[str, ...]:
    return minute(run.tick), run.state, run.session or ""
