"""What a user has spent."""

import msgspec

from roost.core.events import SessionUpdated
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.usage import Usage
from roost.store.operations import Engine, Operation, one, query, reading, writing
from roost.store.writes import add_usage, enter, record


class Spent(msgspec.Struct, frozen=True, array_like=True):
    """`tokens` are those read and written, `cost` is of the calls whose price is known."""

    tokens: int
    cost: int


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
    def of_subagents(self, session: SessionId, *, since: int = 0) -> Operation[Spent]:
        """What those used that worked for a session, of the ones opened since a moment."""
        rows = yield query("used_by_subagents", user=self._user, session=session, since=since)
        return one(rows, Spent)

    @writing
    def add(self, session: SessionId, source: str, usages: tuple[Usage, ...]) -> Operation[None]:
        """Count what was used for a session outside its turns. `source` says what for."""
        head = yield from enter(self._user, session, None, active=False)
        yield from add_usage(self._user, session, source, usages)
        yield from record(session, head.revision, SessionUpdated(("counters",)))
