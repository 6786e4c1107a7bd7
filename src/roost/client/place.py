"""Where a data folder's server listens, and the credential that it leaves for who can read it."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import msgspec
from yarl import URL

from roost.core.keys import Key
from roost.store.folder import Owner, holder, unusable

FILE = "server.token"

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (what is asked instead of it)


class Place(NamedTuple):
    """`certificate` is the SHA-256 of the one that the server shows, if it speaks TLS."""

    url: URL
    token: Key
    certificate: bytes | None = None


class _Left(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the file. `pid` and `started_at` are of the owner that it belongs to: one that
    was killed leaves it behind."""

    pid: int
    started_at: int
    token: str
    certificate: str | None = None


@contextlib.contextmanager
def left_in(folder: Path, token: Key, *, certificate: bytes | None = None) -> Generator[None]:
    """The owner of a folder leaves a credential in it, for as long as the block lasts. It is
    readable by this user alone, at no moment half written, and of no use once the owner is gone."""
    owner = holder(folder)
    assert owner is not None, "only who holds the folder leaves something in it"
    text = msgspec.json.encode(
        _Left(
            pid=owner.pid,
            started_at=owner.started_at,
            token=token.reveal(),
            certificate=None if certificate is None else certificate.hex(),
        )
    )
    try:
        _replace(folder / FILE, text)
    except OSError as error:
        raise unusable(folder / FILE, error) from error
    try:
        yield
    finally:
        (folder / FILE).unlink(missing_ok=True)


def _replace(path: Path, text: bytes) -> None:
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)  # of one that was killed
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, text)
    finally:
        os.close(file)
    draft.rename(path)


def find(folder: Path) -> Place | None:
    """The server that holds the folder now; None if nobody does, or nobody who serves (yet)."""
    try:
        owner = holder(folder)
        if owner is None or owner.address is None:
            return None
        left = _read(folder / FILE)
    except (OSError, msgspec.MsgspecError):
        return None
    if left is None or (left.pid, left.started_at) != (owner.pid, owner.started_at):
        return None
    certificate = None if left.certificate is None else bytes.fromhex(left.certificate)
    return Place(_reachable(owner), Key(left.token), certificate)


def _read(path: Path) -> _Left | None:
    """Nothing that somebody else put there, or could have."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(file)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return None
        return msgspec.json.decode(os.read(file, 4096), type=_Left)
    finally:
        os.close(file)


def _reachable(owner: Owner) -> URL:
    """An address to go to: a server may listen on all of them."""
    url = URL(owner.address or "")
    return url.with_host(_EVERYWHERE.get(url.host or "", url.host or "127.0.0.1"))
