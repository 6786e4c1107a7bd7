"""What the server reads out of a request, whatever its protocol."""

from collections.abc import Iterator
from typing import NamedTuple, cast

import msgspec

Json = dict[str, object]

MARKERS = ("cache_control", "prompt_cache_breakpoint")
"""Where a client wants the cache to begin or end: not part of the prompt."""


class Refused(Exception):
    """A request that the vendor would answer with 400."""


class Segment(NamedTuple):
    """The smallest thing a prefix cache compares: a tool, or a block of a message."""

    data: bytes
    marked: bool


class Prompt(msgspec.Struct, frozen=True):
    """`segments` are in the order in which a cache reads them: tools, system prompt, messages.
    `results` are what the tools answered, by the id of the call."""

    model: str
    stream: bool
    segments: tuple[Segment, ...]
    last_text: str
    tools: tuple[str, ...]
    results: dict[str, str]


def objects(value: object) -> list[Json]:
    """The objects of a list whose shape was checked before."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def segment(place: str, thing: Json) -> Segment:
    bare = {key: value for key, value in thing.items() if key not in MARKERS}
    marked = len(bare) < len(thing)
    return Segment(msgspec.json.encode([place, _unmarked(bare)]), marked)


def message_segments(message: Json, text_type: str) -> Iterator[Segment]:
    """A message block by block. Text given as a string is the same prompt as one text block."""
    role = str(message.get("role"))
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": text_type, "text": content}]
    for block in objects(content):
        yield segment(role, block)
    rest = {key: message[key] for key in message if key not in ("role", "content")}
    if rest:
        yield segment(role, rest)


def _unmarked(value: object) -> object:
    """Tool results have blocks of their own, which may be marked as well."""
    if isinstance(value, dict):
        fields = cast(Json, value)
        return {key: _unmarked(fields[key]) for key in fields if key not in MARKERS}
    if isinstance(value, list):
        return [_unmarked(item) for item in cast("list[object]", value)]
    return value


def check_names(names: list[str]) -> tuple[str, ...]:
    """Tools have names of letters, digits, `_` and `-`, each once."""
    for at, name in enumerate(names):
        plain = name.replace("_", "").replace("-", "")
        if not (plain.isascii() and (plain.isalnum() or not plain) and 0 < len(name) <= 64):
            raise Refused(f"tools[{at}].name: {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'")
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    return tuple(names)
