"""The process that looks through files: one request from its input, findings line by line.

It is Roost's own code in a process of its own because a pattern can take for ever and `re` can't
be stopped: here the kernel ends it, at its time or with Roost. Only the standard library is used,
so that it starts quickly."""

import fcntl
import json
import os
import re
import resource
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypedDict

from roost.workspace.files.globs import Glob
from roost.workspace.files.walking import FILE, Entry, Walk

_MEMORY = 1 << 30
_PIECE = 1 << 20
_LINE = 4_000
"""Characters of a line that are searched and shown."""
_KEPT = 50_000
"""Entries that are sorted by time."""


class Request(TypedDict):
    """`regex` is empty to find names only. `newest` sorts by time, newest first."""

    folder: int
    glob: str
    regex: str
    context: int
    newest: bool
    everything: bool
    limit: int
    seconds: float
    owner: int | None


def main() -> None:
    request: Request = json.loads(sys.stdin.buffer.readline())
    _bind(request)
    until = time.monotonic() + request["seconds"]
    try:
        _Search(request, until).run()
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        _say({"error": f"The pattern can't be used: {error}."})
    except MemoryError:
        _say({"error": "The pattern needs too much memory."})


def _bind(request: Request) -> None:
    """From here on it can do no harm, and ends by itself."""
    if (owner := request["owner"]) is not None:
        os.setgroups([])
        os.setgid(owner)
        os.setuid(owner)
    with suppress(ValueError, OSError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    # Python's own handlers run between two steps of Python. The kernel's run at once.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, request["seconds"] + 0.5)
    # The input is open as long as Roost is there. When it closes, SIGIO comes, and ends it.
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, getattr(os, "O_ASYNC", 0))


class _Search:
    def __init__(self, request: Request, until: float) -> None:
        self._request = request
        self._until = until
        self._left = request["limit"]
        self._regex = re.compile(request["regex"]) if request["regex"] else None
        self._word = _plain_word(request["regex"])
        everything = request["everything"]
        self._walk = Walk(Glob(request["glob"]), everything=everything, go_on=self._go_on)

    def _go_on(self) -> bool:
        return time.monotonic() < self._until

    def run(self) -> None:
        folder = self._request["folder"]
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            self._tell("", folder)
        elif self._regex is not None:
            self._search(folder)
        else:
            self._list(folder)
        _say({"end": True, "late": not self._go_on(), "cut": self._walk.cut})

    def _list(self, folder: int) -> None:
        found: Iterator[Entry] | list[Entry] = self._walk.run(folder)
        if self._request["newest"]:
            kept = [entry for entry, _ in zip(found, range(_KEPT), strict=False)]
            self._walk.cut |= len(kept) == _KEPT
            found = sorted(kept, key=lambda entry: -entry.found.st_mtime_ns)
        for entry in found:
            if self._left <= 0:
                self._walk.cut = True
                break
            self._left -= 1
            _say(_described(entry))

    def _search(self, folder: int) -> None:
        for entry in self._walk.run(folder):
            if entry.is_file:
                with suppress(OSError):
                    file = os.open(entry.names[-1], FILE, dir_fd=entry.at)
                    try:
                        self._tell(str(entry), file)
                    finally:
                        os.close(file)
            if self._left <= 0:
                self._walk.cut = True
                break

    def _tell(self, path: str, file: int) -> None:
        """Say what is found in one file, if anything is."""
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return
        lines = list(self._found(file))
        if lines:
            _say({"path": path, "lines": lines})

    def _found(self, file: int) -> Iterator[tuple[int, str, bool]]:
        """Lines with matches, and those around them, in order."""
        assert self._regex is not None
        around = self._request["context"]
        before: list[tuple[int, str]] = []
        after = 0
        for number, line in self._lines(file):
            if self._left > 0 and self._regex.search(line):
                self._left -= 1
                yield from [(*each, False) for each in before]
                yield number, line, True
                before, after = [], around
            elif after:
                after -= 1
                yield number, line, False
            elif self._left <= 0:
                return
            else:
                before = [*before, (number, line)][-around:] if around else []

    def _lines(self, file: int) -> Iterator[tuple[int, str]]:
        """Long lines are cut, and what is no text is passed over, however large."""
        number, rest = 1, b""
        first = True
        while piece := os.read(file, _PIECE):
            if first and b"\0" in piece[:8192]:
                return
            if self._word and first and len(piece) < _PIECE and self._word not in piece:
                return
            first = False
            *whole, rest = (rest + piece).split(b"\n")
            rest = rest[: _LINE * 4]
            for line in whole:
                yield number, _text(line)
                number += 1
            if not self._go_on():
                return
        if rest:
            yield number, _text(rest)


def _text(line: bytes) -> str:
    return line[: _LINE * 4].decode("utf-8", "replace")[:_LINE].removesuffix("\r")


def _plain_word(pattern: str) -> bytes:
    """If the pattern is nothing but letters, a file without them is passed over at once."""
    return pattern.encode() if re.fullmatch(r"\w+", pattern, re.ASCII) else b""


def _described(entry: Entry) -> dict[str, Any]:
    kind = "folder" if entry.is_folder else "file" if entry.is_file else "other"
    found = entry.found
    kind = "link" if stat.S_ISLNK(found.st_mode) else kind
    return {"path": str(entry), "kind": kind, "size": found.st_size, "time": found.st_mtime}


def _say(found: dict[str, Any]) -> None:
    # Written at once: whatever ends this process, what was found is told.
    data = json.dumps(found).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
