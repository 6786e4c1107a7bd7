"""Schedules: what is asked of an agent at which times, and what came of it."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from roost.core.ids import ScheduleId, SessionId, new_schedule_id
from roost.core.schedules import (
    LONGEST_NAME,
    LONGEST_ROUTE,
    LONGEST_TEXT,
    Kind,
    Missed,
    NewSchedule,
    Schedule,
    SchedulePatch,
    ScheduleRun,
    When,
)
from roost.core.settings import ToolsetName
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import GivenSession, Number, OwnSchedule, OwnTurn, Phrase
from roost.http.views import TurnView, turn_view

_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
_Text = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
_Route = Annotated[str, Meta(min_length=1, max_length=LONGEST_ROUTE)]


class GivenWhen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `cron` expression (minute hour day month weekday), `once` at a time such as
    2027-01-31T09:00, or `every` so often, such as 30m, 1h or 7d. The zone is yours by default."""

    kind: Kind
    spec: Phrase
    time_zone: Annotated[str, Meta(min_length=1, max_length=64)] | None = None

    def made(self) -> When:
        return When(kind=self.kind, spec=self.spec, time_zone=self.time_zone or "")


class MakeSchedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`text` is what the agent is told each time: in a session of its own or, if there is one, in
    `session`. The answer goes to `route`, a channel's where you have talked, or stays there.
    `model` and `toolset` are for sessions of its own. What is `missed` while Roost is off is made
    up for `once`, or not (`skip`). An `id` of one's own makes it safe to ask again."""

    name: _Name
    when: GivenWhen
    text: _Text
    id: OwnSchedule | None = None
    model: Phrase | None = None
    toolset: ToolsetName | None = None
    session: GivenSession | None = None
    route: _Route | None = None
    missed: Missed = "once"


class ChangeSchedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays. Going on after a pause, and other times, count from now."""

    name: _Name | msgspec.UnsetType = msgspec.UNSET
    when: GivenWhen | msgspec.UnsetType = msgspec.UNSET
    text: _Text | msgspec.UnsetType = msgspec.UNSET
    model: Phrase | msgspec.UnsetType | None = msgspec.UNSET
    toolset: ToolsetName | msgspec.UnsetType | None = msgspec.UNSET
    session: GivenSession | msgspec.UnsetType | None = msgspec.UNSET
    route: _Route | msgspec.UnsetType | None = msgspec.UNSET
    missed: Missed | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class Ahead(msgspec.Struct, frozen=True):
    """The next times, as many as there are, and the zone that they go by."""

    times: Sequence[int]
    time_zone: str


class RunNow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An id of one's own for its turn makes it safe to ask again."""

    id: OwnTurn | None = None


class ScheduleList(msgspec.Struct, frozen=True):
    schedules: Sequence[Schedule]


class RunQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`before` is the `tick` of the last run of a page."""

    before: Number | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class RunList(msgspec.Struct, frozen=True):
    runs: Sequence[ScheduleRun]


async def listed(call: Call) -> ScheduleList:
    """List your schedules: the one that runs next first, then those that are paused or over."""
    return ScheduleList(await call.account.schedules.all())


async def made(call: Call, body: MakeSchedule) -> Schedule:
    """Have an agent told something at certain times."""
    call.check_model(body.model)
    new = NewSchedule(
        id=body.id or new_schedule_id(),
        name=body.name.strip(),
        when=body.when.made(),
        text=body.text,
        model=body.model,
        toolset=body.toolset,
        session=body.session,
        route=body.route,
        missed=body.missed,
    )
    return await call.account.schedules.add(new)


async def ahead(call: Call, query: GivenWhen) -> Ahead:
    """Say when the next three runs would be, without making a schedule."""
    when, times = await call.account.schedules.ahead(query.made(), AHEAD)
    return Ahead(times, when.time_zone)


async def found(call: Call, schedule: ScheduleId) -> Schedule:
    """Read a schedule."""
    return await call.account.schedules.get(schedule)


async def changed(call: Call, schedule: ScheduleId, body: ChangeSchedule) -> Schedule:
    """Change a schedule, pause it, or have it go on."""
    call.check_model(body.model)
    when = body.when.made() if isinstance(body.when, GivenWhen) else msgspec.UNSET
    patch = SchedulePatch(
        name=body.name.strip() if isinstance(body.name, str) else msgspec.UNSET,
        when=when,
        text=body.text,
        model=body.model,
        toolset=body.toolset,
        session=SessionId(body.session) if isinstance(body.session, str) else body.session,
        route=body.route,
        missed=body.missed,
        paused=body.paused,
    )
    return await call.account.schedules.change(schedule, patch)


async def removed(call: Call, schedule: ScheduleId) -> None:
    """Remove a schedule, with the list of its runs. Their sessions stay."""
    await call.account.schedules.remove(schedule)


async def run(call: Call, schedule: ScheduleId, body: RunNow) -> TurnView:
    """Run a schedule now, besides its times."""
    return turn_view(await call.account.schedules.run(schedule, id=body.id))


async def runs(call: Call, schedule: ScheduleId, query: RunQuery) -> RunList:
    """List the runs of a schedule, the newest first, and what became of each."""
    history = call.account.schedules.runs
    return RunList(await history(schedule, before=query.before, limit=query.limit))


AHEAD = 3
_SCHEDULE = "/api/schedules/{schedule}"

ENDPOINTS = (
    endpoint("GET", "/api/schedules", listed, scope="read"),
    endpoint("POST", "/api/schedules", made, scope="chat", status=201),
    endpoint("GET", "/api/schedules/ahead", ahead, scope="read"),
    endpoint("GET", _SCHEDULE, found, scope="read"),
    endpoint("PATCH", _SCHEDULE, changed, scope="chat"),
    endpoint("DELETE", _SCHEDULE, removed, scope="chat"),
    endpoint("POST", f"{_SCHEDULE}/run", run, scope="chat", status=201),
    endpoint("GET", f"{_SCHEDULE}/runs", runs, scope="read"),
)
