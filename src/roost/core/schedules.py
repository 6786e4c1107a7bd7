"""Schedules: what is to be asked of an agent at which times, and when the next of them is."""

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from roost.core import cron
from roost.core.errors import InvalidInput
from roost.core.ids import ScheduleId, SessionId, TurnId
from roost.core.messages import check_text
from roost.core.settings import duration
from roost.core.turns import TurnState

MOST = 100
"""Schedules of one user that are still to run."""
LATE = 60_000
"""Milliseconds after which a run counts as missed: up to then it is only late."""
ROUTE = "schedule"
"""Where a run's turn comes from, if its answer goes nowhere else."""

LONGEST_NAME = 100
LONGEST_TEXT = 50_000
LONGEST_ROUTE = 200
_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(days=366)
_FARTHEST = timedelta(days=3660)

Kind = Literal["cron", "once", "every"]
Missed = Literal["once", "skip"]
"""What becomes of runs that were due while nobody could do them: one is made up for, or none."""
RunState = TurnState | Literal["missed", "overlapped", "gone"]
"""That of the run's turn; or it had none, because it was missed, or because the run before it was
still going; or the turn is gone with its session."""


class When(msgspec.Struct, frozen=True, kw_only=True):
    """`spec` is a cron expression, a time such as 2027-01-31T09:00, or a duration such as 30m. All
    but durations are by the wall clock of `time_zone`."""

    kind: Kind
    spec: str
    time_zone: str


class NewSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is what the agent is told each time: in a session of its own or, if there is one, in
    `session`. The answer goes to `route`, or stays there. `model` and `toolset` are for sessions of
    its own."""

    id: ScheduleId
    name: str
    when: When
    text: str
    model: str | None = None
    toolset: str | None = None
    session: SessionId | None = None
    route: str | None = None
    missed: Missed = "once"


class Schedule(NewSchedule, frozen=True, kw_only=True):
    """`due_at` is when it runs next; None if it has run for the last time."""

    paused: bool
    due_at: int | None
    created_at: int


class SchedulePatch(msgspec.Struct, frozen=True, kw_only=True):
    """What is changed about a schedule; what is UNSET stays."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    when: When | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    model: str | msgspec.UnsetType | None = msgspec.UNSET
    toolset: str | msgspec.UnsetType | None = msgspec.UNSET
    session: SessionId | msgspec.UnsetType | None = msgspec.UNSET
    route: str | msgspec.UnsetType | None = msgspec.UNSET
    missed: Missed | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class ScheduleRun(msgspec.Struct, frozen=True, kw_only=True):
    """`tick` is when it was due, or asked for; `created_at` when it was seen to."""

    tick: int
    turn: TurnId | None
    session: SessionId | None
    state: RunState
    created_at: int


def check(schedule: NewSchedule) -> None:
    """Refuse what can't be kept, or would never run."""
    check_text(schedule, "schedule")
    name = schedule.name
    if not 1 <= len(name) <= LONGEST_NAME or name != name.strip() or not name.isprintable():
        raise InvalidInput(f"A schedule's name is a line of 1 to {LONGEST_NAME} characters.")
    if not schedule.text.strip() or len(schedule.text) > LONGEST_TEXT:
        raise InvalidInput(f"What a schedule asks is a text of 1 to {LONGEST_TEXT} characters.")
    route = schedule.route
    if route is not None and not (1 <= len(route) <= LONGEST_ROUTE and route.isprintable()):
        raise InvalidInput("A route is named as telegram:dm:42 is.")
    check_when(schedule.when)


def check_when(when: When) -> None:
    _zone(when.time_zone)
    next_tick(when, 0, anchor=0)


def next_tick(when: When, after: int, *, anchor: int) -> int | None:
    """The first time after a moment, both in milliseconds; None if there is none. What comes every
    so often counts from `anchor`.

    A time that the clocks jump over is the moment of the jump; one that comes twice is the first.
    What comes several times an hour goes by what has passed.
    """
    if when.kind == "every":
        return _step(_interval(when.spec), after, anchor)
    zone = _zone(when.time_zone)
    if when.kind == "once":
        at = _milliseconds(_once(when.spec, zone))
        return at if at > after else None
    found = cron.next_time(when.spec, datetime.fromtimestamp(after / 1000, zone))
    return None if found is None else _milliseconds(found)


def check_ahead(when: When, due_at: int | None, now: int) -> None:
    """Refuse a time that has passed, or one so far off that it must be a mistake."""
    if due_at is None:
        raise InvalidInput("Its time has passed. Give one that is to come.")
    if when.kind == "once" and due_at > now + _FARTHEST / timedelta(milliseconds=1):
        raise InvalidInput("Its time is more than ten years from now.")


def moment(local: datetime, zone: ZoneInfo) -> datetime:
    """When a wall clock shows a time, in UTC."""
    found = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == local:
        return found
    # It never does: as if the clocks had gone on, or had been put forward before, are the two ways
    # to read it, and they jump between those.
    return _jump(local.replace(tzinfo=zone, fold=1).astimezone(UTC), found, zone)


def _jump(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def _step(interval: timedelta, after: int, anchor: int) -> int:
    milliseconds = interval // timedelta(milliseconds=1)
    return anchor + max(1, (after - anchor) // milliseconds + 1) * milliseconds


def _interval(text: str) -> timedelta:
    try:
        found = duration(text)
    except ValueError:
        raise InvalidInput(f"{text[:40]!r} is no duration such as 30m, 1h or 7d.") from None
    if not _SHORTEST <= found <= _LONGEST:
        raise InvalidInput("A schedule runs at most once a minute, and at least once a year.")
    return found


def _once(text: str, zone: ZoneInfo) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        if "T" not in text and " " not in text:
            raise ValueError(text)
        return found.astimezone(UTC) if found.tzinfo is not None else moment(found, zone)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{text[:40]!r} is no time such as 2027-01-31T09:00.") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput("A time zone is named as in Europe/Zurich, or UTC.") from None


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
