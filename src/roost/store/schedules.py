"""Schedules and their runs: a user's own, and what is due of everyone's."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.ids import ScheduleId, SessionId, TurnId, UserId, derived_id
from roost.core.messages import TextPart, decode_parts, encode_parts, plain_text
from roost.core.schedules import (
    LATE,
    MOST,
    ROUTE,
    Kind,
    Missed,
    NewSchedule,
    RunState,
    Schedule,
    SchedulePatch,
    ScheduleRun,
    When,
    check_ahead,
    next_tick,
)
from roost.core.sessions import NewSession
from roost.core.signature import AgentConfig
from roost.core.turns import NewTurn, TurnState
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    SqlValue,
    every,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.queue import submit
from roost.store.sessions import open_session
from roost.store.writes import check_session

ORIGIN = "schedule"
KEPT_RUNS = 200
"""Of one schedule, the newest."""
KEPT_ENDED = 100
"""Of one user's schedules that have run for the last time, the newest."""
_LAST = 1 << 62


class Started(msgspec.Struct, frozen=True):
    """A run that became a turn."""

    session: SessionId
    turn: TurnId


class Look(msgspec.Struct, frozen=True):
    """What is due, with whose it is; `wait` is how long nothing else is, in milliseconds. It is the
    store's clock that says so, as it says what is due: another may be ahead."""

    due: Sequence[tuple[UserId, Schedule]]
    wait: int | None


class _Config(msgspec.Struct, frozen=True, omit_defaults=True):
    model: str | None = None
    toolset: str | None = None


class _Row(msgspec.Struct, frozen=True, array_like=True):
    id: ScheduleId
    user: UserId
    name: str
    kind: Kind
    spec: str
    time_zone: str
    input: str
    config: str
    session: SessionId | None
    route: str | None
    missed: Missed
    paused: bool
    due_at: int | None
    created_at: int
    now: int

    def made(self) -> Schedule:
        config = msgspec.json.decode(self.config, type=_Config)
        return Schedule(
            id=self.id,
            name=self.name,
            when=When(kind=self.kind, spec=self.spec, time_zone=self.time_zone),
            text=plain_text(decode_parts(self.input)),
            model=config.model,
            toolset=config.toolset,
            session=self.session,
            route=self.route,
            missed=self.missed,
            paused=self.paused,
            due_at=self.due_at,
            created_at=self.created_at,
        )


class _RunRow(msgspec.Struct, frozen=True, array_like=True):
    tick: int
    turn: TurnId | None
    session: SessionId | None
    state: TurnState | None
    created_at: int

    def made(self) -> ScheduleRun:
        return ScheduleRun(
            tick=self.tick,
            turn=self.turn,
            session=self.session,
            state=self._state(),
            created_at=self.created_at,
        )

    def _state(self) -> RunState:
        if self.turn is None:
            return "missed" if self.created_at - self.tick > LATE else "overlapped"
        return self.state or "gone"


def _columns(schedule: NewSchedule) -> dict[str, SqlValue]:
    config = _Config(schedule.model, schedule.toolset)
    return {
        "id": schedule.id,
        "name": schedule.name,
        "kind": schedule.when.kind,
        "spec": schedule.when.spec,
        "time_zone": schedule.when.time_zone,
        "input": encode_parts((TextPart(schedule.text),)),
        "config": msgspec.json.encode(config).decode(),
        "session": schedule.session,
        "route": schedule.route,
        "missed": schedule.missed,
    }


def _find(user: UserId, schedule: ScheduleId) -> Operation[_Row]:
    row = maybe((yield query("get_schedule", user=user, id=schedule)), _Row)
    if row is None:
        raise NotFound("schedule", schedule)
    return row


def _runs(rows: Rows) -> list[ScheduleRun]:
    return [row.made() for row in every(rows, _RunRow)]


def _delete(schedule: ScheduleId) -> Operation[None]:
    yield query("delete_schedule_runs", id=schedule)
    yield query("delete_schedule", id=schedule)


def _start(
    user: UserId, schedule: Schedule, tick: int, new: NewTurn, config: AgentConfig | None
) -> Operation[Started]:
    """Hand in what a schedule asks, in its session or in one that is opened for it, and write it
    down as the run of a tick that has none."""
    session = schedule.session
    if session is None:
        session = SessionId(derived_id("ses_", new.id))
        opened = NewSession(id=session, origin=ORIGIN, title=schedule.name, config=config)
        yield from open_session(user, opened)
    turn = yield from submit(user, session, new)
    yield query("insert_run", id=schedule.id, tick=tick, turn=turn.id)
    yield query("trim_runs", id=schedule.id, keep=KEPT_RUNS - 1)
    return Started(session, turn.id)


def _turn(schedule: Schedule, turn: TurnId) -> NewTurn:
    return NewTurn(
        id=turn,
        parts=(TextPart(schedule.text),),
        key=f"schedule:{turn}",
        route=schedule.route or ROUTE,
    )


class Schedules:
    """One user's. Whoever calls has checked what a schedule says."""

    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def all(self) -> Operation[Sequence[Schedule]]:
        """The one that runs next first."""
        rows = every((yield query("list_schedules", user=self._user)), _Row)
        return [row.made() for row in rows]

    @reading
    def get(self, schedule: ScheduleId) -> Operation[Schedule]:
        return (yield from _find(self._user, schedule)).made()

    @writing
    def add(self, new: NewSchedule) -> Operation[Schedule]:
        """The same id again gives the schedule that is there."""
        found = maybe((yield query("get_schedule", user=self._user, id=new.id)), _Row)
        if found is not None:
            return found.made()
        yield from self._check_places(new.session, new.route)
        yield from self._check_room()
        now = one((yield query("store_clock")), int)
        due = next_tick(new.when, now, anchor=now)
        check_ahead(new.when, due, now)
        if not (yield query("insert_schedule", user=self._user, due=due, **_columns(new))):
            raise InvalidInput(f"The schedule id {new.id} is taken. Make a new one.")
        yield from self._drop_old()
        return (yield from _find(self._user, new.id)).made()

    @reading
    def ahead(self, when: When, count: int) -> Operation[Sequence[int]]:
        """The next times of one that were made now."""
        now = at = one((yield query("store_clock")), int)
        times: list[int] = []
        while len(times) < count and (at := next_tick(when, at, anchor=now)) is not None:
            times.append(at)
        return times

    def _check_room(self) -> Operation[None]:
        if one((yield query("count_schedules", user=self._user)), int) >= MOST:
            raise Conflict(f"There are {MOST} schedules, which is the most. Remove one first.")

    def _check_places(self, session: SessionId | None, route: str | None) -> Operation[None]:
        if session is not None:
            yield from check_session(self._user, session)
        if route is not None and not (yield query("route_is_known", user=self._user, route=route)):
            raise NotFound("route", route)

    def _drop_old(self) -> Operation[None]:
        for row in (yield query("old_schedules", user=self._user, keep=KEPT_ENDED)):
            yield from _delete(ScheduleId(str(row[0])))

    @writing
    def change(self, schedule: ScheduleId, patch: SchedulePatch) -> Operation[Schedule]:
        """Other times, and going on after a pause, count from now."""
        row = yield from _find(self._user, schedule)
        values = msgspec.structs.asdict(patch)
        changes = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        before = row.made()
        after = msgspec.structs.replace(before, **changes)
        if after == before:
            return before
        yield from self._check_places(
            after.session if "session" in changes else None,
            after.route if "route" in changes else None,
        )
        due = before.due_at
        if after.when != before.when or (before.paused and not after.paused):
            due = next_tick(after.when, row.now, anchor=before.created_at)
            check_ahead(after.when, due, row.now)
            if before.due_at is None:
                yield from self._check_room()
        yield query("update_schedule", paused=after.paused, due=due, **_columns(after))
        return msgspec.structs.replace(after, due_at=due)

    @writing
    def remove(self, schedule: ScheduleId) -> Operation[None]:
        """Its history goes with it; the sessions of its runs stay."""
        yield from _find(self._user, schedule)
        yield from _delete(schedule)

    @writing
    def run(
        self, schedule: ScheduleId, turn: TurnId, config: AgentConfig | None
    ) -> Operation[Started]:
        """Now, whatever its times are. Asked again for the same turn, it is the same run."""
        row = yield from _find(self._user, schedule)
        found = _runs((yield query("find_run", id=schedule, tick=None, turn=turn)))
        if found and found[0].session is not None:
            return Started(found[0].session, turn)
        if (yield query("run_under_way", id=schedule)):
            raise Conflict("Its last run is still going. Stop it, or wait for it.")
        tick = row.now
        while (yield query("find_run", id=schedule, tick=tick, turn=None)):
            tick += 1
        made = row.made()
        return (yield from _start(self._user, made, tick, _turn(made, turn), config))

    @reading
    def runs(
        self, schedule: ScheduleId, *, before: int | None = None, limit: int = 50
    ) -> Operation[Sequence[ScheduleRun]]:
        """The newest first; `before` is the last `tick` of a page."""
        yield from _find(self._user, schedule)
        last = _LAST if before is None else before
        return _runs((yield query("list_runs", id=schedule, before=last, limit=limit)))


class Ticks:
    """Everyone's."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @reading
    def look(self, *, limit: int = 64) -> Operation[Look]:
        """What is due now, of users who are not disabled."""
        rows = every((yield query("due_schedules", limit=limit)), _Row)
        wait = maybe((yield query("next_due")), int)
        return Look([(row.user, row.made()) for row in rows], wait)

    @writing
    def fire(
        self, user: UserId, schedule: Schedule, config: AgentConfig | None
    ) -> Operation[Started | None]:
        """Do what is due: hand in its turn, write the run down and move on to the next time, in one
        step. Whoever comes second, however that comes about, finds it done. None if it is not to
        run: it was missed, the run before it still goes on, or it has changed meanwhile."""
        tick = schedule.due_at
        assert tick is not None, "it is due"
        row = maybe((yield query("get_schedule", user=user, id=schedule.id)), _Row)
        done = _runs((yield query("find_run", id=schedule.id, tick=tick, turn=None)))
        if row is not None and done and row.due_at == tick:
            yield query("advance_schedule", id=row.id, due=_next(row))
        if done:
            first = done[0]
            return Started(first.session, first.turn) if first.session and first.turn else None
        if row is None or row.made() != schedule or not (yield query("is_enabled", user=user)):
            return None
        yield query("advance_schedule", id=row.id, due=_next(row))
        is_missed = schedule.missed == "skip" and row.now - tick > LATE
        if is_missed or (yield query("run_under_way", id=row.id)):
            yield query("insert_run", id=row.id, tick=tick, turn=None)
            yield query("trim_runs", id=row.id, keep=KEPT_RUNS - 1)
            return None
        turn = TurnId(derived_id("trn_", f"{schedule.id}:{tick}"))
        return (yield from _start(user, schedule, tick, _turn(schedule, turn), config))


def _next(row: _Row) -> int | None:
    """After now, not after the last: of several that were missed, one is made up for."""
    when = When(kind=row.kind, spec=row.spec, time_zone=row.time_zone)
    return next_tick(when, max(row.now, row.due_at or 0), anchor=row.created_at)
