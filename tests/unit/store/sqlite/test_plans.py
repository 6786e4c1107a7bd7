"""How SQLite answers each statement on a store without statistics, as every store begins."""

import re
from pathlib import Path

import pytest

from roost.store import statements
from roost.store.sqlite.connect import connect_reader

LARGE = (
    "sessions|messages|turns|events|deltas|tool_calls|usage|blobs|session_blobs|inbox|outbox|outbox_pieces|"
    "approvals|leases|memory_segments|facts|facts_applied|entities|entity_names|fact_entities|"
    "search_vectors"
)
ALIASES = "s|m|t|e|d|c|n|a|l|o|f|g|v"
SCAN = re.compile(rf"SCAN ({LARGE}|{ALIASES})$|AUTOMATIC")

# After a repair everything is looked at once, and some of it when a user is removed.
WHOLE = {
    "stand_in_users",
    "stand_in_admin",
    "stand_in_sessions",
    "forget_lost_messages",
    "revive_superseded",
    "name_blobs_again",
    "lost_blobs",
    "recount_all",
    "facts_to_index",
    "facts_to_purge",
    "drop_entities",
    "outbox_of_user",
    "is_still_named",
}

STATEMENTS = {
    name: statement
    for name, statement in statements.load("sqlite").items()
    if name not in WHOLE and not statement.sql.startswith("PRAGMA")
}


FOLDER = Path(statements.__file__).parent / "sql"
FILES = [*sorted((FOLDER / "both").glob("*.sql")), *sorted((FOLDER / "sqlite").glob("*.sql"))]
COMMENTED = re.compile(r"((?:^--(?! name:).*\n)+)-- name: (\w+)\n", re.MULTILINE)
MADE = re.compile(r"INDEX (\w+) ON")
NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")
NAMES_ALONE = re.compile(rf"\(({NAME.pattern}(?:, {NAME.pattern})*)\)")

INDEXES = {
    index
    for migration in (FOLDER / "sqlite" / "migrations").glob("*.sql")
    for index in MADE.findall(migration.read_text(encoding="utf-8"))
}


def named_in(comment: str) -> set[str]:
    """Every index, and what stands in parentheses as one does: it may be none, or none any more."""
    alone = ", ".join(NAMES_ALONE.findall(comment))
    return INDEXES & set(NAME.findall(comment)) | set(NAME.findall(alone))


SERVED = [
    (name, index)
    for file in FILES
    for comment, name in COMMENTED.findall(file.read_text(encoding="utf-8"))
    for index in sorted(named_in(comment.replace("\n-- ", " ")))
]


def plan(new_database: Path, name: str) -> list[str]:
    statement = STATEMENTS[name]
    connection = connect_reader(new_database)
    steps = connection.rows(
        f"EXPLAIN QUERY PLAN {statement.sql}", dict.fromkeys(statement.parameters)
    )
    connection.close()
    return [str(step) for *_, step in steps]


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_walks_a_whole_table(new_database: Path, name: str) -> None:
    assert [step for step in plan(new_database, name) if SCAN.search(step)] == []


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.endswith("_by_id")])
def test_what_is_named_by_id_is_found_by_id(new_database: Path, name: str) -> None:
    """Those who watch a session read so at each of its revisions, however long it has grown."""
    assert "id=?)" in plan(new_database, name)[0]


@pytest.mark.parametrize(("name", "index"), SERVED)
def test_statement_is_served_by_the_index_that_its_comment_names(
    new_database: Path, name: str, index: str
) -> None:
    steps = plan(new_database, name)
    assert [step for step in steps if f" INDEX {index} " in f"{step} "], steps


def test_claims_look_at_what_waits_and_at_nothing_else(new_database: Path) -> None:
    assert plan(new_database, "answered_sessions")[0] == "SCAN t USING INDEX turns_parked"
    assert plan(new_database, "queued_sessions")[0] == "SCAN t USING INDEX turns_arrival"
    assert "USING INDEX leases_held" in plan(new_database, "claimed_sessions")[0]
    assert "USING INDEX turns_interrupted" in plan(new_database, "continuable_turns")[0]


def test_upload_adds_up_nothing(new_database: Path) -> None:
    steps = plan(new_database, "size_of_blobs")
    assert steps[-1] == "SEARCH blob_totals USING PRIMARY KEY (user_id=?)"


def test_every_index_serves_a_statement(new_database: Path) -> None:
    connection = connect_reader(new_database)
    rows = connection.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    )
    connection.close()
    steps = " ".join([step for name in STATEMENTS for step in plan(new_database, name)])
    assert [name for (name,) in rows if f" INDEX {name} " not in f"{steps} "] == []


@pytest.mark.parametrize("name", STATEMENTS)
def test_parameters_are_numbered_as_sqlite_numbers_them(new_database: Path, name: str) -> None:
    """They are bound by position."""
    statement = STATEMENTS[name]
    connection = connect_reader(new_database)
    cursor = connection.cursor()
    given = dict.fromkeys(statement.parameters)
    cursor.execute(f"EXPLAIN {statement.sql}", given)  # pyright: ignore[reportUnknownMemberType]
    assert cursor.bindings_names == statement.parameters
    connection.close()
