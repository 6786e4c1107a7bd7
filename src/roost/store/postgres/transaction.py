"""Runs an operation's queries in one transaction of PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from roost.core.clock import Clock
from roost.store.operations import Operation, Query, Rows, SqlValue
from roost.store.postgres.connect import Connection, fetch, is_lost
from roost.store.statements import Statement
from roost.testing import faults

T = TypeVar("T")

_LIMITS = (
    "SET LOCAL statement_timeout = '30s'; SET LOCAL lock_timeout = '20s'; "
    "SET LOCAL idle_in_transaction_session_timeout = '10s'"
)
"""Set with each transaction: behind a pooler the next one may be on another connection. The last
ends one whose COMMIT never arrived, so that those who wait for its locks, or for how it ended, need
not wait long."""

# Several servers write, and statements see what was committed before them: what an operation reads
# before it changes something is locked first (`-- locks:`).
BEGIN_WRITE = f"BEGIN; {_LIMITS}"
BEGIN_READ = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_LIMITS}"


IN_ALL = "; SET LOCAL transaction_timeout = '30s'"
"""Of newer servers. One that waits for the second half of a statement, from a Roost that stands
still, is not idle: nothing else ends it, and what it has locked would stay so."""
_NEWER = 17

ALONE = 30.0
"""Seconds that a statement outside of a transaction may take, which has no limit of its own."""


class Unsettled(Exception):
    """The connection was lost on the way to an answer to COMMIT. `life` is the server's: it ends
    with a crash."""

    def __init__(self, transaction: str | None, result: object) -> None:
        super().__init__()
        self.transaction = transaction
        self.result = result
        self.life: SqlValue = None


class Longer(Exception):
    """A read that asks for more than one statement can give."""


class Transaction:
    """`clock` stands in for the server's in tests."""

    def __init__(
        self,
        connection: Connection,
        statements: Mapping[str, Statement],
        clock: Clock | None,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._clock = clock
        self._held: set[tuple[SqlValue, ...]] = set()
        self._number: str | None = None
        self._wrote = False
        self._asked = False

    async def write(
        self, operation: Callable[[], Operation[T]], place: str, limit: float | None
    ) -> T:
        """`limit` is in seconds, for all up to the COMMIT, and for that."""
        try:
            async with asyncio.timeout(limit):
                await self.begin(BEGIN_WRITE)
                result = await self._run(operation(), self._ask_locked)
                await self._ask_number()
            faults.reach(f"{place}.commit.before")
        except BaseException as error:
            await self._roll_back(error)
            raise
        try:
            await self._connection.execute("COMMIT", timeout=limit)
        except BaseException as error:
            if not (self._connection.is_closed() or is_lost(error)):
                raise  # it was refused
            raise Unsettled(self._number, result) from error
        faults.reach(f"{place}.commit.after")
        return result

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        try:
            await self.begin(BEGIN_READ)
            result = await self._run(operation(), self._ask)
        except BaseException as error:
            await self._roll_back(error)
            raise
        await self._roll_back()
        return result

    async def read_alone(self, operation: Callable[[], Operation[T]]) -> T:
        """Without a transaction: one statement is of one moment by itself. `Longer` if the
        operation asks for a second one, or for one that may not be in a read."""
        try:
            async with asyncio.timeout(ALONE):
                return await self._run(operation(), self._ask_alone)
        except TimeoutError:
            self._connection.terminate()
            raise
        except asyncio.CancelledError:
            await self._catch_up()
            raise

    async def begin(self, sql: str) -> None:
        newer = self._connection.get_server_version().major >= _NEWER
        await self._connection.execute(sql + IN_ALL if newer else sql)

    async def _run(self, operation: Operation[T], ask: Callable[[Query], Awaitable[Rows]]) -> T:
        now = None if self._clock is None else self._clock.now()
        try:
            query = next(operation)
            while True:
                query.parameters["now"] = now
                query = operation.send(await ask(query))
        except StopIteration as stop:
            return stop.value

    async def _ask(self, query: Query) -> Rows:
        statement = self._statements[query.name]
        return await fetch(self._connection, statement.sql, *statement.values(query.parameters))

    async def _ask_alone(self, query: Query) -> Rows:
        sql = self._statements[query.name].sql
        if self._asked or not sql.startswith("SELECT") or "UPDATE" in sql:
            raise Longer
        self._asked = True
        return await self._ask(query)

    async def _ask_locked(self, query: Query) -> Rows:
        """Once a row is locked, it stays so until the transaction ends."""
        statement = self._statements[query.name]
        if statement.locks is not None:
            lock = self._statements[statement.locks]
            values = lock.values(query.parameters)
            if (key := (lock.name, *values)) not in self._held:
                await fetch(self._connection, lock.sql, *values)
                self._held.add(key)
        self._wrote = self._wrote or not statement.sql.startswith("SELECT")
        rows = await self._ask(query)
        if rows and statement.tells is not None:
            self._number = str(rows[0][-1])
            rows = [row[:-1] for row in rows]
        if rows and statement.holds is not None:
            held = self._statements[statement.holds]
            self._held.add((held.name, *held.values(query.parameters)))
        return rows

    async def _ask_number(self) -> None:
        """By which the server can be asked how it ended. None, if nothing was written: whoever only
        looked, or took locks, can do that again."""
        if self._number is None and self._wrote:
            sql = "SELECT pg_current_xact_id_if_assigned()::text"
            ((number,),) = await fetch(self._connection, sql)
            self._number = None if number is None else str(number)

    async def _catch_up(self) -> None:
        """The server is being told to stop the statement: nothing that follows shall be stopped in
        its place, and only then can be told whether it is in a transaction."""
        try:
            await self._connection.execute("SELECT 1")
        except BaseException as error:  # whatever it is, it is of no use any more
            self._connection.terminate()
            if not isinstance(error, Exception):
                raise

    async def _roll_back(self, error: BaseException | None = None) -> None:
        """`error` is what it ended with."""
        connection = self._connection
        if isinstance(error, TimeoutError):
            connection.terminate()  # it would be waited for once more
        if connection.is_closed():
            return
        if isinstance(error, asyncio.CancelledError) and not connection.is_in_transaction():
            await self._catch_up()  # it may be about to be
        if not connection.is_closed() and connection.is_in_transaction():
            await connection.execute("ROLLBACK")
