"""Where a workspace's files are on this machine, who owns them, and what of it outlives a crash."""

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import structlog

from roost.core.errors import InvalidInput
from roost.core.ids import SESSION_ID, SessionId
from roost.workspace.base import Folder, Ground, SandboxKind

log = structlog.stdlib.get_logger("roost.workspace")

FIRST_OWNER = 1_900_000_000
"""Above what systemd and containers give out, so that nobody else is this user."""

_GONE = ".gone-"
_IS_SESSION = re.compile(SESSION_ID)


class Trace(msgspec.Struct, frozen=True):
    """What lives in a workspace, for whoever comes after it. If it ends on purpose, it says `why`;
    `news` is what the session has not been told yet of the one before; `moved` is that this one has
    none of its files."""

    shell: bool = False
    processes: int = 0
    why: str = ""
    news: str = ""
    moved: bool = False


class Place:
    """The folders of one workspace. Everything here blocks: call it in a thread."""

    def __init__(self, root: Path, session: SessionId) -> None:
        if not _IS_SESSION.match(session):
            raise InvalidInput(f"{session!r} is no session's id.")
        self._root = root
        self.folder = root / session
        self.files = self.folder / "files"
        self.output = self.folder / "output"
        self.scratch = self.folder / "scratch"
        self._trace = self.folder / "alive.json"

    def prepare(self, owner: int | None) -> int | None:
        """Make the folders. Under root they belong to `owner`, unless they have one; whose they are
        is the answer."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.files, self.output, self.scratch):
            folder.mkdir(mode=0o700, exist_ok=True)
        if owner is None:
            return None
        has = self.files.stat(follow_symlinks=False).st_uid
        chosen = has if has >= FIRST_OWNER else owner
        for folder in (self.files, self.output, self.scratch):
            try:
                os.chown(folder, chosen, chosen, follow_symlinks=False)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                log.warning("this machine's root can't give files away; boxes run as root")
                return None
        return chosen

    def ground(
        self,
        kind: SandboxKind | None,
        owner: int | None,
        more: Iterable[Folder],
        *,
        files: Path | None = None,
    ) -> Ground:
        """As processes in a box of this kind see it; without a kind there are none to see it.
        `files` are someone else's, where those are worked on."""
        in_place, work = kind == "local", files or self.files
        home = Folder(work, str(work) if in_place else "/workspace", writable=True)
        output = Folder(self.output, str(self.output) if in_place else "/output")
        return Ground((home, output, *more), self.scratch, owner)

    def empty_scratch(self) -> None:
        if self.scratch.is_dir():
            for path in self.scratch.iterdir():
                _remove(path)

    def put_aside(self) -> None:
        """From here on there is no such workspace; `remove_leavings` does the rest."""
        gone = self._root / f"{_GONE}{self.folder.name}-{os.urandom(4).hex()}"
        with contextlib.suppress(FileNotFoundError):
            self.folder.rename(gone)

    def read_trace(self) -> Trace | None:
        try:
            return msgspec.json.decode(self._trace.read_bytes(), type=Trace)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError):
            log.warning("a workspace's trace can't be read", path=str(self._trace))
            return None

    def write_trace(self, trace: Trace | None) -> None:
        if trace is None or not self.folder.is_dir():
            self._trace.unlink(missing_ok=True)
            return
        new = self._trace.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(trace))
        new.replace(self._trace)

    def keep_trace(self, trace: Trace) -> None:
        """Also of a workspace that is yet to be made, and through a power cut: what follows it is
        written elsewhere, and lasts."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.write_trace(trace)
        for path in (self._trace, self.folder, self._root):
            _sync(path)


def sessions_in(root: Path) -> Iterator[SessionId]:
    """Whose workspaces are here."""
    return (SessionId(path.name) for path in root.glob("ses_*") if _IS_SESSION.match(path.name))


def owners_of(root: Path) -> Iterator[int]:
    """Users that have a workspace's files here."""
    for folder in root.glob("ses_*/files"):
        with contextlib.suppress(OSError):
            yield folder.stat(follow_symlinks=False).st_uid


def remove_leavings(root: Path) -> None:
    """What was put aside, now or before Roost last stopped."""
    for path in root.glob(f"{_GONE}*"):
        _remove(path)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _remove(path: Path) -> None:
    """Nothing runs there any more, so nothing changes under our hands."""
    if path.is_dir() and not path.is_symlink():
        try:
            shutil.rmtree(path)
        except OSError:
            _open_up(path)
            shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
    if os.path.lexists(path):
        log.warning("a workspace's files could not be removed", path=str(path))


def _open_up(root: Path) -> None:
    """What ran in a workspace may have locked its folders; it can't lock us out."""
    todo = [root]
    while todo:
        folder = todo.pop()
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
            todo += [each for each in folder.iterdir() if each.is_dir() and not each.is_symlink()]
