"""A segment as OpenViking is told it: what was said and done, without what Roost itself added."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from roost.core.ids import ToolCallId
from roost.core.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

BATCH_MESSAGES = 100
"""More in one request are refused."""

BATCH_BYTES = 1 << 20

_OUTPUT_LIMIT = 8_000
"""Of a tool's output, in characters: memories come from what people say, and each costs tokens."""

Told = dict[str, object]


def told(messages: Sequence[Message]) -> list[Told]:
    """One for each message that says or does something: the same for the same messages, since how
    many have arrived is how a repeat knows where to go on.

    Left out are notes, reasoning and recalled memories; the last would be learned over and over.
    """
    results = {part.call: part for part in _results(messages)}
    return [each for message in messages if (each := _told(message, results)) is not None]


def batches(messages: Sequence[Told]) -> Iterator[list[Told]]:
    batch: list[Told] = []
    size = 0
    for message in messages:
        weight = len(msgspec.json.encode(message))
        if batch and (len(batch) == BATCH_MESSAGES or size + weight > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += weight
    if batch:
        yield batch


def _results(messages: Sequence[Message]) -> Iterator[ToolResultPart]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                yield part


def _told(message: Message, results: Mapping[ToolCallId, ToolResultPart]) -> Told | None:
    if message.role not in ("user", "assistant"):
        return None  # a tool's results stand with their calls
    parts = [each for part in message.parts if (each := _part(part, results)) is not None]
    if not parts:
        return None
    return {
        "role": message.role,
        "parts": parts,
        "created_at": datetime.fromtimestamp(message.created_at / 1000, UTC).isoformat(),
        "turn_id": message.turn,
        "message_kind": "user_query" if message.role == "user" else "assistant_step",
        "source_message_ids": [message.id],
    }


def _part(part: Part, results: Mapping[ToolCallId, ToolResultPart]) -> Told | None:
    match part:
        case TextPart(text) if text.strip():
            return {"type": "text", "text": text}
        case ImagePart() | FilePart():
            return {"type": "text", "text": _attachment(part)}
        case ToolCallPart():
            return _tool(part, results.get(part.call))
        case _:
            return None


def _tool(call: ToolCallPart, result: ToolResultPart | None) -> Told:
    output = "" if result is None else "\n".join(_shown(part) for part in result.content)
    if len(output) > _OUTPUT_LIMIT:
        output = f"{output[:_OUTPUT_LIMIT]}\n[{len(output) - _OUTPUT_LIMIT} more characters]"
    status = "pending" if result is None else "error" if result.error else "completed"
    return {
        "type": "tool",
        "tool_id": call.call,
        "tool_name": call.name,
        "tool_input": _arguments(call.arguments),
        "tool_output": output,
        "tool_status": status,
    }


def _arguments(text: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError:
        return {"arguments": text}


def _shown(part: TextPart | ImagePart | FilePart) -> str:
    return part.text if isinstance(part, TextPart) else _attachment(part)


def _attachment(part: ImagePart | FilePart) -> str:
    return f"[{part.name or part.media_type}]"
