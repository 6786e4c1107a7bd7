"""The files of a session's workspace, to look at and to save."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Sequence
from io import FileIO
from typing import Literal, NamedTuple

import msgspec
from starlette.responses import Response

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.downloads import HEAD, KINDS, download, sniffed
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase
from roost.workspace.base import Ground
from roost.workspace.files.content import opened, opened_folder
from roost.workspace.files.paths import Refused, View

_CHUNK = 1 << 18
_MOST_ENTRIES = 1000


class WorkspacePath(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As the agent names it; one that is not absolute begins in the workspace."""

    path: Phrase = "."


class FilePath(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Phrase
    save: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: Literal["file", "folder", "other"]
    size: int
    changed_at: int


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """`more` says that there are more than are listed."""

    entries: Sequence[Entry]
    more: bool


class _Open(NamedTuple):
    file: FileIO
    size: int
    head: bytes
    name: str


async def listed(call: Call, session: SessionId, query: WorkspacePath) -> Entries:
    """List a folder of the session's workspace."""
    workspace = await call.account.workspace(session)
    return await asyncio.to_thread(_list, workspace.ground, query.path)


async def downloaded(call: Call, session: SessionId, query: FilePath) -> Response:
    """Download a file of the session's workspace. Pictures and plain text may be shown."""
    workspace = await call.account.workspace(session)
    found = await asyncio.to_thread(_open, workspace.ground, query.path)
    return download(
        _read(found),
        media_type=sniffed(found.head),
        name=found.name,
        size=None,  # it may shrink while it is read
        cache="no-store",
        save=query.save,
    )


def _open(ground: Ground, path: str) -> _Open:
    try:
        with View(ground) as view, view.find(path) as spot, opened(spot) as file:
            head = os.pread(file, HEAD, 0)
            return _Open(FileIO(os.dup(file)), os.fstat(file).st_size, head, spot.name)
    except (Refused, OSError) as error:
        raise NotFound("file", path[:300]) from error


async def _read(found: _Open) -> AsyncIterator[bytes]:
    """As much as there was when it was opened, at most."""
    left = found.size
    with found.file as file:
        while left and (chunk := await asyncio.to_thread(file.read, min(left, _CHUNK))):
            yield chunk
            left -= len(chunk)


def _list(ground: Ground, path: str) -> Entries:
    try:
        with View(ground) as view, view.find(path) as spot, opened_folder(spot) as folder:
            names = sorted(os.listdir(folder))  # noqa: PTH208 (a folder that is open has no path)
            entries = [_entry(folder, name) for name in names[:_MOST_ENTRIES]]
    except (Refused, OSError) as error:
        raise NotFound("folder", path[:300]) from error
    there = [entry for entry in entries if entry is not None]
    return Entries(entries=there, more=len(names) > _MOST_ENTRIES)


def _entry(folder: int, name: str) -> Entry | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        name.encode()
    except (OSError, UnicodeEncodeError):
        return None
    kind = "other"
    if stat.S_ISREG(found.st_mode):
        kind = "file"
    elif stat.S_ISDIR(found.st_mode):
        kind = "folder"
    return Entry(
        name=name, kind=kind, size=found.st_size, changed_at=found.st_mtime_ns // 1_000_000
    )


ENDPOINTS = (
    endpoint("GET", "/api/sessions/{session}/files", listed, scope="read"),
    endpoint(
        "GET", "/api/sessions/{session}/files/content", downloaded, scope="read", answers=KINDS
    ),
)
