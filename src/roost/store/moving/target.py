"""The database that a store is moved to."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from roost.core.errors import Conflict
from roost.core.keys import StoreAddress
from roost.store.migrations import SCHEMA_VERSION
from roost.store.moving.book import Entry, close_book, note, open_book, read_book
from roost.store.moving.tables import TABLES, Table
from roost.store.moving.tally import Tally
from roost.store.operations import Row
from roost.store.postgres.connect import (
    CONNECT_TIMEOUT,
    Connection,
    connect,
    explained,
    fetch,
)
from roost.store.postgres.schema import look
from roost.store.servers import KnownServer
from roost.testing import faults

_BEGIN = "BEGIN; SET LOCAL statement_timeout = 0"
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0"
_COLUMNS = """
SELECT column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER'
ORDER BY ordinal_position
"""
_NUMBERED = """
SELECT table_name::text, column_name::text FROM information_schema.columns
WHERE table_schema = current_schema() AND is_identity = 'YES'
"""
_AT_ONCE = 50
"""Rows that are fetched together. Some are large."""


class Target:
    def __init__(self, connection: Connection, address: StoreAddress) -> None:
        self.address = address
        self._connection = connection

    async def check(self, identity: str) -> Entry | None:
        """How far this store's move has come. It is refused where anything else is."""
        seen = await look(self.address)
        if seen.schema is None:
            return None
        self._refuse_schema(seen.schema.version, seen.servers)
        move = (await read_book(self._connection)).get("")
        if move is not None and move.checksum != identity:
            raise Conflict(f"Another store was moved to {self.address}. Choose another database.")
        if move is None:
            await self._refuse_if_used()
        return move

    def _refuse_schema(self, version: int, servers: Sequence[KnownServer]) -> None:
        """One that is older may be all that a move had made when it was broken off."""
        if version > SCHEMA_VERSION:
            raise Conflict(
                f"{self.address} has the schema {version}, and this Roost's is {SCHEMA_VERSION}. "
                "Use the same Roost for both, or another database."
            )
        if version < SCHEMA_VERSION and servers:
            names = ", ".join([server.id for server in servers])
            raise Conflict(
                f"{self.address} is in use by an older Roost, {names}. A store is moved to an "
                "empty database only; nothing was changed."
            )

    async def _refuse_if_used(self) -> None:
        for table in TABLES:
            sql = f"SELECT 1 FROM {table.name} WHERE NOT ({table.beside}) LIMIT 1"  # noqa: S608
            if await fetch(self._connection, sql):
                raise Conflict(
                    f"{self.address} is in use: it has {table.name.replace('_', ' ')}. A store is "
                    "moved to an empty database only; nothing was changed."
                )

    async def begin(self, identity: str) -> None:
        await self._connection.execute(_BEGIN)
        await open_book(self._connection, identity, [t.name for t in TABLES], Tally().checksum)
        await self._connection.execute("COMMIT")

    async def book(self) -> dict[str, Entry]:
        return await read_book(self._connection)

    async def columns(self, table: Table) -> list[str]:
        return [str(name) for (name,) in await fetch(self._connection, _COLUMNS, table.name)]

    async def put(
        self, table: Table, columns: Sequence[str], rows: Sequence[Row], tally: Tally
    ) -> None:
        """The next rows of a table, and that they are here, in one transaction."""
        await self._connection.execute(_BEGIN)
        await self._connection.copy_records_to_table(table.name, records=rows, columns=columns)
        before = tally.rows - len(rows)
        if not await note(self._connection, table.name, before, tally.rows, tally.checksum):
            raise Conflict("Another process moves this store at the same time.")
        faults.reach("move.slice.before")
        await self._connection.execute("COMMIT")
        faults.reach("move.slice.after")

    async def rows(self, table: Table, columns: Sequence[str]) -> AsyncIterator[Row]:
        """All of a table that was moved, one by one in order of its key."""
        sql = (
            f"SELECT {', '.join(columns)} FROM {table.name} WHERE NOT ({table.beside}) "  # noqa: S608
            f"ORDER BY {', '.join(table.key)}"
        )
        await self._connection.execute(_BEGIN_READ)
        async for row in self._connection.cursor(sql, prefetch=_AT_ONCE):
            yield tuple(row)
        await self._connection.execute("ROLLBACK")

    async def measure(self) -> None:
        """Have the server look at what there is now: it plans by what it knows of tables."""
        await self._connection.execute("ANALYZE")

    async def number(self, sql: str) -> int:
        ((found,),) = await fetch(self._connection, sql)
        return int(str(found))

    async def finish(self) -> None:
        """What is numbered goes on after the highest; and all of it is told to be here."""
        await self._connection.execute(_BEGIN)
        for table, column in await fetch(self._connection, _NUMBERED):
            await self._connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "  # noqa: S608
                f"coalesce(max({column}), 0) + 1, false) FROM {table}"
            )
        await close_book(self._connection)
        await self._connection.execute("COMMIT")


@asynccontextmanager
async def reached(address: StoreAddress) -> AsyncGenerator[Target]:
    with explained(address):
        connection = await connect(address, cached=False)
        try:
            yield Target(connection, address)
        finally:
            await connection.close(timeout=CONNECT_TIMEOUT)
