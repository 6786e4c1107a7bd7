"""Rescues what can be read of a damaged store into a new one, after making a copy."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import msgspec

from roost.core.clock import SystemClock
from roost.core.errors import DataFolderError
from roost.store import statements
from roost.store.folder import DATABASE, OwnerLock, sync_folder, this_process
from roost.store.migrations import load
from roost.store.operations import Operation, Row, query
from roost.store.sqlite.connect import Connection, connect_reader, connect_writer, explained
from roost.store.sqlite.damage import problems_in
from roost.store.sqlite.runner import Runner
from roost.store.sqlite.schema import migrate, read_schema


class Repair(msgspec.Struct, frozen=True):
    """`copy` is the store as it was; `kept` counts rows by table; `lost` says, in words, what could
    not be read."""

    copy: Path
    kept: dict[str, int]
    lost: list[str]


def check(folder: Path) -> list[str]:
    """Problems of the store in a folder; none if it is fine, or not there yet."""
    path = folder / DATABASE
    if not path.exists():
        return []
    with explained(path):
        return problems_in(path)


def schema_version(folder: Path) -> int | None:
    path = folder / DATABASE
    if not path.exists():
        return None
    with explained(path):
        connection = connect_reader(path)
        try:
            return read_schema(connection, path).version
        finally:
            connection.close()


def repair(folder: Path, version: str) -> Repair:
    """Copy the damaged files, read every row that can be read into a new store, put it in place.

    The search index is not copied: it is made again from the messages.
    """
    path = folder / DATABASE
    if not path.exists():
        raise DataFolderError("there is no store in it. Nothing to repair.", folder=folder)
    lock = OwnerLock(folder, this_process(version, SystemClock().now()))
    try:
        copy = folder / time.strftime("damaged-%Y%m%d-%H%M%S")
        copy.mkdir(mode=0o700)
        for file in _files(path):
            shutil.copy2(file, copy / file.name)
        rescued = path.with_name("rescued.db")
        for file in _files(rescued):
            file.unlink()
        with explained(path):
            kept, lost = _rescue(copy / DATABASE, rescued)
        for file in _files(path):
            if file != path:
                file.unlink()
        rescued.replace(path)
        sync_folder(folder)
    finally:
        lock.release()
    return Repair(copy, kept, lost)


def _files(path: Path) -> list[Path]:
    """A database and what belongs to it."""
    names = (path.name, f"{path.name}-wal", f"{path.name}-shm")
    return [file for name in names if (file := path.with_name(name)).exists()]


def _rescue(source: Path, target: Path) -> tuple[dict[str, int], list[str]]:
    damaged = connect_reader(source)
    rescued = connect_writer(target)
    try:
        migrate(rescued, load("sqlite"), SystemClock())
        rescued.rows("pragma foreign_keys = off")
        rescued.rows("BEGIN IMMEDIATE")
        kept, lost = _copy_tables(damaged, rescued)
        lost += _mend(rescued)
        rescued.rows("COMMIT")
        return kept, lost
    finally:
        damaged.close()
        rescued.close()


def _copy_tables(damaged: Connection, rescued: Connection) -> tuple[dict[str, int], list[str]]:
    there = {str(name) for (name,) in damaged.rows("SELECT name FROM sqlite_schema")}
    kept: dict[str, int] = {}
    lost: list[str] = []
    for table in _tables(rescued):
        if table not in there:
            continue
        columns = sorted(_columns(damaged, table) & _columns(rescued, table))
        names = ", ".join(columns)
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608
        before = rescued.total_changes()
        complete = True
        for backwards in (False, True):
            rows = _readable(damaged, table, names, backwards=backwards)
            for row in rows:
                if row is None:
                    complete = False
                else:
                    rescued.rows(insert, row)
            if complete:
                break
        kept[table] = rescued.total_changes() - before
        if not complete:
            lost.append(f"some rows of {table} could not be read")
    return kept, lost


def _readable(
    damaged: Connection, table: str, names: str, *, backwards: bool
) -> Iterator[Row | None]:
    """The rows up to the first unreadable place, which is None. Read from both ends, a table gives
    all but what lies between its first and its last damaged page."""
    order = ", ".join(f"{key} DESC" if backwards else key for key in _key(damaged, table))
    try:
        yield from damaged.each(f"SELECT {names} FROM {table} NOT INDEXED ORDER BY {order}")  # noqa: S608
    except apsw.Error:
        yield None


def _tables(connection: Connection) -> list[str]:
    """The tables that hold what users have; the search index is made again."""
    rows = connection.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search*' "
        "AND name NOT GLOB 'sqlite_*' AND name <> 'schema'"
    )
    return [str(name) for (name,) in rows]


def _columns(connection: Connection, table: str) -> set[str]:
    rows = connection.rows("SELECT name FROM pragma_table_info(?)", (table,))
    return {str(name) for (name,) in rows}


def _key(connection: Connection, table: str) -> list[str]:
    """What the table itself is ordered by."""
    ((without_rowid,),) = connection.rows("SELECT wr FROM pragma_table_list(?)", (table,))
    if not without_rowid:
        return ["rowid"]
    rows = connection.rows(
        "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,)
    )
    return [str(name) for (name,) in rows]


def _mend(rescued: Connection) -> list[str]:
    """Make the rescued rows a store again: nothing names what is missing, counters are true."""
    runner = Runner(rescued, statements.load("sqlite"), SystemClock())

    def run(statement: str) -> Operation[int]:
        return len((yield query(statement)))

    lost = [
        f"{count} {what}; stand-ins were made"
        for statement, what in (
            ("stand_in_users", "user accounts"),
            ("stand_in_admin", "administrator accounts"),
            ("stand_in_sessions", "sessions' own rows, not their messages"),
        )
        if (count := runner.run(run(statement)))
    ]
    while rescued.rows("pragma foreign_key_check"):
        for table in _tables(rescued):
            lost += _drop_orphans(rescued, table)
    runner.run(run("recount_all"))
    runner.run(run("index_anew"))
    return lost


def _drop_orphans(rescued: Connection, table: str) -> list[str]:
    """Rows whose parent is lost go too, or let go of it where the column may be empty."""
    lost: list[str] = []
    optional = {
        str(name)
        for (name,) in rescued.rows(
            'SELECT name FROM pragma_table_info(?) WHERE "notnull" = 0', (table,)
        )
        # A rule for one session, without its session, would be one for all.
        if table != "approval_rules"
    }
    for parent, column in rescued.rows(
        'SELECT "table", "from" FROM pragma_foreign_key_list(?)', (table,)
    ):
        orphaned = f"{column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {parent})"  # noqa: S608
        if column in optional:
            rescued.rows(f"UPDATE {table} SET {column} = NULL WHERE {orphaned}")  # noqa: S608
        else:
            rescued.rows(f"DELETE FROM {table} WHERE {orphaned}")  # noqa: S608
            if count := rescued.changes():
                lost.append(f"{count} rows of {table}, whose {column} could not be read")
    return lost
