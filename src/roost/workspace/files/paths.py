"""Paths as a box sees them, resolved to open folders, whatever a process does meanwhile.

A process of the box may put a link where a folder was at any moment. So no path is handed to the
kernel: names are opened one by one, each from the folder before it and never through a link. Links
are read, and their text is walked like the rest. What comes out is a name in an open folder.
"""

import errno
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from roost.workspace.base import Folder, Ground
from roost.workspace.files.acting import acting_as

LONGEST = 4096
DEEPEST = 128
_LINKS = 40
_STEPS = 5_000
"""Names that are opened for one path: links can make a short one long."""

# O_PATH asks for no right to read the folder, as walking through it does not.
_FOLDER: int = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_A_FOLDER = (errno.ENOTDIR, errno.ELOOP)
_NOT_A_LINK = (errno.EINVAL, errno.ENOENT)

Names = tuple[str, ...]


class Refused(Exception):
    """What is not done with a file, and why, in words for the model."""


class Spot:
    """A name in an open folder, with no link on the way there. `path` is how the box calls it.
    Folders that are `missing` in between can be made. The name itself may be anything, or nothing
    yet, and may change: it is to be opened without following links."""

    def __init__(self, folder: Folder, at: Names, parent: int, names: Sequence[str]) -> None:
        self.folder = folder
        self.parent = parent
        *missing, self.name = names or (".",)
        self.missing = tuple(missing)
        self.path = _spelled((*at, *names))

    def make_parents(self) -> None:
        for name in self.missing:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.parent)
            opened = os.open(name, _FOLDER, dir_fd=self.parent)
            os.close(self.parent)
            self.parent = opened
        self.missing = ()

    def must_be_writable(self) -> None:
        if not self.folder.writable:
            raise Refused(f"{self.path} can't be changed: {self.folder.inside} is read-only.")

    def look(self) -> os.stat_result | None:
        """What it is now, if it is there; a link is just a link."""
        if self.missing:
            return None
        try:
            return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def close(self) -> None:
        os.close(self.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Mount(msgspec.Struct, frozen=True):
    """Where a folder really is: `names` below an `anchor` that no box can move."""

    folder: Folder
    anchor: int
    names: Names


class View:
    """What the box sees of the host's files. While it is open its thread acts as the box's user;
    it belongs to that thread."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._mounts: dict[Names, _Mount] = {}
        self._stack = ExitStack()

    @property
    def home(self) -> Folder:
        return self._ground.home

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for folder in self._ground.folders:
                with suppress(OSError):  # not there, or not for Roost
                    self._mounts[_names(folder.inside)] = self._mount(folder, stack)
            stack.enter_context(acting_as(self._ground.owner))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _mount(self, folder: Folder, stack: ExitStack) -> _Mount:
        """A folder inside another one is reached from that: the box may have moved it."""
        outer = [other.host for other in self._ground.folders if _holds(other.host, folder.host)]
        base = min([folder.host, *outer], key=lambda host: len(host.parts))
        anchor = os.open(base.resolve(), _FOLDER)
        stack.callback(os.close, anchor)
        return _Mount(folder, anchor, folder.host.relative_to(base).parts)

    def find(self, path: str) -> Spot:
        """Where a path leads. Relative ones begin in the workspace's own folder."""
        _check(path)
        start = () if path.startswith("/") else _names(self.home.inside)
        walk = _Walk(self._mounts, path)
        try:
            return walk.run((*start, *path.split("/")))
        finally:
            walk.close()


class _Walk:
    """`at` is how far it has come, as the box calls it, and `here` is open there; above all folders
    nothing is."""

    def __init__(self, mounts: Mapping[Names, _Mount], path: str) -> None:
        self._mounts = mounts
        self._path = path
        self._at: Names = ()
        self._here: int | None = None
        self._left: deque[str] = deque()
        self._links = 0
        self._steps = 0

    def run(self, names: Iterable[str]) -> Spot:
        self._left.extend(names)
        while self._left:
            match self._left.popleft():
                case "" | ".":
                    pass
                case "..":
                    self._go(self._at[:-1])
                case name:
                    if end := self._enter(name):
                        return end
        return self._end(())

    def _enter(self, name: str) -> Spot | None:
        """Take one step; a spot is the end."""
        below = (*self._at, name)
        if self._here is None or below in self._mounts:
            self._go(below)
            return None
        self._count(below)
        if not any(each not in ("", ".") for each in self._left):
            return None if self._follow(name) else self._end((name,))
        try:
            self._move(os.open(name, _FOLDER, dir_fd=self._here), below)
        except FileNotFoundError:
            return self._end(self._unmade(name))
        except OSError as error:
            if error.errno not in _NOT_A_FOLDER:
                raise
            if not self._follow(name):
                raise Refused(f"{_brief(_spelled(below))} is not a folder.") from None
        return None

    def _follow(self, name: str) -> bool:
        """Whether it is a link: then what it says is walked next."""
        assert self._here is not None
        try:
            target = os.readlink(name, dir_fd=self._here)
        except OSError as error:
            if error.errno not in _NOT_A_LINK:
                raise
            return False
        self._links += 1
        if self._links > _LINKS:
            raise Refused(f"{_brief(self._path)} goes round in links.")
        if target.startswith("/"):
            self._go(())
        self._left.extendleft(reversed(target.split("/")))
        return True

    def _go(self, at: Names) -> None:
        """Open a folder anew from the top. Going up by `..` instead would leave with a folder that
        somebody moves away."""
        held = [depth for depth in range(len(at), -1, -1) if at[:depth] in self._mounts]
        if not held:
            if any(names[: len(at)] == at for names in self._mounts):
                self._move(None, at)
                return
            raise Refused(self._outside())
        mount = self._mounts[at[: held[0]]]
        here = os.dup(mount.anchor)
        try:
            for name in (*mount.names, *at[held[0] :]):
                self._count(at)
                below = os.open(name, _FOLDER, dir_fd=here)
                os.close(here)
                here = below
        except OSError:
            os.close(here)
            raise
        self._move(here, at)

    def _count(self, at: Names) -> None:
        self._steps += 1
        if self._steps > _STEPS or len(at) > DEEPEST:
            raise Refused(f"{_brief(self._path)} leads through too many folders.")

    def _unmade(self, name: str) -> Names:
        rest = (name, *[each for each in self._left if each not in ("", ".")])
        if ".." in rest:
            raise Refused(f"There is no folder {_brief(_spelled((*self._at, name)))}.")
        if len(self._at) + len(rest) > DEEPEST:
            raise Refused(f"{_brief(self._path)} leads through too many folders.")
        return rest

    def _end(self, names: Names) -> Spot:
        if self._here is None or os.fstat(self._here).st_dev in _of_the_kernel():
            raise Refused(self._outside())
        held = max([names for names in self._mounts if self._at[: len(names)] == names], key=len)
        here, self._here = self._here, None
        return Spot(self._mounts[held].folder, self._at, here, names)

    def _move(self, here: int | None, at: Names) -> None:
        self.close()
        self._here, self._at = here, at

    def _outside(self) -> str:
        folders = ", ".join([mount.folder.inside for mount in self._mounts.values()])
        return f"{_brief(self._path)} is outside of what you may use: {folders}."

    def close(self) -> None:
        if self._here is not None:
            os.close(self._here)
            self._here = None


def _check(path: str) -> None:
    if not path:
        raise Refused("The path is empty.")
    if len(path) > LONGEST:
        raise Refused(f"A path has at most {LONGEST} characters: {_brief(path)}")
    if path.startswith("~"):
        raise Refused("`~` is not known here: write the whole path, or one from the workspace.")
    if "\0" in path or path != path.encode("utf-8", "replace").decode():
        raise Refused("The path has characters that no path can have.")


@cache
def _of_the_kernel() -> set[int]:
    """File systems that hold Roost's own memory and secrets, were one to be within reach."""
    found: set[int] = set()
    for path in ("/proc", "/sys"):
        with suppress(OSError):
            found.add(os.stat(path).st_dev)  # noqa: PTH116
    return found


def _holds(outer: Path, inner: Path) -> bool:
    return outer != inner and inner.is_relative_to(outer)


def _names(path: str) -> Names:
    return tuple([name for name in path.split("/") if name not in ("", ".")])


def _spelled(names: Names) -> str:
    return "/" + "/".join(names)


def _brief(path: str) -> str:
    return path if len(path) <= 300 else f"{path[:300]}..."
