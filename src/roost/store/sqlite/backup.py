"""A copy of a data folder, taken while its server runs."""

import errno
import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec

from roost.core.errors import BackupFailed, DataFolderError, InvalidInput
from roost.store.folder import BLOBS, DATABASE, KEY, flock, sync_file, sync_folder
from roost.store.marks import refuse_if_tied
from roost.store.migrations import Schema
from roost.store.sqlite.connect import connect_reader, explained
from roost.store.sqlite.schema import is_unborn, read_schema
from roost.store.sqlite.swap import database_of


class Backup(msgspec.Struct, frozen=True):
    path: Path
    bytes: int
    sessions: int
    missing: int
    """Blobs whose file is not there: one is being stored right now, or was when Roost died."""


def backup(folder: Path, destination: Path) -> Backup:
    """Copy the store as it is at one moment, then the blobs it names, then the key.

    Blobs are immutable and outlive the rows that name them, so those of the moment are all there
    after it. The copy gets its name when it is complete: half a backup never looks like one.
    """
    refuse_if_tied(folder)
    source = database_of(folder)
    if is_unborn(source):
        raise _nothing_in(folder)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _alone(destination):
            sessions, size, missing = _make(destination, folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        where = f"{error.filename}: " if error.filename else ""
        raise BackupFailed(where + reason, path=destination) from error
    return Backup(destination, size, sessions, missing)


def _nothing_in(folder: Path) -> DataFolderError:
    return DataFolderError("there is no store in it yet. Nothing to back up.", folder=folder)


@contextmanager
def _alone(destination: Path) -> Generator[None]:
    """One backup of a name at a time: two would take each other's files away. The kernel drops the
    lock with the process, however that dies."""
    path = destination.with_name(f".{destination.name}.lock")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not (flock(file, fcntl.LOCK_EX) and _is_still(file, path)):
            raise InvalidInput(f"Another backup to {destination} is being made.")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _is_still(file: int, path: Path) -> bool:
    """Whoever had it may have removed it since it was opened."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _make(destination: Path, folder: Path) -> tuple[int, int, int]:
    draft = destination.with_name(f".{destination.name}.unfinished")
    try:
        if destination.exists():
            raise InvalidInput(f"{destination} exists. Choose a new name for the backup.")
        # Of an earlier try that was killed.
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        made = _fill(draft, folder)
        draft.rename(destination)
        sync_folder(destination.parent)
        return made
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill(draft: Path, folder: Path) -> tuple[int, int, int]:
    """How many sessions, and how many bytes, were copied, and how many blobs could not be."""
    sessions, blobs = _copy_database(database_of(folder), draft / DATABASE)
    size, missing = _copy_blobs(folder / BLOBS, draft / BLOBS, blobs)
    size += (draft / DATABASE).stat().st_size
    if (folder / KEY).exists():
        size += _copy(folder / KEY, draft / KEY)
    sync_folder(draft)
    return sessions, size, missing


def _copy_database(source: Path, target: Path) -> tuple[int, list[str]]:
    with explained(source):
        connection = connect_reader(source)
        try:
            if read_schema(connection, source) == Schema():
                raise _nothing_in(source.parent)
            connection.rows("VACUUM INTO ?", (str(target),))
        except apsw.FullError as error:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        finally:
            connection.close()
    sync_file(target)
    target.chmod(0o600)
    with explained(target):
        copied = connect_reader(target)
        try:
            count = len(copied.rows("SELECT 1 FROM sessions WHERE deleted_at IS NULL"))
            # Of those that are being forgotten the files may be gone before the rows.
            blobs = copied.rows("SELECT DISTINCT id FROM blobs WHERE used_at >= 0 ORDER BY id")
        finally:
            copied.close()
    return count, [str(blob) for (blob,) in blobs]


def _copy_blobs(source: Path, target: Path, blobs: list[str]) -> tuple[int, int]:
    """How many bytes were copied, and how many blobs have no file."""
    size = missing = 0
    target.mkdir(mode=0o700)
    for blob in blobs:
        (target / blob[:2]).mkdir(mode=0o700, exist_ok=True)
        try:
            size += _copy(source / blob[:2] / blob, target / blob[:2] / blob)
        except FileNotFoundError:
            missing += 1
    for folder in (*target.iterdir(), target):
        sync_folder(folder)
    return size, missing


def _copy(source: Path, target: Path) -> int:
    shutil.copyfile(source, target)
    target.chmod(0o600)
    sync_file(target)
    return target.stat().st_size
