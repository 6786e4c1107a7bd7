"""What a user has spent."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import NotFound
from roost.core.events import SessionUpdated
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.usage import Usage
from roost.store.operations import Engine, Operation, every, one, query, reading, writing
from roost.store.sessions import load_session
from roost.store.writes import add_usage, add_usage_late, enter, record


class Spent(msgspec.Struct, frozen=True, array_like=True):
    """`tokens` are those read and written, `cost` is of the calls whose price is known."""

    tokens: int
    cost: int


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What a model was used for in all. `cost` is of the calls whose price is known, in
    nano-dollars; of `unpriced` calls it is not."""

    provider: str
    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: int
    unpriced: int


class UsedRow(Used, frozen=True, array_like=True, kw_only=True):
    """As it is stored: the columns stand in the order of the fields."""


class UsedOnDay(msgspec.Struct, frozen=True):
    """`day` is midnight UTC, in milliseconds."""

    day: int
    used: Used


def _used(row: UsedRow) -> Used:
    return Used(**msgspec.structs.asdict(row))


class Usages:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def today(self) -> Operation[Spent]:
        """Since midnight UTC. Deleted sessions count: what they used was used."""
        return one((yield query("used_today", user=self._user)), Spent)

    @reading
    def of_turn(self, turn: TurnId) -> Operation[Spent]:
        """What a turn has used so far."""
        return one((yield query("used_by", user=self._user, source=turn)), Spent)

    @reading
    def by_turn(self, turn: TurnId) -> Operation[Sequence[Used]]:
        """What a turn has used so far, by model, the dearest first."""
        rows = yield query("used_by_turn", user=self._user, turn=turn)
        return [_used(row) for row in every(rows, UsedRow)]

    @reading
    def of_subagents(self, session: SessionId, *, since: int = 0) -> Operation[Spent]:
        """What those used that worked for a session, of the ones opened since a moment."""
        rows = yield query("used_by_subagents", user=self._user, session=session, since=since)
        return one(rows, Spent)

    @reading
    def of_session(self, session: SessionId) -> Operation[Sequence[Used]]:
        """By model, the dearest first."""
        yield from load_session(self._user, session)
        rows = yield query("used_in_session", user=self._user, session=session)
        return [_used(row) for row in every(rows, UsedRow)]

    @reading
    def by_day(self, *, days: int) -> Operation[Sequence[UsedOnDay]]:
        """Of the last days (UTC), today included, by day and model; the oldest first."""
        rows = yield query("used_by_day", user=self._user, days=days)
        used = every([row[1:] for row in rows], UsedRow)
        return [UsedOnDay(int(str(row[0])), _used(u)) for row, u in zip(rows, used, strict=True)]

    @writing
    def add(self, session: SessionId, source: str, usages: tuple[Usage, ...]) -> Operation[None]:
        """Count what was used for a session outside its turns. `source` says what for."""
        try:
            head = yield from enter(self._user, session, None, active=False)
        except NotFound:
            return (yield from add_usage_late(self._user, session, source, usages))
        yield from add_usage(self._user, session, source, usages)
        yield from record(session, head.revision, SessionUpdated(("counters",)))
