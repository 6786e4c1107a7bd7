"""How far a move has come, written down where the rows go: in PostgreSQL."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import ConfigError
from roost.core.keys import StoreAddress
from roost.store.postgres.connect import CONNECT_TIMEOUT, Connection, connect, fetch

# One row for each table: its first `rows` rows are here, and have this checksum. The row without a
# name is the move's: its checksum says which store is moved.
_MAKE = """
CREATE TABLE IF NOT EXISTS migration (
    name        TEXT COLLATE "C" PRIMARY KEY,
    rows        BIGINT NOT NULL DEFAULT 0,
    checksum    TEXT NOT NULL,
    done_at     BIGINT
)
"""
_CLOSE = """
UPDATE migration SET done_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
WHERE name = ''
"""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    rows: int
    checksum: str
    done_at: int | None


async def read_book(connection: Connection) -> dict[str, Entry]:
    """By table; nothing if nothing was ever moved here."""
    ((there,),) = await fetch(connection, "SELECT to_regclass('migration')::text")
    if there is None:
        return {}
    rows = await fetch(connection, "SELECT name, rows, checksum, done_at FROM migration")
    return {str(row[0]): msgspec.convert(row[1:], Entry) for row in rows}


async def open_book(
    connection: Connection, identity: str, names: Sequence[str], empty: str
) -> None:
    """In a transaction. `empty` is the checksum of no rows."""
    await connection.execute(_MAKE)
    insert = "INSERT INTO migration (name, checksum) VALUES ($1, $2)"
    await connection.execute(insert, "", identity)
    for name in names:
        await connection.execute(insert, name, empty)


async def note(connection: Connection, name: str, before: int, rows: int, checksum: str) -> bool:
    """In the transaction that brings the rows. False if somebody else brought some meanwhile."""
    update = "UPDATE migration SET rows = $3, checksum = $4 WHERE name = $1 AND rows = $2"
    return await connection.execute(update, name, before, rows, checksum) == "UPDATE 1"


async def close_book(connection: Connection) -> None:
    await connection.execute(_CLOSE)


async def refuse_if_unfinished(address: StoreAddress) -> None:
    """Half a store looks like a whole one."""
    connection = await connect(address, cached=False)
    try:
        move = (await read_book(connection)).get("")
    finally:
        await connection.close(timeout=CONNECT_TIMEOUT)
    if move is not None and move.done_at is None:
        raise ConfigError(
            f"A store is being moved to {address}, and not all of it is there. Finish it first: "
            "run `roost migrate` again."
        )
