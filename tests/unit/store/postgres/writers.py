"""Somebody else who writes to the database of a store, as another server does."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.keys import StoreAddress
from roost.store.operations import Rows, SqlValue
from roost.store.postgres import dialect
from roost.store.postgres.connect import Connection, connect, fetch
from tests.store_driver import databases, eventually


@asynccontextmanager
async def transaction(folder: Path) -> AsyncGenerator[Connection]:
    """One that somebody else has open, committed at the end of the block."""
    connection = await connect(StoreAddress(databases[folder]), cached=False)
    try:
        await connection.execute("BEGIN")
        yield connection
        await connection.execute("COMMIT")
    finally:
        await connection.close(timeout=60)


async def ask(connection: Connection, name: str, /, **given: SqlValue) -> Rows:
    """One of the store's own statements."""
    statement = dialect.load(server_clock=True)[name]
    return await fetch(connection, statement.sql, *statement.values(given))


async def somebody_waits(connection: Connection) -> None:
    """Until a statement of somebody's waits for a lock of ours."""

    async def waits() -> bool:
        sql = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        ((number,),) = await fetch(connection, sql)
        return bool(number)

    await eventually(waits)
