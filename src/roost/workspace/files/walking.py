"""Going through a tree of folders from an open one, following no link.

Used in a process of its own, without anything but the standard library."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from roost.workspace.files.globs import Glob, Ignored, States

DEEPEST = 64
WIDEST = 100_000
"""Names of one folder that are looked at."""
_IGNORES = 1 << 16

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_VERSIONS = ".git .hg .svn .jj"
_PYTHON = ".venv venv .tox .nox .eggs __pycache__ .mypy_cache .pytest_cache .ruff_cache .hypothesis"
_OTHERS = "node_modules bower_components .next .gradle .terraform .direnv .cache"
PASSED_OVER = frozenset(f"{_VERSIONS} {_PYTHON} {_OTHERS}".split())
"""Folders of what programs made, which would hide what people wrote."""


class Entry:
    """`at` is the open folder that it is in, while the walk stands there."""

    def __init__(self, names: tuple[str, ...], at: int, found: os.stat_result) -> None:
        self.names = names
        self.at = at
        self.found = found

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.found.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.found.st_mode)

    def __str__(self) -> str:
        """As it can be shown: a name may be any bytes, also such as would break a line."""
        path = "/".join(self.names).encode("utf-8", "replace").decode()
        return "".join([each if each.isprintable() else "\ufffd" for each in path])


class Walk:
    """Every entry that a pattern matches, by name. `cut` is set if some were not looked at."""

    def __init__(self, glob: Glob, *, everything: bool, go_on: Callable[[], bool]) -> None:
        self._glob = glob
        self._everything = everything
        self._go_on = go_on
        self.cut = False

    def run(self, root: int) -> Iterator[Entry]:
        return self._below(root, (), self._glob.start, ())

    def _below(
        self,
        at: int,
        names: tuple[str, ...],
        states: States,
        ignores: tuple[tuple[int, Ignored], ...],
    ) -> Iterator[Entry]:
        if not self._everything and (found := _ignores(at)):
            ignores = (*ignores, (len(names), found))
        for name in self._listed(at):
            if not self._go_on():
                self.cut = True
                return
            here = (*names, name)
            if (entry := _looked(at, here)) is None or self._is_ignored(entry, ignores):
                continue
            after = self._glob.step(states, name)
            if self._glob.accepts(after):
                yield entry
            if entry.is_folder and after:
                yield from self._into(entry, after, ignores)

    def _into(
        self, entry: Entry, states: States, ignores: tuple[tuple[int, Ignored], ...]
    ) -> Iterator[Entry]:
        if len(entry.names) >= DEEPEST:
            self.cut = True
            return
        with suppress(OSError):  # gone, a link by now, or not for us
            inner = os.open(entry.names[-1], _FOLDER, dir_fd=entry.at)
            try:
                yield from self._below(inner, entry.names, states, ignores)
            finally:
                os.close(inner)

    def _listed(self, at: int) -> list[str]:
        with os.scandir(at) as entries:
            names = [entry.name for entry in islice(entries, WIDEST + 1)]
        if len(names) > WIDEST:
            self.cut = True
        return sorted(names[:WIDEST])

    def _is_ignored(self, entry: Entry, ignores: tuple[tuple[int, Ignored], ...]) -> bool:
        if self._everything:
            return False
        if entry.names[-1] in PASSED_OVER:
            return True
        for depth, ignored in reversed(ignores):
            said = ignored.decides(entry.names[depth:], folder=entry.is_folder)
            if said is not None:
                return said
        return False


def _looked(at: int, names: tuple[str, ...]) -> Entry | None:
    with suppress(OSError):
        return Entry(names, at, os.stat(names[-1], dir_fd=at, follow_symlinks=False))
    return None


def _ignores(at: int) -> Ignored | None:
    with suppress(OSError, ValueError):
        file = os.open(".gitignore", FILE, dir_fd=at)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                text = os.read(file, _IGNORES)
                whole = text if len(text) < _IGNORES else text[: text.rfind(b"\n") + 1]
                return Ignored(whole.decode("utf-8", "replace"))
        finally:
            os.close(file)
    return None
