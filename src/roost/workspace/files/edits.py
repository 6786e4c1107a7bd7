"""Changing a text by exact words, and saying what changed."""

import difflib
import re
from bisect import bisect_left

from roost.workspace.files.paths import Refused
from roost.workspace.files.text import Text, with_newlines

_NAMED = 10
_COMPARED = 3_000
"""Lines that are compared with each other: it takes the square of it."""
_LOOKED_AT = 1_000
"""Lines that are compared with one that was not found, letter by letter."""
_SHOWN = 120
_WIDTH = 300


def edited(text: Text, old: str, new: str, *, every: bool) -> Text:
    """`old` has to be there once, or `every` time it is there is meant. Line ends are no matter.

    Searched without regular expressions: those hold the interpreter, and can take the square of a
    file's size.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise Refused("`old` is empty: say what is to be replaced.")
    if old == new:
        raise Refused("`old` and `new` are the same: there is nothing to do.")
    body = text.body.replace("\r\n", "\n")
    starts = _starts(body, old)
    if not starts:
        raise Refused(f"`old` is not in the file. {_nearest(text.lines, old)}")
    if not every and body.find(old, starts[0] + 1) >= 0:
        raise Refused(_ambiguous(body, starts))
    put = with_newlines(new, text.newline)
    return Text(_spliced(text.body, starts, len(old), put), text.encoding)


def _starts(body: str, old: str) -> list[int]:
    starts: list[int] = []
    at = body.find(old)
    while at >= 0:
        starts.append(at)
        at = body.find(old, at + len(old))
    return starts


def _spliced(body: str, starts: list[int], length: int, new: str) -> str:
    """Put `new` at places that were found when every line end was one character."""
    ends = [found.start() - before for before, found in enumerate(re.finditer("\r\n", body))]
    pieces: list[str] = []
    done = 0
    for start in starts:
        pieces += [body[done : start + bisect_left(ends, start)], new]
        done = start + length + bisect_left(ends, start + length)
    return "".join([*pieces, body[done:]])


def _ambiguous(body: str, starts: list[int]) -> str:
    lines = [str(body.count("\n", 0, start) + 1) for start in starts[:_NAMED]]
    more = ", ..." if len(starts) > _NAMED else ""
    times = f"{len(starts)} times" if len(starts) > 1 else "more than once, overlapping"
    return (
        f"`old` is in the file {times}, at lines {', '.join(lines)}{more}. "
        "Take more of the lines around the one you mean, or set `all`."
    )


def _nearest(lines: list[str], old: str) -> str:
    wanted = old.strip("\n").split("\n")
    if at := _but_for_spaces(lines, wanted):
        reason = "But for spaces, it is this:"
    elif at := _similar(lines, wanted):
        reason = "The most similar lines are:"
    else:
        return "Read it again: nothing like it is there."
    start = at - 1
    shown = [f"{at + n}\t{line[:_WIDTH]}" for n, line in enumerate(lines[start:][: len(wanted)])]
    return "\n".join([reason, *shown[:_NAMED]])


def _but_for_spaces(lines: list[str], wanted: list[str]) -> int:
    bare = ["".join(line.split()) for line in wanted]
    if not any(bare):
        return 0
    joined = "\n".join(["", *["".join(line.split()) for line in lines], ""])
    at = joined.find("\n".join(["", *bare, ""]))
    return joined.count("\n", 0, at) + 1 if at >= 0 else 0


def _similar(lines: list[str], wanted: list[str]) -> int:
    """The number of the line that is most like the longest of those wanted, less its place."""
    longest = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()))
    candidates = [line[:_WIDTH] for line in lines[:_LOOKED_AT]]
    found = difflib.get_close_matches(wanted[longest][:_WIDTH], candidates, n=1, cutoff=0.6)
    return max(1, candidates.index(found[0]) + 1 - longest) if found else 0


def difference(before: Text, after: Text) -> str:
    """A unified diff, without a header, cut if it is long."""
    old, new = before.lines, after.lines
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    first = max(0, head - 3)
    rest = max(0, tail - 3)
    a, b = old[first : len(old) - rest], new[first : len(new) - rest]
    if max(len(a), len(b)) > _COMPARED:
        return f"{len(a)} lines from line {first + 1} on became {len(b)}."
    shown = list(difflib.unified_diff(a, b, lineterm=""))[2:]
    lines = [_moved(line, first) if line.startswith("@@") else line[:_WIDTH] for line in shown]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"[{len(lines) - _SHOWN} more lines of the diff]"]
    return "\n".join(lines) or "Only line ends or the encoding changed."


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _moved(header: str, by: int) -> str:
    """The numbers of a hunk, as they are in the whole file."""
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", header)
