"""Cuts Markdown to the length that a platform takes, without breaking code, links or lists."""

import re
from collections.abc import Callable, Iterator, Sequence

Measure = Callable[[str], int]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_WHOLE = re.compile(r"`[^`\n]+`|!?\[[^\]\n]*\]\([^)\n]*\)|<https?://[^>\s]+>|https?://\S+")
"""What is broken if it is cut inside: code, links, addresses."""


def split(markdown: str, measure: Measure, limit: int) -> list[str]:
    """Pieces that each measure no more than `limit` and stand for themselves: a block of code that
    goes on is closed and opened again. Nothing is left out but blank lines between pieces."""
    text = markdown.strip("\n")
    if measure(text) <= limit:
        return [text]
    lines = [part for line in text.split("\n") for part in _short(line, measure, limit)]
    return list(_pieces(lines, measure, limit))


def _pieces(lines: Sequence[str], measure: Measure, limit: int) -> Iterator[str]:
    start, fence = 0, ""
    while start < len(lines):
        end = _furthest(lines, start, fence, measure, limit)
        if end < len(lines):
            end = _good_place(lines, start, end, fence)
        text, fence_after = _closed(lines[start:end], fence)
        if text.strip():
            yield text.strip("\n") if not fence else text.rstrip("\n")
        start, fence = end, fence_after
        while start < len(lines) and not fence and not lines[start].strip():
            start += 1


def _furthest(lines: Sequence[str], start: int, fence: str, measure: Measure, limit: int) -> int:
    """The end of the longest run of lines that fits; at least one line."""
    low, high = start + 1, start + 2
    while high <= len(lines) and _fits(lines[start:high], fence, measure, limit):
        low, high = high, start + 2 * (high - start)
    high = min(high, len(lines) + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(lines[start:middle], fence, measure, limit):
            low = middle
        else:
            high = middle
    return low


def _fits(lines: Sequence[str], fence: str, measure: Measure, limit: int) -> bool:
    return measure(_closed(lines, fence)[0]) <= limit


def _closed(lines: Sequence[str], fence: str) -> tuple[str, str]:
    """A run of lines as a text of its own, and the fence that is open after it."""
    after = fence
    for line in lines:
        after = _fence_after(line, after)
    whole = [fence, *lines] if fence else [*lines]
    if after:
        whole.append(_marks(after))
    return "\n".join(whole), after


def _fence_after(line: str, fence: str) -> str:
    match = _FENCE.fullmatch(line)
    if match is None:
        return fence
    if not fence:
        return line.strip()
    marks = _marks(fence)
    closes = match[1].startswith(marks) and not match[2].strip()
    return "" if closes else fence


def _marks(fence: str) -> str:
    match = _FENCE.fullmatch(fence)
    assert match is not None, "it was found as a fence"
    return match[1]


def _good_place(lines: Sequence[str], start: int, end: int, fence: str) -> int:
    """Between paragraphs rather than within one, and not within code if that can be helped; not so
    early that pieces get small."""
    earliest = start + max(1, (end - start) // 3)
    open_at: list[str] = [fence]
    for line in lines[start:end]:
        open_at.append(_fence_after(line, open_at[-1]))
    for place in range(end, earliest - 1, -1):
        blank = not lines[place - 1].strip() or (place < len(lines) and not lines[place].strip())
        if blank and not open_at[place - start]:
            return place
    for place in range(end, earliest - 1, -1):
        if not open_at[place - start]:
            return place
    return end


def _short(line: str, measure: Measure, limit: int) -> Iterator[str]:
    """A line that is too long by itself, in parts. Room is left for a fence around each."""
    room = max(1, limit - 24)
    while measure(line) > room:
        cut = _cut(line, measure, room)
        yield line[:cut].rstrip()
        line = line[cut:].lstrip()
    yield line


def _cut(line: str, measure: Measure, room: int) -> int:
    low, high = 1, len(line)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measure(line[:middle]) <= room else (low, middle)
    whole = [match.span() for match in _WHOLE.finditer(line)]
    for place in (line.rfind(mark, low // 2, low) + 1 for mark in (". ", "! ", "? ", " ")):
        if place > 0 and not any(begin < place < end for begin, end in whole):
            return place
    for begin, end in whole:
        if begin < low < end and begin > 0:
            return begin
    return low
