"""Reads the rows of a damaged database, around the places that can't be read."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import apsw

from roost.store.operations import Row, SqlValue
from roost.store.sqlite.connect import Connection

_LAST_ROWID = 1 << 62

_JSON = {
    "messages": "parts",
    "turns": "input",
    "events": "body",
    "deltas": "body",
    "prompts": "tools",
    "outbox": "body",
}
"""Columns long enough to reach over several pages: SQLite does not notice when it reads on in
somebody else's, but then what comes is no JSON."""


def connect_damaged(path: Path) -> Connection:
    """Reads on where SQLite would refuse the whole file: one that is too short, an odd schema."""
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.rows("pragma writable_schema = on")
    return connection


def copy_tables(
    damaged: Connection, rescued: Connection, there: set[str]
) -> tuple[dict[str, int], list[str]]:
    """Copy what can be read of each table that is `there`: how many rows that were, and which
    tables lost some."""
    kept: dict[str, int] = {}
    lost: list[str] = []
    for table in tables_of(rescued):
        if table in there:
            kept[table], complete = _copy(damaged, rescued, table)
            if not complete:
                lost.append(f"some rows of {in_words(table)} could not be read")
    return kept, lost


def _copy(damaged: Connection, rescued: Connection, table: str) -> tuple[int, bool]:
    names = sorted(_columns(damaged, table) & _columns(rescued, table))
    taken = names
    if table == "messages" and "session_number" not in names:  # before version 11
        _number_by_id(damaged, rescued)
        names, taken = [*names, "session_number"], [*names, "number_of(session_id)"]
    marks = ", ".join([_mark(name, number) for number, name in enumerate(names, 1)])
    sound = f"json_valid(?{names.index(_JSON[table]) + 1})" if table in _JSON else "true"
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) SELECT {marks} WHERE {sound}"
    kept, complete = 0, True
    # What one direction jumps over beyond a gap, the other reads.
    for backwards in (False, True):
        for row in _readable(damaged, table, taken, backwards=backwards):
            inserted = row is not None and _insert(rescued, insert, row)
            kept += inserted
            complete = inserted and complete
        if complete:
            break
    return kept, complete


def _number_by_id(damaged: Connection, rescued: Connection) -> None:
    """The numbers that sessions have by now. A lost one gets the next, and a stand-in later."""
    rows = rescued.rows("SELECT id, number FROM sessions")
    numbers = {id: int(str(number)) for id, number in rows}
    free = count(max(numbers.values(), default=0) + 1)

    def number_of(*values: SqlValue) -> SqlValue:
        (session,) = values
        if session not in numbers:
            numbers[session] = next(free)
        return numbers[session]

    damaged.create_scalar_function("number_of", number_of, 1)  # pyright: ignore[reportUnknownMemberType]


def _mark(name: str, number: int) -> str:
    """What a write did is no reason to lose its message: whoever asks for it is told that it is
    gone."""
    return f"iif(json_valid(?{number}), ?{number}, NULL)" if name == "events" else f"?{number}"


def _insert(rescued: Connection, insert: str, row: Row) -> bool:
    """Whether the row is one: a damaged page can also give rows that make no sense."""
    try:
        rescued.rows(insert, row)
    except apsw.ConstraintError:
        return False
    return rescued.changes() == 1


def _readable(
    damaged: Connection, table: str, names: list[str], *, backwards: bool
) -> Iterator[Row | None]:
    """The rows in order of their key; None stands for those that could not be read."""
    columns = ", ".join(names)
    if key := _key_without_rowid(damaged, table):
        order = ", ".join(f"{name} DESC" if backwards else name for name in key)
        # Up to the first gap: nobody can tell what a key beyond it is.
        yield from _until_unreadable(damaged, f"SELECT {columns} FROM {table} ORDER BY {order}")  # noqa: S608
        return
    compare, order, at, step = ("<", "DESC", _LAST_ROWID, -1) if backwards else (">", "", 0, 1)
    select = (
        f"SELECT rowid, {columns} FROM {table} NOT INDEXED"  # noqa: S608
        f" WHERE rowid {compare} ? ORDER BY rowid {order}"
    )
    jump = step
    while 0 <= at <= _LAST_ROWID:
        for found in _until_unreadable(damaged, select, at):
            # A damaged page can also give a row from before, again and again.
            if found is None or (number := int(str(found[0]))) * step <= at * step:
                yield None
                break
            at, jump = number, step
            yield found[1:]
        else:
            return
        at, jump = at + jump, jump * 2


def _until_unreadable(damaged: Connection, select: str, *at: int) -> Iterator[Row | None]:
    try:
        yield from damaged.each(select, at)
    except apsw.Error:
        yield None


def in_words(name: str) -> str:
    """The name of a table, or of a column that names a row of another."""
    return re.sub("_(id|number)$", "", name).replace("_", " ")


def tables_of(connection: Connection) -> list[str]:
    """The tables that hold what users have; the search index is made again, and triggers count
    blobs."""
    rows = connection.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search*' "
        "AND name NOT GLOB 'sqlite_*' AND name NOT IN ('schema', 'blob_totals')"
    )
    return [str(name) for (name,) in rows]


def _columns(connection: Connection, table: str) -> set[str]:
    rows = connection.rows("SELECT name FROM pragma_table_info(?)", (table,))
    return {str(name) for (name,) in rows}


def _key_without_rowid(connection: Connection, table: str) -> list[str]:
    """What a table without rowids is ordered by; nothing, for one that has them."""
    rows = connection.rows(
        "SELECT i.name FROM pragma_table_list(?1) l, pragma_table_info(?1) i "
        "WHERE l.wr = 1 AND i.pk > 0 ORDER BY i.pk",
        (table,),
    )
    return [str(name) for (name,) in rows]
