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

_INPUT_LIMIT = 8_000
"""Of a tool's input, in characters: it may hold a whole file."""

Told = dict[str, object]


def told(messages: Sequence[Message]) -> list[Told]:
    """One for each message that says or does something: the same for the same messages, since how
    many have arrived is how a repeat knows where to go on.

    Left out are notes, reasoning, recalled memories, which are no news, and what tools returned,
    which may have been written by anyone.
    """
    failures = {part.call: part.error for part in _results(messages)}
    return [each for message in messages if (each := _told(message, failures)) is not None]


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


def _told(message: Message, failures: Mapping[ToolCallId, bool]) -> Told | None:
    if message.role not in ("user", "assistant"):
        return None
    parts = [each for part in message.parts if (each := _part(part, failures)) is not None]
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


def _part(part: Part, failures: Mapping[ToolCallId, bool]) -> Told | None:
    match part:
        case TextPart(text) if text.strip():
            return {"type": "text", "text": text}
        case ImagePart() | FilePart():
            return {"type": "text", "text": f"[{part.name or part.media_type}]"}
        case ToolCallPart():
            return _tool(part, failures.get(part.call))
        case _:
            return None


def _tool(call: ToolCallPart, failed: bool | None) -> Told:
    return {
        "type": "tool",
        "tool_id": call.call,
        "tool_name": call.name,
        "tool_input": _arguments(call.arguments),
        "tool_status": "pending" if failed is None else "error" if failed else "completed",
    }


def _arguments(text: str) -> dict[str, object]:
    if len(text) <= _INPUT_LIMIT:
        try:
            return msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError:
            pass
    return {"arguments": text[:_INPUT_LIMIT]}
