"""A session as Markdown, for people."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from roost.core.amounts import amount
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
    UnknownPart,
)
from roost.core.sessions import Session

_WHO = {"user": "You", "assistant": "Roost", "tool": "Tools", "note": "Note"}


def markdown(session: Session, messages: Sequence[Message]) -> str:
    title = " ".join((session.title or "Untitled session").split())
    blocks = [f"# {title}", f"{_time(session.created_at)}, {amount(len(messages), 'message')}"]
    for message in messages:
        stopped = ", stopped short" if message.partial else ""
        blocks.append(f"## {_WHO[message.role]}, {_time(message.created_at)}{stopped}")
        blocks += _blocks(message.parts)
    return "\n\n".join(blocks) + "\n"


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _blocks(parts: Iterable[Part]) -> list[str]:
    return [block for part in parts if (block := _block(part))]


def _block(part: Part) -> str:
    match part:
        case TextPart():
            return part.text
        case ReasoningPart():
            return "\n".join(f"> {line}".rstrip() for line in part.text.splitlines())
        case ContextPart():
            return f"_{part.label}_\n\n{_fenced(part.text)}"
        case ImagePart() | FilePart():
            return f"_Attachment: {part.name or part.media_type} ({part.blob[:12]})_"
        case ToolCallPart():
            return f"**{part.name}**\n\n{_fenced(part.arguments, 'json')}"
        case ToolResultPart():
            outcome = "Failed:" if part.error else "Result:"
            return f"{outcome}\n\n{_fenced(chr(10).join(_blocks(part.content)))}"
        case UnknownPart():
            return "_A part that this version of Roost can't read._"


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
