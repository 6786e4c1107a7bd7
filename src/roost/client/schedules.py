"""The owner's schedules at a running server."""

import re
from collections.abc import Sequence

import msgspec

from roost.client.connection import Ask, Connection, path
from roost.client.wire import SentTurn
from roost.core.errors import NotFound
from roost.core.ids import SESSION_ID, ScheduleId, TurnId, new_turn_id
from roost.core.schedules import NewSchedule, Schedule, SchedulePatch, ScheduleRun, check
from roost.core.turns import Turn


class _Schedules(msgspec.Struct, frozen=True):
    schedules: tuple[Schedule, ...]


class _Runs(msgspec.Struct, frozen=True):
    runs: tuple[ScheduleRun, ...]


class Schedules:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self) -> Sequence[Schedule]:
        asked = Ask("GET", path("schedules"), again=True)
        return (await self._connection.ask(asked, _Schedules)).schedules

    async def get(self, schedule: ScheduleId) -> Schedule:
        asked = Ask("GET", path("schedules", schedule), again=True)
        return await self._connection.ask(asked, Schedule)

    async def add(self, new: NewSchedule) -> Schedule:
        _check(new)
        asked = Ask("POST", path("schedules"), body=_body(new), again=True)
        return await self._connection.ask(asked, Schedule)

    async def change(self, schedule: ScheduleId, patch: SchedulePatch) -> Schedule:
        asked = Ask("PATCH", path("schedules", schedule), body=_body(patch), again=True)
        return await self._connection.ask(asked, Schedule)

    async def remove(self, schedule: ScheduleId) -> None:
        await self._connection.fetch(Ask("DELETE", path("schedules", schedule)))

    async def run(self, schedule: ScheduleId, *, id: TurnId | None = None) -> Turn:
        """With an id of its own: if the answer is lost it is asked again, and is the same run."""
        body = {"id": id or new_turn_id()}
        asked = Ask("POST", path("schedules", schedule, "run"), body=body, again=True)
        return (await self._connection.ask(asked, SentTurn)).made()

    async def runs(
        self, schedule: ScheduleId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[ScheduleRun]:
        query = {"before": before, "limit": limit}
        asked = Ask("GET", path("schedules", schedule, "runs"), query, again=True)
        return (await self._connection.ask(asked, _Runs)).runs


def _check(new: NewSchedule) -> None:
    """In the words that a person is told where no server runs: it would speak of its API."""
    zone = new.when.time_zone or "UTC"
    check(msgspec.structs.replace(new, when=msgspec.structs.replace(new.when, time_zone=zone)))
    if new.session is not None and not re.search(SESSION_ID, new.session):
        raise NotFound("session", new.session)


def _body(value: NewSchedule | SchedulePatch) -> dict[str, object]:
    """No time zone is the user's own."""
    body: dict[str, object] = msgspec.to_builtins(value)
    when = body.get("when")
    if isinstance(when, dict) and not when["time_zone"]:
        del when["time_zone"]
    return body
