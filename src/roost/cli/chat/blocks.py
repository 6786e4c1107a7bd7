"""Markdown as it streams, cut where a block has surely ended."""

import re
from collections.abc import Iterator

_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
# Inside a list a fence stands as far in as the item does, or behind its mark.
_FENCE_IN_LIST = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!.*`)|~{3,})")


class Blocks:
    """Every line is looked at once: what was cut off is final and need not be rendered again, and
    the rest is as short as the block that is still being written."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._unfinished: list[str] = []
        self._fence = ""
        self._fence_line = ""
        self._in_list = False
        self._after_blank = False

    def add(self, text: str) -> list[str]:
        """The blocks that end with this."""
        first, *more = text.split("\n")
        if first:
            self._unfinished.append(first)
        done: list[str] = []
        for piece in more:
            done += self._end_line()
            if piece:
                self._unfinished.append(piece)
        return done

    def close(self) -> list[str]:
        """The blocks that were left, at the end of the text."""
        done = [*self._end_line(), *self._cut()]
        self._fence = ""
        return done

    def tail(self, lines: int, letters: int) -> str:
        """The end of the block that is being written, as Markdown of its own; at most so many lines
        and letters of it, whatever its length."""
        cut = len(self._lines) > lines
        shown = [line[-letters:] for line in self._lines[-lines:]]
        shown.append("".join(_last(self._unfinished, letters)))
        if self._fence and cut:
            shown.insert(0, self._fence_line)
        return "\n".join(shown)

    def _end_line(self) -> Iterator[str]:
        line = "".join(self._unfinished)
        self._unfinished = []
        if self._fence:
            yield from self._inside(line)
        elif not line.strip():
            self._after_blank = True
            if self._lines:
                self._lines.append("")
        else:
            if self._begins_another(line):
                yield from self._cut()
            self._take(line)

    def _inside(self, line: str) -> Iterator[str]:
        self._lines.append(line)
        mark = line.strip()
        if mark.startswith(self._fence) and not mark.strip(mark[0]):
            self._fence = ""
            self._after_blank = False
            if not self._in_list:
                yield from self._cut()

    def _begins_another(self, line: str) -> bool:
        if not self._lines:
            return False
        if line[0] in "`~" and _FENCE.match(line):
            return True
        if not self._after_blank or line.startswith(("    ", "\t")):
            return False
        return not (self._in_list and (line[0] in " \t" or _ITEM.match(line)))

    def _take(self, line: str) -> None:
        if not self._lines:
            self._in_list = _ITEM.match(line) is not None
        self._lines.append(line)
        self._after_blank = False
        if fence := (_FENCE_IN_LIST if self._in_list else _FENCE).match(line):
            self._fence = fence[1]
            self._fence_line = line.lstrip()

    def _cut(self) -> Iterator[str]:
        block = "\n".join(self._lines).rstrip()
        self._lines = []
        self._after_blank = False
        if block:
            yield block


def _last(pieces: list[str], letters: int) -> list[str]:
    """The last pieces that have so many letters, without looking at the others."""
    found = 0
    for place in range(len(pieces) - 1, -1, -1):
        found += len(pieces[place])
        if found >= letters:
            return pieces[place:]
    return pieces
