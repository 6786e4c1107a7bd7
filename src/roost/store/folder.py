"""The data folder: private to its user, and owned by one process at a time."""

import errno
import fcntl
import os
import socket
import time
from datetime import datetime
from pathlib import Path

import msgspec

from roost.core.errors import DataFolderError, StoreOwned

DATABASE = "roost.db"
BLOBS = "blobs"
WORKSPACES = "workspaces"
KEY = "secret.key"
_LOCK = "owner.lock"
_OURS = {DATABASE, _LOCK, KEY}
"""What no other program has in a folder of its own."""

_PATIENCE = 1.0
"""Seconds for which a start waits for those who only look at the lock, or have died with it."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds the folder; written into the lock file for others to read."""

    pid: int
    host: str
    version: str
    started_at: int
    address: str | None = None

    def __str__(self) -> str:
        if not self.pid:
            return "a process that has not said its name yet"
        started = datetime.fromtimestamp(self.started_at / 1000).astimezone()
        where = f", at {self.address}" if self.address else ""
        return f"process {self.pid} on {self.host}, started {started:%Y-%m-%d %H:%M:%S}{where}"


def prepare(folder: Path) -> None:
    """Make sure that the folder is there, ours alone, and writable."""
    try:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")
        if is_dangling(folder):
            raise FileNotFoundError(errno.ENOENT, "it is a link to a folder that is not there")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_foreign(folder):
            reason = "it is not empty, and not Roost's. Choose a new or an empty one with --data."
            raise DataFolderError(reason, folder=folder)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise DataFolderError(_reason(error), folder=folder) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataFolderError(
            "this user may not write there. Change its permissions, or choose another with --data.",
            folder=folder,
        )


def is_dangling(folder: Path) -> bool:
    """Whether it is a link that leads nowhere, as to a disk that is not mounted."""
    return folder.is_symlink() and not folder.exists()


def is_begun(folder: Path) -> bool:
    """Whether a Roost has been in it, be it damaged."""
    return any(is_there(folder / name) for name in _OURS)


def is_foreign(folder: Path) -> bool:
    """Whether others have files in it: making it private would take it away from them."""
    names = {path.name for path in folder.iterdir()} - {"lost+found"}  # of a fresh file system
    return bool(names) and names.isdisjoint(_OURS)


def closed_to_us(folder: Path) -> list[str]:
    """What a start has to open in it and this user may not, as after a start by another user."""
    names = (_LOCK, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", KEY, BLOBS)
    paths = [path for name in names if (path := folder / name).exists()]
    return [path.name for path in paths if not os.access(path, os.R_OK | os.W_OK)]


def is_there(path: Path) -> bool:
    """Whether a data folder has this file. The folder may be closed to this user."""
    try:
        return path.exists()
    except OSError as error:
        raise DataFolderError(_reason(error), folder=path.parent) from error


def unusable(path: Path, error: OSError) -> DataFolderError:
    """One of its files can't be read or written, in words that say what to do about it."""
    advice = "Choose another folder with --data."
    if error.errno in (errno.EACCES, errno.EPERM):
        advice = "Change its permissions, or choose another folder with --data."
    return DataFolderError(f"its {path.name}: {_reason(error, advice)}", folder=path.parent)


def _reason(error: OSError, advice: str = "Choose another with --data.") -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no room is left on its disk. Free some disk space and try again."
    return f"{(error.strerror or str(error)).lower()}. {advice}"


class OwnerLock:
    """Held from start to close. The kernel drops it with the process, however that dies."""

    def __init__(self, folder: Path, owner: Owner) -> None:
        self._folder = folder
        self._owner = owner
        try:
            # Never unlinked: a new file under the same name would be a second lock.
            self._file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise unusable(folder / _LOCK, error) from error
        if not _take(self._file):
            holder = _read(self._file)
            os.close(self._file)
            raise StoreOwned(folder=folder, owner=holder)
        try:
            self._write(owner)
        except DataFolderError:
            os.close(self._file)
            raise

    def announce(self, address: str) -> None:
        """Tell clients on this machine where the holder listens."""
        self._owner = msgspec.structs.replace(self._owner, address=address)
        self._write(self._owner)

    def _write(self, owner: Owner) -> None:
        text = msgspec.json.encode(owner)
        try:
            os.pwrite(self._file, text, 0)
            os.ftruncate(self._file, len(text))
        except OSError as error:
            raise unusable(self._folder / _LOCK, error) from error

    def release(self) -> None:
        if self._file < 0:
            return  # by now the number may be another file's
        os.ftruncate(self._file, 0)
        os.close(self._file)
        self._file = -1


def _take(file: int) -> bool:
    """Lock it, unless it is owned. Those who only look (`holder`) are soon gone."""
    deadline = time.monotonic() + _PATIENCE
    while not flock(file, fcntl.LOCK_EX):
        if not (_is_shared(file) or _is_dead(_read(file))) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _is_shared(file: int) -> bool:
    """Nobody owns it: an owner would not let us share it."""
    if shared := flock(file, fcntl.LOCK_SH):
        fcntl.flock(file, fcntl.LOCK_UN)
    return shared


def _is_dead(owner: Owner) -> bool:
    """Killed while it started a program: until that runs it has the owner's files, this one too."""
    if owner.host != socket.gethostname() or not owner.pid:
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        pass  # somebody else's, or no number of a process at all
    return False


def flock(file: int, kind: int) -> bool:
    """Whether nobody else has it: waits for no one."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def this_process(version: str, started_at: int) -> Owner:
    return Owner(pid=os.getpid(), host=socket.gethostname(), version=version, started_at=started_at)


def holder(folder: Path) -> Owner | None:
    """The process that holds the folder now, if one does."""
    try:
        file = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if flock(file, fcntl.LOCK_SH) else _read(file)
    finally:
        os.close(file)


def _read(file: int) -> Owner:
    try:
        return msgspec.json.decode(os.pread(file, 4096, 0), type=Owner)
    except msgspec.MsgspecError:
        # Caught between taking the lock and writing the name, or mid-write.
        return Owner(pid=0, host="this machine", version="", started_at=0)


def sync_folder(folder: Path) -> None:
    """Make a rename or a new name in the folder durable."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_file(path: Path) -> None:
    """Make what was written to a file durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
