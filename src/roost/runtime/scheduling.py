"""What a user does with schedules: make, change, pause and remove them, run one now, look back."""

from collections.abc import Sequence
from functools import partial

import msgspec

from roost.core.errors import InvalidInput, RoostError
from roost.core.ids import ScheduleId, SessionId, TurnId, UserId, new_turn_id
from roost.core.schedules import (
    NewSchedule,
    Schedule,
    SchedulePatch,
    ScheduleRun,
    When,
    check,
    check_when,
)
from roost.core.signature import AgentConfig
from roost.core.turns import Turn
from roost.runtime.parts import Parts
from roost.runtime.persistence import persisted
from roost.runtime.preferences import Preferring
from roost.store.schedules import Started
from roost.tools.toolsets import toolset as known_toolset


async def config_of(parts: Parts, user: UserId, schedule: Schedule) -> AgentConfig | None:
    """What a session of a run's own begins with. A model that can't be asked any more stays the
    one to ask: the run fails and says so, rather than going to another."""
    if schedule.session is not None:
        return None
    try:
        return await Preferring(parts, user).config(schedule.model, toolset=schedule.toolset)
    except RoostError:
        if schedule.model is None:
            return None
        provider, _, model = schedule.model.partition("/")
        return AgentConfig(provider=provider, model=model, protocol="", base_url="")


def take_up(parts: Parts, started: Started) -> None:
    """Have a run's turn begin."""
    parts.compactions.make_way(started.session)
    parts.hub.changed(started.session)
    parts.turns.wake()


class Scheduling:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._parts = parts
        self._user = user
        self._store = parts.store.of(user)

    async def all(self) -> Sequence[Schedule]:
        """The one that runs next first, then those that are paused, then what is over."""
        return await self._store.schedules.all()

    async def get(self, schedule: ScheduleId) -> Schedule:
        return await self._store.schedules.get(schedule)

    async def add(self, new: NewSchedule) -> Schedule:
        """Times without a zone are the user's. Asked again with the same id, it is the same."""
        new = msgspec.structs.replace(new, when=await self._placed(new.when))
        await self._check(new)
        added = await persisted(partial(self._store.schedules.add, new))
        self._parts.alarm.set()
        return added

    async def change(self, schedule: ScheduleId, patch: SchedulePatch) -> Schedule:
        """What is paused goes on with its next time; what it left out is not made up for."""
        if isinstance(patch.when, When):
            patch = msgspec.structs.replace(patch, when=await self._placed(patch.when))
        values = msgspec.structs.asdict(patch)
        changes = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        before = await self.get(schedule)
        after = msgspec.structs.replace(before, **changes)
        same_session = after.session == before.session
        await self._check(msgspec.structs.replace(after, session=None) if same_session else after)
        changed = await persisted(partial(self._store.schedules.change, schedule, patch))
        self._parts.alarm.set()
        return changed

    async def ahead(self, when: When, count: int) -> tuple[When, Sequence[int]]:
        """The next times of a schedule that were made now, in the zone that it would go by."""
        when = await self._placed(when)
        check_when(when)
        return when, await self._store.schedules.ahead(when, count)

    async def _placed(self, when: When) -> When:
        if when.time_zone:
            return when
        user = await self._parts.store.users.get(self._user)
        return msgspec.structs.replace(when, time_zone=user.time_zone)

    async def _check(self, new: NewSchedule) -> None:
        check(new)
        if new.model is not None:
            self._parts.builder.plan_for(new.model)
        if new.toolset is not None:
            known_toolset(new.toolset)
        if new.session is not None:
            await self._check_session(new.session)

    async def _check_session(self, session: SessionId) -> None:
        parent = (await self._store.sessions.get(session)).parent
        if parent is not None and parent.kind == "subagent":
            raise InvalidInput("A subagent's session is for its caller's task alone.")

    async def remove(self, schedule: ScheduleId) -> None:
        """A run under way goes on, and the sessions of its runs stay."""
        await self._store.schedules.remove(schedule)

    async def run(self, schedule: ScheduleId, *, id: TurnId | None = None) -> Turn:
        """Now, besides its times; also one that is paused or over. Asked again with the same id, it
        is the same run."""
        found = await self.get(schedule)
        config = await config_of(self._parts, self._user, found)
        run = partial(self._store.schedules.run, schedule, id or new_turn_id(), config)
        started = await persisted(run)
        take_up(self._parts, started)
        return await self._store.turns.get(started.turn)

    async def runs(
        self, schedule: ScheduleId, *, before: int | None = None, limit: int = 50
    ) -> Sequence[ScheduleRun]:
        """The newest first; `before` is the last `tick` of a page."""
        return await self._store.schedules.runs(schedule, before=before, limit=limit)
