"""Brings a PostgreSQL store to the schema of this Roost, and refuses one that is newer."""

import asyncio
import time
from collections.abc import Sequence

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import msgspec
import structlog

from roost.core.errors import StoreError, StoreUnavailable
from roost.core.keys import StoreAddress
from roost.store.migrations import Migration, Schema, load, pending
from roost.store.postgres import dialect
from roost.store.postgres.connect import (
    CONNECT_TIMEOUT,
    Connection,
    connect,
    explained,
    fetch,
)
from roost.store.servers import KnownServer
from roost.testing import faults

log = structlog.get_logger()

OLDEST = 150_000
"""The server's version, as it says it itself."""

_LOCK = 0x526F7374  # "Rost"
_BEGIN = (
    "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; "
    f"SET LOCAL client_min_messages = warning; SELECT pg_advisory_xact_lock({_LOCK})"
)
WAIT = "3s"
"""For a table that a migration changes. All servers wait behind it, and it behind whoever reads
that table: a backup may do so for hours."""
PAUSE = 10.0
"""Seconds in which they can work, before the next try."""
PATIENCE = 600.0
"""Seconds for which it is tried."""
_TABLE = """
CREATE TABLE IF NOT EXISTS schema (
    version     BIGINT PRIMARY KEY,
    minimum     BIGINT NOT NULL,
    digest      TEXT NOT NULL,
    applied_at  BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
)
"""


async def migrate(address: StoreAddress) -> None:
    """Each migration in a transaction of its own, under a lock that ends with it: of several
    servers that start at once, one migrates, and the others find it done."""
    connection = await connect(address, cached=False)
    try:
        await _check_server(connection, address)
        known = load("postgres")
        while await _migrate_when_free(connection, known, address):
            faults.reach("store.migrate.after")
    finally:
        await connection.close(timeout=CONNECT_TIMEOUT)


async def _migrate_when_free(
    connection: Connection, known: list[Migration], address: StoreAddress
) -> bool:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await _migrate_once(connection, known, address)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError) as error:
            await connection.execute("ROLLBACK")
            if time.monotonic() > deadline:
                reason = "its tables can't be changed while something reads them, as a backup does"
                raise StoreUnavailable(reason, path=address) from error
            log.warning("a table can't be changed while others use it; trying again")
        await asyncio.sleep(PAUSE)


async def _migrate_once(
    connection: Connection, known: list[Migration], address: StoreAddress
) -> bool:
    await connection.execute(f"{_BEGIN}; SET LOCAL lock_timeout = '{WAIT}'; {_TABLE}")
    missing = pending(await read_schema(connection), known, address)
    if not missing:
        await connection.execute("ROLLBACK")
        return False
    migration = missing[0]
    await connection.execute(migration.sql)
    await connection.execute(
        "INSERT INTO schema (version, minimum, digest) VALUES ($1, $2, $3)",
        migration.version,
        migration.minimum,
        migration.digest,
    )
    faults.reach("store.migrate.before")
    await connection.execute("COMMIT")
    return True


class Seen(msgspec.Struct, frozen=True):
    """What can be seen of a store without opening it: its schema, if there is one, and its
    servers."""

    schema: Schema | None = None
    servers: Sequence[KnownServer] = ()


async def look(address: StoreAddress) -> Seen:
    with explained(address):
        connection = await connect(address, cached=False)
        try:
            return await _look(connection)
        finally:
            await connection.close(timeout=CONNECT_TIMEOUT)


async def _look(connection: Connection) -> Seen:
    ((there,),) = await fetch(connection, "SELECT to_regclass('schema')::text")
    if there is None:
        return Seen()
    rows = await fetch(connection, dialect.load(server_clock=True)["known_servers"].sql)
    servers = msgspec.convert(rows, list[KnownServer], strict=False)
    return Seen(await read_schema(connection), servers)


async def read_schema(connection: Connection) -> Schema:
    (row,) = await fetch(connection, "SELECT max(version), max(minimum) FROM schema")
    return Schema() if row[0] is None else msgspec.convert(row, Schema)


async def _check_server(connection: Connection, address: StoreAddress) -> None:
    sql = "SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding')"
    ((version, encoding),) = await fetch(connection, sql)
    if isinstance(version, int) and version < OLDEST:
        raise StoreError(
            f"{address} is PostgreSQL {version // 10_000}; Roost needs {OLDEST // 10_000} or newer."
        )
    if encoding != "UTF8":
        raise StoreError(
            f"The database {address} is encoded as {encoding}; Roost needs UTF8: "
            "createdb --encoding=UTF8 --template=template0 …"
        )
