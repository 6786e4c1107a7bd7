"""Runs an operation's queries on one connection."""

from collections.abc import Mapping
from typing import TypeVar

from roost.core.clock import Clock
from roost.store.operations import Operation, Query, Rows
from roost.store.sqlite.connect import Connection
from roost.store.statements import Statement

T = TypeVar("T")


class Runner:
    """The store's clock on SQLite is its one owner's: every statement of an operation sees the same
    `:now`."""

    def __init__(
        self, connection: Connection, statements: Mapping[str, Statement], clock: Clock
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._clock = clock

    def run(self, operation: Operation[T]) -> T:
        now = self._clock.now()
        try:
            query = next(operation)
            while True:
                query = operation.send(self._rows(query, now))
        except StopIteration as stop:
            return stop.value

    def _rows(self, query: Query, now: int) -> Rows:
        statement = self._statements[query.name]
        parameters = query.parameters
        if "now" in statement.parameters:
            parameters = {**parameters, "now": now}
        return self._connection.rows(statement.sql, parameters)
