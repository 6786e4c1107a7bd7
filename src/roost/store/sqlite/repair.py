"""Rescues what can be read of a damaged store into a new one, after making a copy."""

import shutil
import time
from pathlib import Path

import apsw
import msgspec

from roost.core.clock import SystemClock
from roost.core.errors import DataFolderError, StoreLost, StoreTooNew
from roost.store.folder import (
    BLOBS,
    DATABASE,
    OwnerLock,
    sync_file,
    sync_folder,
    this_process,
)
from roost.store.migrations import Schema, load
from roost.store.sqlite.connect import Connection, connect_reader, connect_writer, explained
from roost.store.sqlite.damage import problems_in
from roost.store.sqlite.mend import mend
from roost.store.sqlite.rescue import connect_damaged, copy_tables
from roost.store.sqlite.schema import is_unborn, migrate, read_schema, refuse_if_emptied
from roost.store.sqlite.swap import database_of, files_of, finish, swap_in

RESCUED = "rescued.db"


class Repair(msgspec.Struct, frozen=True):
    """`copy` is the store as it was; `kept` counts rows by table; `lost` says, in words, what could
    not be read."""

    copy: Path
    kept: dict[str, int]
    lost: list[str]


def check(folder: Path) -> list[str]:
    """Problems of the store in a folder; none if it is fine, or not there yet."""
    path = database_of(folder)
    if is_unborn(path):
        return []
    with explained(path):
        return problems_in(path)


def schema_of(folder: Path) -> Schema | None:
    """What the store in a folder says of itself; None if it is not there yet, or not further than a
    crash at its birth let it come."""
    path = database_of(folder)
    if is_unborn(path):
        return None
    with explained(path):
        connection = connect_reader(path)
        try:
            found = read_schema(connection, path)
            refuse_if_emptied(connection, found, path)
            return found if found.version else None
        finally:
            connection.close()


def repair(folder: Path, version: str) -> Repair:
    """Copy the damaged files, read every row that can be read into a new store, put it in place.

    The search index is not copied: it is made again from the messages. If nothing can be read, or
    anything goes wrong, all stays as it was. So does the store of a newer Roost: what this one does
    not know would be lost.
    """
    path = folder / DATABASE
    if is_unborn(database_of(folder)):
        raise DataFolderError("there is no store in it. Nothing to repair.", folder=folder)
    lock = OwnerLock(folder, this_process(version, SystemClock().now()))
    copy = _free_name(folder / time.strftime("damaged-%Y%m%d-%H%M%S"))
    try:
        finish(folder)
        with explained(path):
            kept, lost = _rescue(path, folder / RESCUED)
        _copy_files(path, copy)
        swap_in(folder / RESCUED)
    except OSError as error:
        shutil.rmtree(copy, ignore_errors=True)
        reason = f"{error.strerror or error}. The store was not repaired; it is as it was."
        raise DataFolderError(reason, folder=folder) from error
    finally:
        for file in files_of(folder / RESCUED):
            file.unlink()
        lock.release()
    return Repair(copy, kept, lost)


def _rescue(source: Path, target: Path) -> tuple[dict[str, int], list[str]]:
    for left_over in files_of(target):
        left_over.unlink()
    known = load("sqlite")
    damaged = connect_damaged(source)
    rescued = connect_writer(target)
    try:
        _refuse_if_newer(damaged, known[-1].version, source)
        migrate(rescued, known, SystemClock())
        rescued.rows("pragma foreign_keys = off")
        rescued.rows("BEGIN")
        kept, lost = copy_tables(damaged, rescued, _tables_in(damaged, source))
        if not any(kept.values()) and len(lost) == len(kept):
            raise StoreLost("nothing in it can be read", path=source)
        lost += mend(rescued, source.parent / BLOBS)
        rescued.rows("COMMIT")
        # What is put in place is one file: closing would not say that the log could not be emptied.
        rescued.rows("pragma journal_mode = delete")
    finally:
        damaged.close()
        rescued.close()
    if problems := problems_in(target):
        raise StoreLost(f"what was rescued does not fit together ({problems[0]})", path=source)
    return kept, lost


def _tables_in(damaged: Connection, path: Path) -> set[str]:
    """Without its table of contents a database is pages of which nobody can say whose they are."""
    try:
        return {str(name) for (name,) in damaged.rows("SELECT name FROM sqlite_schema")}
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreLost("its table of contents can't be read", path=path) from error


def _refuse_if_newer(damaged: Connection, known: int, path: Path) -> None:
    try:
        ((version,),) = damaged.rows("SELECT max(version) FROM schema")
    except apsw.Error:
        return  # nobody can tell any more
    if isinstance(version, int) and version > known:
        raise StoreTooNew(path=path, version=version, minimum=version, known=known)


def _copy_files(path: Path, copy: Path) -> None:
    copy.mkdir(mode=0o700)
    for file in files_of(path):
        shutil.copy2(file, copy / file.name)
        sync_file(copy / file.name)
    sync_folder(copy)
    sync_folder(copy.parent)


def _free_name(path: Path) -> Path:
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 100)))
    return next(name for name in names if not name.exists())
