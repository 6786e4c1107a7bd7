"""What of a long history can go: decided by sizes and roles alone, without asking anyone."""

from collections.abc import Callable, Sequence

import msgspec

from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain_text,
)

Size = Callable[[Message], int]

PRUNED = 300
"""Tokens: a tool's old result is cut down if it is longer."""

_BRIEF = 160
_LISTED = "The earlier conversation was left out to save room. What the user said in it:"
_HEAD, _TAIL = 400, 200
"""Characters that are kept of one."""


_PICTURE = 5000
"""Characters that an attachment counts for."""


def length_of(message: Message) -> int:
    """Characters, roughly as a model is sent them."""
    return 16 + sum([_length(part) for part in message.parts])


def _length(part: Part) -> int:
    match part:
        case TextPart() | ContextPart():
            return len(part.text)
        case ToolCallPart():
            return len(part.name) + len(part.arguments)
        case ToolResultPart():
            return sum([_length(each) for each in part.content])
        case ImagePart() | FilePart():
            return _PICTURE
        case _:
            return 0


class Plan(msgspec.Struct, frozen=True):
    """`pruned` are messages with results cut down, in place of themselves; `middle` is what a
    summary has to stand for. Only one of the two is to be done."""

    pruned: tuple[Message, ...]
    middle: tuple[Message, ...]


def plan(
    messages: Sequence[Message], size: Size, *, excess: int, tail: int, keep_first: bool = True
) -> Plan:
    """How to take `excess` tokens out of a history and keep what is pinned, what the person asked
    in a turn that is not answered yet, and the newest `tail` tokens word for word; and, if it has
    to be kept, the first thing that was said.

    Cutting down old results is tried first: it often suffices, and needs no model.
    """
    unprotected = _unprotected(_blocks(messages), size, tail, keep_first=keep_first)
    old = [message for block in unprotected for message in block]
    cut = [(message, shorter) for message in old if (shorter := _cut_down(message, size))]
    if sum([size(message) - size(shorter) for message, shorter in cut]) >= max(excess, 1):
        return Plan(tuple([shorter for _, shorter in cut]), ())
    return Plan((), tuple(old))


def _blocks(messages: Sequence[Message]) -> list[list[Message]]:
    """What may not be parted stays together: an answer that calls tools, and their results."""
    blocks: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and blocks:
            blocks[-1].append(message)
        else:
            blocks.append([message])
    return blocks


def _unprotected(
    blocks: list[list[Message]], size: Size, tail: int, *, keep_first: bool
) -> list[list[Message]]:
    asked = [place for place, block in enumerate(blocks) if block[0].role == "user"]
    open_from = _unanswered(blocks)
    kept = {place for place in asked if place >= open_from}
    if keep_first:
        kept |= {*asked[:1]}
    return [
        block
        for place, block in enumerate(blocks[: _tail_begins(blocks, size, tail)])
        if place not in kept and not any(message.pinned for message in block)
    ]


def _unanswered(blocks: list[list[Message]]) -> int:
    """Where the turn begins that is under way: after the last answer that called no tool."""
    for place in range(len(blocks) - 1, -1, -1):
        first = blocks[place][0]
        calls = any(isinstance(part, ToolCallPart) for part in first.parts)
        if first.role == "assistant" and not calls:
            return place + 1
    return 0


def _tail_begins(blocks: list[list[Message]], size: Size, tail: int) -> int:
    """Where what is kept word for word begins: at a turn if it can, and with the last block, which
    may be at work, always."""
    begin, left = max(len(blocks) - 1, 0), tail
    for place in range(len(blocks) - 1, -1, -1):
        left -= sum([size(message) for message in blocks[place]])
        if left < 0 and place < len(blocks) - 1:
            break
        begin = place
    turns = [place for place in range(begin, len(blocks)) if blocks[place][0].role == "user"]
    return turns[0] if turns and turns[0] - begin < (len(blocks) - begin) // 2 else begin


def _cut_down(message: Message, size: Size) -> Message | None:
    """A message of results with the long ones cut down; None if there is none to cut."""
    if message.role != "tool" or size(message) <= PRUNED:
        return None
    parts = tuple([_shorter(part) for part in message.parts])
    return msgspec.structs.replace(message, parts=parts) if parts != message.parts else None


def _shorter(part: Part) -> Part:
    if not isinstance(part, ToolResultPart):
        return part
    text = "\n".join([each.text for each in part.content if isinstance(each, TextPart)])
    others = len(part.content) - sum([isinstance(each, TextPart) for each in part.content])
    left_out = len(text) - _HEAD - _TAIL
    if left_out < _HEAD and not others:
        return part
    shown = f"{text[:_HEAD]}\n[{max(left_out, 0)} characters left out]\n{text[-_TAIL:]}"
    if others:
        shown = f"{text[: _HEAD + _TAIL]}\n[{others} attachments left out]"
    return msgspec.structs.replace(part, content=(TextPart(shown),))


def transcript(messages: Sequence[Message], *, longest: int) -> list[str]:
    """The messages as text, for whoever sums them up; each at most about `longest` characters, but
    an earlier summary whole. What they say is indented: nothing in it can pass for a speaker."""
    return [
        f"{_speaker(message)}:\n{_indented(_shown(message, _whole(message, longest)))}"
        for message in messages
    ]


def _whole(message: Message, longest: int) -> int:
    return 1 << 30 if message.role == "note" else longest


def _indented(text: str) -> str:
    return "\n".join([f"  {line}" for line in text.replace("</", "< /").splitlines()])


def _speaker(message: Message) -> str:
    return {"user": "User", "assistant": "Assistant", "tool": "Tools", "note": "Note"}[message.role]


def _shown(message: Message, longest: int) -> str:
    lines: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                lines.append(part.text)
            case ToolCallPart():
                lines.append(f"[calls {part.name}: {part.arguments}]")
            case ToolResultPart():
                said = "\n".join([each.text for each in part.content if isinstance(each, TextPart)])
                lines.append(f"[{'failed' if part.error else 'result'}: {said}]")
            case _:
                pass
    text = "\n".join(lines)
    if len(text) <= longest:
        return text
    return f"{text[: longest * 2 // 3]}\n[...]\n{text[-longest // 3 :]}"


def _said(message: Message) -> list[str]:
    text = plain_text(message.parts)
    if message.role == "note":  # an earlier list goes on in this one; a summary is a model's
        earlier = text.splitlines() if text.startswith(_LISTED) else []
        return [line for line in earlier if line.startswith("- ")]
    if message.role != "user" or not text.strip():
        return []
    return [f"- {' '.join(text.split())[:_BRIEF]}"]


def listed(messages: Sequence[Message], longest: int) -> str:
    """What stands for messages where no model sums them up: the person's own words, each in brief.
    The newest count most, so those go first if it becomes too long."""
    lines = [line for message in messages for line in _said(message)]
    kept: list[str] = []
    left = longest - len(_LISTED)
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join([_LISTED, *reversed(kept)])
