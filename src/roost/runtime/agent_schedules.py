"""Schedules as agents see to them, for whom they work for."""

import asyncio
from collections.abc import Sequence

import msgspec

from roost.core.ids import ScheduleId, UserId
from roost.core.schedules import NewSchedule, Schedule, SchedulePatch
from roost.runtime.app import App
from roost.runtime.scheduling import Scheduling
from roost.tools.base import ToolContext


class AgentSchedules:
    """See `tools.schedule.Schedules`. Tools are there before the application is: `attach` tells
    them of it."""

    def __init__(self) -> None:
        self._app: App | None = None
        self._attached = asyncio.Event()

    def attach(self, app: App) -> None:
        self._app = app
        self._attached.set()

    async def _of(self, user: UserId) -> Scheduling:
        await self._attached.wait()  # a turn that goes on after a crash may be early
        assert self._app is not None, "it is attached"
        return self._app.of(user).schedules

    async def all(self, user: UserId) -> Sequence[Schedule]:
        return await (await self._of(user)).all()

    async def get(self, user: UserId, schedule: ScheduleId) -> Schedule:
        return await (await self._of(user)).get(schedule)

    async def add(self, context: ToolContext, new: NewSchedule) -> Schedule:
        schedules = await self._of(context.user)
        assert self._app is not None, "it is attached"
        turn = await self._app.of(context.user).turn(context.session, context.turn)
        route = turn.route if turn.route is not None and ":" in turn.route else None
        return await schedules.add(msgspec.structs.replace(new, route=route))

    async def change(self, user: UserId, schedule: ScheduleId, patch: SchedulePatch) -> Schedule:
        return await (await self._of(user)).change(schedule, patch)

    async def remove(self, user: UserId, schedule: ScheduleId) -> None:
        await (await self._of(user)).remove(schedule)
