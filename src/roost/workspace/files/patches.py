"""Unified diffs, applied whole or not at all, also where lines have moved meanwhile."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from roost.workspace.files.paths import Refused
from roost.workspace.files.text import Text

_HEADER = re.compile(r"@@(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*)?.*")
_NO_NEWLINE = "\\"
_BACK = 1_000
"""Lines before its place that a hunk may have moved up by."""


class Hunk(msgspec.Struct):
    """`start` is where it says that its old lines are, if it says so; each of its `lines` stays
    (" "), goes ("-") or comes ("+"). Whether the file's last line has an end is said only where
    that is part of the hunk."""

    start: int | None
    lines: list[tuple[str, str]]
    old_ends: bool = True
    new_ends: bool = True

    @property
    def old(self) -> list[str]:
        return [line for mark, line in self.lines if mark != "+"]


def parsed(patch: str) -> list[Hunk]:
    """The hunks of a diff of one file. Models miscount: a hunk ends where the next one begins."""
    lines = patch.replace("\r\n", "\n").removesuffix("\n").split("\n")
    hunks: list[Hunk] = []
    at = 0
    headers = 0
    while at < len(lines):
        if found := _HEADER.fullmatch(lines[at]):
            hunk, at = _hunk(lines, at + 1, found)
            hunks.append(hunk)
            continue
        headers += lines[at].startswith("+++ ")
        at += 1
    if headers > 1:
        raise Refused("The patch is for several files: patch them one by one.")
    if not hunks:
        raise Refused("There is no hunk in the patch: one begins with `@@ -12,3 +12,4 @@`.")
    return hunks


def _hunk(lines: Sequence[str], at: int, header: re.Match[str]) -> tuple[Hunk, int]:
    hunk = Hunk(int(header[1]) if header[1] else None, [])
    olds, news = int(header[2] or 1), int(header[4] or 1)
    last = ""
    while at < len(lines) and not _HEADER.fullmatch(lines[at]):
        line = lines[at]
        full = olds <= 0 and news <= 0 and hunk.start is not None
        if (full or hunk.start is None) and _is_header(lines, at):
            break
        if line.startswith(_NO_NEWLINE):
            hunk.old_ends &= last == "+"
            hunk.new_ends &= last == "-"
        elif line or not full:  # an empty line after the hunk is none of it
            last = line[:1] or " "
            if last not in " -+":
                raise Refused(f"Line {at + 1} of the patch begins with neither space, `-` nor `+`.")
            hunk.lines.append((last, line[1:]))
            olds -= last != "+"
            news -= last != "-"
        at += 1
    return hunk, at


def _is_header(lines: Sequence[str], at: int) -> bool:
    following = lines[at + 1] if at + 1 < len(lines) else ""
    begins = lines[at].startswith("--- ") and following.startswith("+++ ")
    return begins or lines[at].startswith(("diff ", "index "))


def patched(text: Text, hunks: Sequence[Hunk]) -> Text:
    """Hunks come in the order of the file; each is looked for where it should be, then nearby."""
    *lines, last = text.body.split("\n")
    ends = last == ""
    lines = lines if ends else [*lines, last]
    ground = _Ground(lines)
    done: list[str] = []
    taken = drift = 0
    for number, hunk in enumerate(hunks, 1):
        at = ground.find(hunk, taken, drift)
        if at is None:
            raise Refused(_unfit(hunk, number))
        if hunk.start is not None:
            drift = at - _expected(hunk)
        done += lines[taken:at]
        taken = at + _put(
            done, lines[at : at + len(hunk.lines)], hunk, text.newline.removesuffix("\n")
        )
        if taken == len(lines) and not (hunk.new_ends and hunk.old_ends):
            ends = hunk.new_ends
    done += lines[taken:]
    return Text("\n".join([*done, ""] if ends and done else done), text.encoding)


class _Ground:
    """The lines that hunks are looked for in, as one text: searching that takes its length, where
    comparing lists of lines could take the square of it."""

    def __init__(self, lines: Sequence[str]) -> None:
        bare = [line.removesuffix("\r") for line in lines]
        self._text = "\n".join(["", *bare, ""])
        self._starts = [0, *accumulate([len(line) + 1 for line in bare])]

    def find(self, hunk: Hunk, taken: int, drift: int) -> int | None:
        """The number of the line where the old lines of a hunk are, nought for the first."""
        if hunk.start is None:
            at = self._next(hunk, taken)
            return at if at is not None and self._next(hunk, at + 1) is None else None
        expected = max(taken, _expected(hunk) + drift)
        if not hunk.old:
            return expected if expected < len(self._starts) else None
        later = self._next(hunk, expected)
        if later == expected:
            return later
        distance = _BACK if later is None else min(_BACK, later - expected)
        return next(self._before(hunk, expected, max(taken, expected - distance)), later)

    def _next(self, hunk: Hunk, line: int) -> int | None:
        if line >= len(self._starts):
            return None
        at = self._text.find(_joined(hunk), self._starts[line])
        return bisect_left(self._starts, at) if at >= 0 else None

    def _before(self, hunk: Hunk, line: int, first: int) -> Iterator[int]:
        wanted = _joined(hunk)
        for each in range(min(line, len(self._starts)) - 1, first - 1, -1):
            if self._text.startswith(wanted, self._starts[each]):
                yield each


def _joined(hunk: Hunk) -> str:
    return "\n".join(["", *hunk.old, ""])


def _put(done: list[str], lines: Sequence[str], hunk: Hunk, carriage: str) -> int:
    """Add what a hunk makes of the lines that it is about; how many those were. Lines that stay do
    so with their own ends."""
    at = 0
    for mark, line in hunk.lines:
        if mark != "-":
            done.append(lines[at] if mark == " " else line + carriage)
        at += mark != "+"
    return at


def _expected(hunk: Hunk) -> int:
    """Counted from nought. A hunk without old lines names the line that it comes after."""
    assert hunk.start is not None
    return hunk.start if not hunk.old else max(0, hunk.start - 1)


def _unfit(hunk: Hunk, number: int) -> str:
    old = "\n".join(hunk.old[:10])
    if hunk.start is None:
        return f"Hunk {number} fits nowhere or at several places; nothing was changed:\n{old}"
    return f"Hunk {number} does not fit; nothing was changed. These lines are not there:\n{old}"
