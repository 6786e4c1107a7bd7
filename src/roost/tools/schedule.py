"""The `schedule` tool: the agent has itself told something later, once or again and again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol, get_args

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import ScheduleId, UserId, derived_id
from roost.core.schedules import Kind, Missed, NewSchedule, Schedule, SchedulePatch, When
from roost.llm.base import ToolSchema
from roost.tools.base import Intent, ToolContext, ToolError, ToolOutput

_DESCRIPTION = """\
Have a task done later: a reminder, a daily report.
- add: needs a short `name`, `text` (what you will be told then: say all that you need to know, as
  you see nothing of this conversation unless it runs `here`), and one of `cron`
  ("0 9 * * mon-fri"), `at` ("2027-01-31T09:00") and `every` ("30m", "1h", "7d"), by the user's
  clock. What is `missed` while Roost is off is made up for once, or skipped.
- list: what there is, with ids.
- pause, resume, remove: the schedule `id`."""

Action = Literal["add", "list", "pause", "resume", "remove"]

_DOES: dict[Action, str] = {
    "add": "Schedule a task",
    "pause": "Pause a schedule",
    "resume": "Resume a schedule",
    "remove": "Remove a schedule",
}
_WHY = "It acts later, when you may not be watching."


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    action: Action
    id: str = ""
    name: str = ""
    text: str = ""
    cron: str = ""
    at: str = ""
    every: str = ""
    here: bool = False
    missed: Missed = "once"

    def when(self) -> When:
        given: tuple[tuple[Kind, str], ...]
        given = (("cron", self.cron), ("once", self.at), ("every", self.every))
        found = [When(kind=kind, spec=spec, time_zone="") for kind, spec in given if spec]
        if len(found) != 1:
            raise ToolError("`add` needs one of `cron`, `at` and `every`.")
        return found[0]


_TEXT = {"type": "string"}
_PARAMETERS = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": get_args(Action)},
        **dict.fromkeys(("id", "name", "text", "cron", "at", "every"), _TEXT),
        "here": {"type": "boolean"},
        "missed": {"type": "string", "enum": get_args(Missed)},
    },
    "required": ["action"],
}


class Schedules(Protocol):
    """A user's schedules, and nobody else's."""

    async def all(self, user: UserId) -> Sequence[Schedule]: ...
    async def get(self, user: UserId, schedule: ScheduleId) -> Schedule: ...
    async def add(self, context: ToolContext, new: NewSchedule) -> Schedule:
        """Its answers go to the channel that the present turn came from, if any did."""
        ...

    async def change(
        self, user: UserId, schedule: ScheduleId, patch: SchedulePatch
    ) -> Schedule: ...
    async def remove(self, user: UserId, schedule: ScheduleId) -> None: ...


class ScheduleTool:
    """See `tools.base.Tool`. All but looking asks a person first."""

    schema = ToolSchema("schedule", _DESCRIPTION, msgspec.Raw(msgspec.json.encode(_PARAMETERS)))
    parallel = False
    seconds = 30.0

    def __init__(self, schedules: Schedules) -> None:
        self._schedules = schedules

    async def intent(self, arguments: str, context: ToolContext) -> Intent | None:
        given = _read(arguments)
        if given.action == "list":
            return None
        about = _new(given, context) if given.action == "add" else await self._named(given, context)
        place = " In this session." if given.here else ""
        return Intent(
            does=_DOES[given.action],
            subject=f"{about.name}, {_times(about.when)}: {about.text}",
            asks=True,
            why=_WHY + place,
        )

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        try:
            return ToolOutput.of(await self._run(_read(arguments), context))
        except (InvalidInput, NotFound, Conflict) as error:
            raise ToolError(str(error)) from error

    async def _run(self, given: Arguments, context: ToolContext) -> str:
        user = context.user
        if given.action == "list":
            found = await self._schedules.all(user)
            return "\n".join([_line(each) for each in found]) or "There are no schedules."
        if given.action == "add":
            added = await self._schedules.add(context, _new(given, context))
            return f"Scheduled: {_line(added)}"
        found = await self._named(given, context)
        if given.action == "remove":
            await self._schedules.remove(user, found.id)
            return f"Removed {found.name}."
        patch = SchedulePatch(paused=given.action == "pause")
        return _line(await self._schedules.change(user, found.id, patch))

    async def _named(self, given: Arguments, context: ToolContext) -> Schedule:
        try:
            return await self._schedules.get(context.user, ScheduleId(given.id))
        except NotFound as error:
            raise ToolError(f"{error} `list` shows ids.") from error


def _read(arguments: str) -> Arguments:
    try:
        return msgspec.json.decode(arguments, type=Arguments)
    except msgspec.MsgspecError as error:
        raise ToolError(str(error)) from error


def _new(given: Arguments, context: ToolContext) -> NewSchedule:
    """Under an id that follows from the call: asked again, it is the same schedule."""
    if not given.name.strip() or not given.text.strip():
        raise ToolError("`add` needs a `name` and a `text`.")
    return NewSchedule(
        id=ScheduleId(derived_id("sch_", context.call)),
        name=" ".join(given.name.split()),
        when=given.when(),
        text=given.text,
        session=context.session if given.here else None,
        missed=given.missed,
    )


def _times(when: When) -> str:
    if when.kind == "cron":
        return f"at {when.spec} (cron)"
    return f"at {when.spec}" if when.kind == "once" else f"every {when.spec}"


def _line(schedule: Schedule) -> str:
    if schedule.due_at is None:
        state = "over"
    elif schedule.paused:
        state = "paused"
    else:
        state = f"next {datetime.fromtimestamp(schedule.due_at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    zone = schedule.when.time_zone
    return f"[{schedule.id}] {schedule.name}, {_times(schedule.when)} ({zone}), {state}"
