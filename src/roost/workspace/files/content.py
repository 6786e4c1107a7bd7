"""The bytes of a file at a spot: read up to a limit, and replaced all at once."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b

import msgspec

from roost.workspace.files.paths import Refused, Spot

MOST = 8 << 20
"""Bytes of a file that is read as a whole, changed or written."""
_CHUNK = 1 << 18

# A FIFO has nobody at its other end, and no terminal becomes Roost's own.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_NO_LINKS_HERE = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK)

DRAFT = ".roost-"
"""How the name of a file begins that is being written."""

Digest = bytes
Check = Callable[[], None]


class Content(msgspec.Struct, frozen=True):
    data: bytes
    mode: int
    state: tuple[int, ...]

    @property
    def digest(self) -> Digest:
        return digest_of(self.data)


def digest_of(data: bytes) -> Digest:
    return blake2b(data, digest_size=16).digest()


@contextmanager
def opened(spot: Spot) -> Generator[int]:
    """An ordinary file, open for reading; nothing else is even opened."""
    found = spot.look()
    if found is None:
        raise Refused(f"There is no file {spot.path}.")
    _must_be_a_file(spot, found)
    file = os.open(spot.name, _READ, dir_fd=spot.parent)
    try:
        _must_be_a_file(spot, os.fstat(file))
        yield file
    finally:
        os.close(file)


@contextmanager
def opened_folder(spot: Spot) -> Generator[int]:
    if spot.missing:
        raise Refused(f"There is no folder {spot.path}.")
    try:
        folder = os.open(spot.name, _FOLDER, dir_fd=spot.parent)
    except NotADirectoryError:
        raise Refused(f"{spot.path} is not a folder.") from None
    try:
        yield folder
    finally:
        os.close(folder)


def is_folder(spot: Spot) -> bool:
    found = spot.look()
    return found is not None and stat.S_ISDIR(found.st_mode)


def read(spot: Spot, check: Check, *, most: int = MOST) -> Content:
    with opened(spot) as file:
        found = os.fstat(file)
        data = bytearray()
        while len(data) <= most and (chunk := os.read(file, _CHUNK)):
            data += chunk
            check()
        if len(data) > most:
            raise Refused(f"{spot.path} is too large: over {most >> 20} MB.")
        return Content(bytes(data), stat.S_IMODE(found.st_mode), _state(found))


def replace(spot: Spot, data: bytes, check: Check, *, was: Content | None) -> None:
    """Put a new file in the spot of the one that `was` there, or where there was none.

    It is there whole or not at all. Other names of the old file (hard links) keep what they had:
    nothing is ever written into a file that is there. Its set-id bits are not kept.
    """
    spot.must_be_writable()
    if len(data) > MOST:
        raise Refused(f"That is too much for one file: over {MOST >> 20} MB.")
    if was is not None and not was.mode & 0o222:
        raise Refused(f"{spot.path} is read-only (mode {was.mode:03o}).")
    spot.make_parents()
    draft = DRAFT + secrets.token_hex(8)
    try:
        _write(spot, draft, data, check, mode=None if was is None else was.mode & 0o777)
        check()
        _put(spot, draft, was)
    finally:
        with suppress(OSError):
            os.unlink(draft, dir_fd=spot.parent)
    with opened_here(spot) as folder:
        os.fsync(folder)


def _write(spot: Spot, draft: str, data: bytes, check: Check, *, mode: int | None) -> None:
    file = os.open(draft, _NEW, 0o666 if mode is None else 0o600, dir_fd=spot.parent)
    try:
        for start in range(0, len(data), _CHUNK):
            check()
            _write_whole(file, data[start : start + _CHUNK])
        if mode is not None:
            os.fchmod(file, mode)
        os.fsync(file)
    finally:
        os.close(file)


def _write_whole(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _put(spot: Spot, draft: str, was: Content | None) -> None:
    """Looked at once more at the last moment. A name that is new is taken only if it is free."""
    now = spot.look()
    if (None if now is None else _state(now)) != (None if was is None else was.state):
        raise Refused(f"{spot.path} has just been changed by someone else. Read it again.")
    at = spot.parent
    if was is None:
        try:
            os.link(draft, spot.name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        except FileExistsError:
            raise Refused(f"{spot.path} has just been made by someone else. Read it.") from None
        except OSError as error:
            if error.errno not in _NO_LINKS_HERE:
                raise
        else:
            return
    os.rename(draft, spot.name, src_dir_fd=at, dst_dir_fd=at)


@contextmanager
def opened_here(spot: Spot) -> Generator[int]:
    """The folder that the spot is in, open so that it can be synced."""
    folder = os.open(".", _FOLDER, dir_fd=spot.parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _must_be_a_file(spot: Spot, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Refused(f"{spot.path} is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{spot.path} is not an ordinary file.")


def _state(found: os.stat_result) -> tuple[int, ...]:
    """Changes whenever the file does, and when it is another one."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
