"""Brings a SQLite store to the schema of this Roost, and refuses one that is newer."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from roost.core.clock import Clock
from roost.core.errors import DataFolderError
from roost.store.folder import BLOBS, WORKSPACES, is_there
from roost.store.migrations import Migration, Schema, pending
from roost.store.sqlite.connect import Connection, connect_reader
from roost.testing import faults

_APPLICATION_ID = 0x526F7374  # "Rost": tells file(1), and us, whose file it is

_TABLE = """
CREATE TABLE schema (
    version     INTEGER PRIMARY KEY,
    minimum     INTEGER NOT NULL,
    digest      TEXT NOT NULL,
    applied_at  INTEGER NOT NULL
) STRICT
"""


def read_schema(connection: Connection, path: Path) -> Schema:
    (application_id,) = connection.rows("pragma application_id")[0]
    tables = connection.rows("select count(*) from sqlite_schema")[0][0]
    if application_id != _APPLICATION_ID:
        if tables:
            reason = f"its {path.name} is not one of Roost's. Choose another with --data."
            raise DataFolderError(reason, folder=path.parent)
        return Schema()
    rows = connection.rows("SELECT max(version), max(minimum) FROM schema")
    return msgspec.convert(rows[0], Schema)


def is_unborn(path: Path) -> bool:
    """Whether there is nothing in it yet. What comes after a store's birth says that there was:
    to begin anew beside it would hide the loss, and end in removing it."""
    if is_there(path) and path.stat().st_size:
        return False
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise _lost(path, log.name, "its log is")
    _refuse_if_it_lived(path)
    return True


def refuse_if_emptied(connection: Connection, schema: Schema, path: Path) -> None:
    """Without its log, a store that was killed young is as it was born, or not even that."""
    if not schema.version or not connection.rows("SELECT 1 FROM users LIMIT 1"):
        _refuse_if_it_lived(path)


def _refuse_if_it_lived(path: Path) -> None:
    for name, (pattern, left) in _SIGNS.items():
        if any((path.parent / name).glob(pattern)):
            raise _lost(path, name, left)


_SIGNS = {
    BLOBS: ("??/*", "attachments are"),
    WORKSPACES: ("ses_*", "workspaces of its sessions are"),
}


def _lost(path: Path, name: str, left: str) -> DataFolderError:
    what = "empty" if path.exists() else "missing"
    reason = (
        f"its {path.name} is {what}, but {left} there. Restore a backup, or move {name} away to "
        "begin anew."
    )
    return DataFolderError(reason, folder=path.parent)


def check_before_opening(path: Path, known: list[Migration]) -> Schema:
    """The schema of a store, read without changing a byte of it."""
    if is_unborn(path):
        return Schema()
    if path.with_name(f"{path.name}-journal").exists():
        _undo_half_a_birth(path)
    connection = connect_reader(path)
    try:
        schema = read_schema(connection, path)
        pending(schema, known, path)
        refuse_if_emptied(connection, schema, path)
        return schema
    finally:
        connection.close()


def _undo_half_a_birth(path: Path) -> None:
    """Before a new store keeps a write-ahead log, a crash leaves a rollback journal behind, which
    only a connection that may write can apply."""
    connection = Connection(str(path))
    try:
        connection.rows("SELECT count(*) FROM sqlite_schema")
    finally:
        connection.close()


def migrate(connection: Connection, migrations: Sequence[Migration], clock: Clock) -> None:
    """Each in a transaction of its own: after a crash, the store is before or after it. Then it is
    in the file too: who loses the log of a new one does not lose all of it."""
    for migration in migrations:
        connection.rows("BEGIN IMMEDIATE")
        try:
            if migration.version == 1:
                connection.rows(f"pragma application_id = {_APPLICATION_ID}")
                connection.rows(_TABLE)
            connection.rows(migration.sql)
            connection.rows(
                "INSERT INTO schema VALUES (?, ?, ?, ?)",
                (migration.version, migration.minimum, migration.digest, clock.now()),
            )
            faults.reach("store.migrate.before")
            connection.rows("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rows("ROLLBACK")
            raise
        faults.reach("store.migrate.after")
    if migrations:
        connection.wal_checkpoint()
