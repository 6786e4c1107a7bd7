"""What a conversation is made of: messages with typed parts, and their stored form."""

from typing import Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import BlobId, MessageId, ToolCallId, TurnId

Role = Literal["user", "assistant", "tool", "note"]
"""`tool` carries results; `note` is Roost's own voice: a compaction's summary, a notice."""


NoteKind = Literal["summary", "continuation"]
"""What stands for an earlier part of the conversation; that an answer goes on where it stopped."""


class TextPart(msgspec.Struct, frozen=True, tag_field="kind", tag="text", omit_defaults=True):
    """`note` tells those who show a note of Roost's own what it is: its words are for the model."""

    text: str
    note: NoteKind | None = None


class ContextPart(msgspec.Struct, frozen=True, tag_field="kind", tag="context"):
    """What was added to a user's message for its turn (the time, recalled memories): kept with the
    message and sent again as it was, so that later requests repeat the same bytes."""

    label: str
    text: str


class ReasoningPart(msgspec.Struct, frozen=True, tag_field="kind", tag="reasoning"):
    """`payload` is opaque and goes back only to the `origin` (provider and model) that made it."""

    text: str
    payload: str | None = None
    origin: str | None = None
    duration_ms: int | None = None


class ImagePart(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    blob: BlobId
    media_type: str
    name: str | None = None


class FilePart(msgspec.Struct, frozen=True, tag_field="kind", tag="file", omit_defaults=True):
    """What is `sent` is the agent's to the person: they get it, the model is not shown it."""

    blob: BlobId
    media_type: str
    name: str
    size: int
    sent: bool = False


class ToolCallPart(msgspec.Struct, frozen=True, tag_field="kind", tag="tool_call"):
    """`arguments` is the JSON text exactly as the model wrote it; `wire_id` is the model's own name
    for the call, where it gave one."""

    call: ToolCallId
    name: str
    arguments: str
    wire_id: str | None = None


class ToolResultPart(msgspec.Struct, frozen=True, tag_field="kind", tag="tool_result"):
    call: ToolCallId
    content: tuple[TextPart | ImagePart | FilePart, ...]
    error: bool = False


UnknownPart = msgspec.Raw
"""A part this version can't read. Its bytes are kept and written back as they were."""

KnownPart = (
    TextPart | ContextPart | ReasoningPart | ImagePart | FilePart | ToolCallPart | ToolResultPart
)
Part = KnownPart | UnknownPart


class Message(msgspec.Struct, frozen=True):
    """`position` orders a session's history; `born` and `gone` are the epochs between which it
    was part of it. What is `pinned` stays word for word through compactions."""

    id: MessageId
    role: Role
    parts: tuple[Part, ...]
    turn: TurnId | None = None
    partial: bool = False
    position: int = 0
    born: int = 0
    gone: int | None = None
    created_at: int = 0
    pinned: bool = False


class Draft(msgspec.Struct, frozen=True):
    """A message that is about to be written: the store gives it its place and its time."""

    id: MessageId
    role: Role
    parts: tuple[Part, ...]
    partial: bool = False


_decode_known = msgspec.json.Decoder(tuple[KnownPart, ...]).decode
_decode_one = msgspec.json.Decoder(KnownPart).decode
_decode_raw = msgspec.json.Decoder(list[msgspec.Raw]).decode


_encode = msgspec.json.Encoder().encode


def encode_parts(parts: tuple[Part, ...]) -> str:
    return _encode(parts).decode()


def decode_parts(stored: str | bytes) -> tuple[Part, ...]:
    """Read what `encode_parts` wrote, in this or in a newer version of Roost."""
    try:
        return _decode_known(stored)
    except msgspec.ValidationError:
        return tuple([_lenient(raw) for raw in _decode_raw(stored)])


def _lenient(raw: msgspec.Raw) -> Part:
    try:
        return _decode_one(raw)
    except msgspec.ValidationError:
        return raw.copy()  # it would keep all of what was read


LONGEST = 500_000
"""Characters of a message that comes over HTTP."""


def check_text(value: object, what: str = "message") -> None:
    """Refuse words that can't be written down: half of a surrogate pair is no character."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise InvalidInput(
            f"The {what} has characters that are not text. Send it again without them."
        ) from None


def message_parts(message: str | tuple[Part, ...]) -> tuple[Part, ...]:
    """What a person says, which must not be nothing."""
    parts = (TextPart(message),) if isinstance(message, str) else message
    if not any(not isinstance(part, TextPart) or part.text.strip() for part in parts):
        raise InvalidInput("The message is empty.")
    check_text(parts)
    return parts


def attachments(parts: tuple[Part, ...]) -> set[BlobId]:
    """The blobs these parts name, those inside tool results included."""
    return {part.blob for part in _attached(parts)}


def shown(parts: tuple[Part, ...]) -> set[BlobId]:
    """The blobs of these parts that a model reads."""
    return {part.blob for part in _attached(parts) if not _is_sent(part)}


def sent_files(parts: tuple[Part, ...]) -> tuple[ImagePart | FilePart, ...]:
    """What the agent gave to the person."""
    return tuple([part for part in _attached(parts) if _is_sent(part)])


def _is_sent(part: ImagePart | FilePart) -> bool:
    return isinstance(part, FilePart) and part.sent


def _attached(parts: tuple[Part, ...]) -> list[ImagePart | FilePart]:
    found: list[ImagePart | FilePart] = []
    for part in parts:
        if isinstance(part, TextPart):
            continue  # most of them are: the quickest to tell
        if isinstance(part, (ImagePart, FilePart)):
            found.append(part)
        elif isinstance(part, ToolResultPart):
            found += _attached(part.content)
    return found


def plain_text(parts: tuple[Part, ...]) -> str:
    """The words a person wrote or reads: text parts only."""
    return "\n\n".join(part.text for part in parts if isinstance(part, TextPart))
