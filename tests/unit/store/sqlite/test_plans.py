"""How SQLite answers each statement on a store without statistics, as every store begins."""

import re
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.store import statements
from roost.store.folder import DATABASE
from roost.store.migrations import load
from roost.store.sqlite.connect import connect_reader, connect_writer
from roost.store.sqlite.schema import migrate

LARGE = "sessions|messages|turns|events|deltas|tool_calls|usage|blobs|session_blobs|inbox|outbox"
ALIASES = "s|m|t|e|d|c|n"
SCAN = re.compile(rf"SCAN ({LARGE}|{ALIASES})$|AUTOMATIC")

# After a repair everything is looked at once; blobs are looked through once a day, in slices.
WHOLE = {
    "stand_in_users",
    "stand_in_admin",
    "stand_in_sessions",
    "forget_lost_messages",
    "name_blobs_again",
    "lost_blobs",
    "recount_all",
    "forget_blobs",
}

STATEMENTS = {
    name: statement
    for name, statement in statements.load("sqlite").items()
    if name not in WHOLE and not statement.sql.startswith("PRAGMA")
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / DATABASE
    connection = connect_writer(path)
    migrate(connection, load("sqlite"), SystemClock())
    connection.close()
    return path


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_walks_a_whole_table(database: Path, name: str) -> None:
    statement = STATEMENTS[name]
    connection = connect_reader(database)
    plan = connection.rows(
        f"EXPLAIN QUERY PLAN {statement.sql}", dict.fromkeys(statement.parameters)
    )
    connection.close()
    assert [step for *_, step in plan if SCAN.search(str(step))] == []
