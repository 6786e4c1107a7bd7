"""How much of a model's context a request takes: estimated, and corrected by what is reported."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from roost.core.ids import BlobId
from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from roost.core.usage import Usage
from roost.llm.base import Request, ToolSchema
from roost.llm.families import IMAGE, Family, family_of
from roost.llm.render import origin
from roost.llm.scripts import Census, census

PER_MESSAGE = 4
"""What the frame around a message takes: its role, and the marks where it begins and ends."""

_PAGE = 60_000
"""Bytes of an average page of a PDF, whose pages can't be counted without reading it."""

_SYSTEMS = 256


class Size(NamedTuple):
    """Tokens, apart for what is written in ASCII and in other scripts: vocabularies differ most in
    the latter, so each is corrected by itself."""

    plain: float = 0.0
    wide: float = 0.0

    def __add__(self, other: object) -> "Size":
        assert isinstance(other, Size)
        return Size(self.plain + other.plain, self.wide + other.wide)


class Estimator:
    """One for all sessions; it keeps nothing of them. Whoever holds messages keeps their size, and
    hands it in: a long history is not counted again at every step."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], tuple[ToolSchema, Size]] = {}
        self._systems: dict[tuple[str, str], Size] = {}
        self._ratios: dict[str, Ratio] = {}

    def measure(
        self,
        messages: Iterable[Message],
        model: str,
        provider: str,
        blobs: Mapping[BlobId, bytes] | None = None,
    ) -> Size:
        """What messages take, before what was learnt about the model: sizes add up."""
        made_by, family = origin(provider, model), family_of(model)
        return _sum([_message(message, made_by, family, blobs or {}) for message in messages])

    def estimate(self, request: Request, provider: str, messages: Size | None = None) -> int:
        """The input tokens that the provider would report for this request; `messages` is the size
        of its messages, if that is known."""
        ratio = self._ratios.get(origin(provider, request.model), Ratio())
        return round(ratio.apply(self._size(request, provider, messages)))

    def observe(self, request: Request, usage: Usage, messages: Size | None = None) -> None:
        """Learn from what the provider counted. Its input includes what it had in its cache, and
        leaves out what it thought while answering."""
        made_by = origin(usage.provider, request.model)
        size = self._size(request, usage.provider, messages)
        ratio = self._ratios.get(made_by, Ratio())
        self._ratios[made_by] = ratio.learn(size, usage.input_tokens)

    def _size(self, request: Request, provider: str, messages: Size | None) -> Size:
        family = family_of(request.model)
        fixed = [self._tool(tool, family) for tool in request.tools]
        if messages is None:
            messages = self.measure(request.messages, request.model, provider, request.blobs)
        return _sum([self._system(request.system, family), *fixed, messages])

    def _system(self, text: str, family: Family) -> Size:
        key = (family.name, text)
        if key not in self._systems:
            if len(self._systems) >= _SYSTEMS:
                self._systems.clear()
            self._systems[key] = _text(text, family)
        return self._systems[key]

    def _tool(self, tool: ToolSchema, family: Family) -> Size:
        key = (family.name, tool.name)
        found = self._tools.get(key)
        if found is None or found[0] is not tool:
            text = f"{tool.name} {tool.description} {bytes(tool.parameters).decode()}"
            found = self._tools[key] = (tool, Size(PER_MESSAGE) + _text(text, family))
        return found[1]


def _sum(sizes: Iterable[Size]) -> Size:
    total = Size()
    for size in sizes:
        total += size
    return total


def _message(message: Message, made_by: str, family: Family, blobs: Mapping[BlobId, bytes]) -> Size:
    sizes = [_part(part, made_by, family, blobs) for part in message.parts]
    return Size(PER_MESSAGE) + _sum(sizes)


def _part(part: Part, made_by: str, family: Family, blobs: Mapping[BlobId, bytes]) -> Size:
    match part:
        case TextPart():
            return _text(part.text, family)
        case ContextPart():
            return Size(PER_MESSAGE) + _text(part.text, family)
        case ToolCallPart():
            return Size(PER_MESSAGE) + _text(part.name + part.arguments, family)
        case ToolResultPart():
            contents = [_part(each, made_by, family, blobs) for each in part.content]
            return Size(PER_MESSAGE) + _sum(contents)
        case ReasoningPart():
            # Another model's reasoning is not sent.
            return _text(part.text, family) if part.origin == made_by else Size()
        case ImagePart():
            return Size(IMAGE)
        case FilePart():
            return _file(part, family, blobs)
        case _:
            return Size()


def _file(part: FilePart, family: Family, blobs: Mapping[BlobId, bytes]) -> Size:
    if part.sent:
        return Size(PER_MESSAGE)
    if part.media_type == "application/pdf":
        return Size(IMAGE * (1 + part.size // _PAGE))
    if part.blob in blobs:
        return _text(blobs[part.blob].decode("utf-8", "replace"), family)
    return Size(part.size / 4)


def _text(text: str, family: Family) -> Size:
    if not text:
        return Size()
    found: Census = census(text)
    return Size(family.plain(found), family.wide(found))


_TRUSTED = 400
"""Tokens from which a report counts in full: in a short request, what the vendor adds weighs more
than what we can estimate."""


class Ratio(msgspec.Struct, frozen=True):
    """What a model's tokens are to our estimate, learnt step by step.

    A report that is off by a factor of three says nothing about the vocabulary (a server counts
    only what it had not cached, an image is of unusual size) and is left out. Of the others none
    moves the ratio far, so that a few strange ones do no harm.
    """

    plain: float = 1.0
    wide: float = 1.0
    seen: int = 0

    def apply(self, size: Size) -> float:
        return self.plain * size.plain + self.wide * size.wide

    def learn(self, size: Size, reported: int) -> "Ratio":
        expected = self.apply(size)
        if expected <= 0 or not expected / 3 < reported < expected * 3:
            return self
        # At first in large steps, then in small ones, and never in none: models are replaced.
        step = max(0.15, 0.8 / (1 + self.seen)) * min(1.0, reported / _TRUSTED)
        error = max(-0.5, min(0.5, reported / expected - 1)) * expected
        # Along the parts that were there: each is corrected by its share in the request.
        norm = size.plain**2 + size.wide**2
        return Ratio(
            _bounded(self.plain + step * error * size.plain / norm),
            _bounded(self.wide + step * error * size.wide / norm),
            self.seen + 1,
        )


def _bounded(ratio: float) -> float:
    return max(0.3, min(3.0, ratio))
