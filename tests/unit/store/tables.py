"""The rows of a store, as they lie in its database."""

from itertools import pairwise
from pathlib import Path

from roost.core.ids import BlobId, SessionId, UserId
from roost.core.keys import StoreAddress
from roost.store.folder import BLOBS, DATABASE
from roost.store.operations import Rows
from roost.store.postgres.connect import connect, fetch
from roost.store.sqlite.connect import connect_writer
from tests.store_driver import databases

_COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'search%'",
    "postgres": "SELECT c.table_name, c.column_name FROM information_schema.columns c"
    " JOIN pg_tables t ON t.tablename = c.table_name"
    " WHERE c.table_schema = 'public' AND c.table_name NOT LIKE 'search%'",
}


async def run_sql(folder: Path, sql: str) -> Rows:
    """Past the store: what nobody could do through it, and what it does not show."""
    if (url := databases.get(folder)) is not None:
        connection = await connect(StoreAddress(url), cached=False)
        try:
            return await fetch(connection, sql)
        finally:
            await connection.close(timeout=60)
    database = connect_writer(folder / DATABASE)
    try:
        return database.rows(sql)
    finally:
        database.close()


async def lose_bytes(folder: Path, blob: BlobId) -> None:
    if folder in databases:
        await run_sql(folder, f"DELETE FROM blob_pieces WHERE blob_id = '{blob}'")
    else:
        (folder / BLOBS / blob[:2] / blob).unlink()


async def lose_row(folder: Path, blob: BlobId) -> None:
    """As a repair does that could not read it."""
    await run_sql(folder, f"DELETE FROM blobs WHERE id = '{blob}'")


async def chain_below(folder: Path, session: SessionId, length: int) -> list[SessionId]:
    """Subagents that each work for the one before."""
    chain = [session, *[SessionId(f"ses_{number:026}") for number in range(length)]]
    parents = ", ".join([f"('{id}', '{above}')" for above, id in pairwise(chain)])
    await run_sql(
        folder,
        "INSERT INTO sessions (id, user_id, origin, parent, parent_kind, created_at, active_at) "
        f"WITH v (id, above) AS (VALUES {parents}) SELECT v.id, s.user_id, 'subagent', "
        """'{"session":"' || v.above || '","kind":"subagent"}', 'subagent', 1, 1 """
        f"FROM v CROSS JOIN sessions s WHERE s.id = '{session}'",
    )
    return chain[1:]


def session_of_messages(folder: Path, session: SessionId) -> tuple[str, str]:
    """The column in which messages name their session, and what stands there for this one."""
    if folder in databases:
        return "session_id", f"'{session}'"
    return "session_number", f"(SELECT number FROM sessions WHERE id = '{session}')"


async def rows_naming(folder: Path, id: SessionId | UserId) -> dict[str, int]:
    """Every table that still has the id in some column, with how many rows do."""
    backend = "postgres" if folder in databases else "sqlite"
    columns = await run_sql(folder, _COLUMNS[backend])
    counts = " UNION ALL ".join(
        [
            f"SELECT '{table}', count(*) FROM {table}"
            f" WHERE CAST(\"{column}\" AS TEXT) LIKE '%{id}%'"
            for table, column in columns
        ]
    )
    return {str(table): int(str(n)) for table, n in await run_sql(folder, counts) if n}
