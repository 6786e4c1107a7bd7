"""A segment as a model reads it: who said what in which turn, in excerpts of a bounded size."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from roost.core.ids import TurnId
from roost.core.messages import Message, plain_text
from roost.memory.base import Segment

EXCERPT = 12_000
"""Characters in one excerpt: a small model loses the thread in more."""

MOST = 8 * EXCERPT
"""Characters of a whole segment. Past that, long messages are shortened further and further."""

_WHO = {"user": "User", "assistant": "Assistant"}
_LENGTHS = (4_000, 2_000, 1_000, 500, 250)


class Line(NamedTuple):
    who: str
    text: str

    def __str__(self) -> str:
        """What is said is indented: nothing in it can pass for another speaker."""
        inside = self.text.replace("</", "< /").replace("\n", "\n  ")
        return f"{self.who}: {inside}"


Excerpt = Sequence[Line]


def excerpts(segment: Segment) -> list[Excerpt]:
    """What was said, without what Roost added to it: a memory that was recalled is no news. What
    tools returned is left out too: it is not the user's word, and may have been written by anyone.
    """
    said = [message for message in segment.messages if message.role in _WHO]
    numbers = {turn: number for number, turn in enumerate(segment.turns, 1)}
    lines: list[Line] = []
    for longest in _LENGTHS:
        lines = _lines(said, numbers, longest)
        if _size(lines) <= MOST:
            break
    while _size(lines) > MOST:
        del lines[: len(lines) // 10 + 1]
    return _packed(lines)


def _lines(said: Sequence[Message], numbers: Mapping[TurnId, int], longest: int) -> list[Line]:
    lines: list[Line] = []
    for message in said:
        number = numbers.get(message.turn) if message.turn is not None else None
        text = plain_text(message.parts).strip()
        if number is not None and text:
            who = f"[turn {number}, {_day(message.created_at)}] {_WHO[message.role]}"
            lines.append(Line(who, shortened(text, longest)))
    return lines


def _size(lines: Sequence[Line]) -> int:
    return sum([len(line.who) + len(line.text) for line in lines])


def _day(at: int) -> str:
    """So that the model can say when, instead of "yesterday"."""
    return f"{datetime.fromtimestamp(at / 1000, UTC):%A %Y-%m-%d}"


def shortened(text: str, longest: int) -> str:
    """Its head and its tail: what someone wants mostly stands at either end."""
    if len(text) <= longest:
        return text
    half = (longest - 5) // 2
    return f"{text[:half].rstrip()} […] {text[-half:].lstrip()}"


def _packed(lines: Sequence[Line]) -> list[Excerpt]:
    packed: list[list[Line]] = []
    size = EXCERPT
    for line in lines:
        if size + _size([line]) > EXCERPT:
            packed.append([])
            size = 0
        packed[-1].append(line)
        size += _size([line])
    return [*packed]
