"""Puts a repaired database in the place of the damaged one, wherever it is interrupted.

`repaired.db` is whole and durable: as long as that name is there, it is the store.
"""

from pathlib import Path

from roost.store.folder import DATABASE, is_there, sync_file, sync_folder, unusable
from roost.testing import faults

_REPAIRED = "repaired.db"


def database_of(folder: Path) -> Path:
    """The file that the store of a folder is in."""
    repaired = folder / _REPAIRED
    return repaired if is_there(repaired) else folder / DATABASE


def swap_in(rescued: Path) -> None:
    """`rescued` is a database without a log of its own, beside the damaged one."""
    sync_file(rescued)
    faults.reach("repair.name.before")
    rescued.replace(rescued.with_name(_REPAIRED))
    faults.reach("repair.name.after")
    finish(rescued.parent)


def finish(folder: Path) -> None:
    """Do what is left to do of a repair that was interrupted; for who owns the folder."""
    if database_of(folder) == folder / DATABASE:
        return
    try:
        _swap(folder)
    except OSError as error:
        raise unusable(folder / DATABASE, error) from error


def _swap(folder: Path) -> None:
    """The old log first: with the new database, it would be taken for its own. Not before the
    new one's name is durable: the old database alone is an older store."""
    sync_folder(folder)
    for file in files_of(folder / DATABASE):
        if file.name != DATABASE:
            file.unlink()
    sync_folder(folder)
    faults.reach("repair.swap.before")
    (folder / _REPAIRED).replace(folder / DATABASE)
    sync_folder(folder)
    faults.reach("repair.swap.after")


def files_of(database: Path) -> list[Path]:
    """A database and what belongs to it."""
    names = [f"{database.name}{ending}" for ending in ("", "-wal", "-shm", "-journal")]
    return [file for name in names if (file := database.with_name(name)).exists()]
