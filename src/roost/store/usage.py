"""What a user has spent."""

import msgspec

from roost.core.ids import UserId
from roost.store.operations import Engine, Operation, one, query, reading


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
