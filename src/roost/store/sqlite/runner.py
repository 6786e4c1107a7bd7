"""Runs an operation's queries on one connection."""

from collections.abc import Mapping
from typing import TypeVar

from roost.core.clock import Clock
from roost.store.operations import Operation
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
        # Everyone in the group waits for this loop, so it takes few steps. A query is made for one
        # run, so that its parameters may be completed in place.
        statements, rows, send = self._statements, self._connection.rows, operation.send
        now = self._clock.now()
        try:
            query = next(operation)
            while True:
                statement = statements[query.name]
                query.parameters["now"] = now
                query = send(rows(statement.sql, statement.values(query.parameters)))
        except StopIteration as stop:
            return stop.value
