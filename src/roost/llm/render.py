"""What the wire protocols share in turning stored messages into what a model reads."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping

import msgspec

from roost.core.ids import BlobId, ToolCallId
from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from roost.llm.failures import UNREADABLE
from roost.llm.profiles import Profile

_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml", "application/toml")


def origin(provider: str, model: str) -> str:
    """Who made a piece of reasoning: only they are given it back."""
    return f"{provider}/{model}"


def sendable(message: Message, made_by: str) -> list[Part]:
    """The parts of an answer without the thoughts that can't go back: another's, unfinished ones,
    and those that nothing followed, which their makers refuse."""
    parts = [
        part
        for part in message.parts
        if not isinstance(part, ReasoningPart)
        or (part.payload is not None and part.origin == made_by)
    ]
    while parts and isinstance(parts[-1], ReasoningPart):
        parts.pop()
    return parts


def with_results_together(messages: Iterable[Message]) -> list[Message]:
    """What the tools of one step answered is one message to a model, however it was stored."""
    together: list[Message] = []
    for message in messages:
        if together and message.role == "tool" == together[-1].role:
            parts = together[-1].parts + message.parts
            together[-1] = msgspec.structs.replace(together[-1], parts=parts)
        else:
            together.append(message)
    return together


def note(text: str) -> str:
    """Roost's own voice, in the place where only a user's is possible."""
    return _framed("note", text)


def _framed(frame: str, text: str, name: str | None = None) -> str:
    """Nothing in it ends it, nor does its name: both may quote anybody."""
    named = "" if name is None else f" name={name!r}"
    inside = f"{named}>\n{text}\n".replace(f"</{frame}", f"< /{frame}")
    return f"<{frame}{inside}</{frame}>"


def words(part: Part, blobs: Mapping[BlobId, bytes], profile: Profile) -> str | None:
    """A part as text, if it is text to this model; an image or file it can take is None. One whose
    bytes were lost is told of: the rest of the conversation goes on."""
    match part:
        case TextPart():
            return part.text
        case ContextPart():
            return _framed("context", part.text, part.label)
        case ImagePart():
            if profile.images and part.blob in blobs:
                return None
            why = "lost" if profile.images else "not shown"
            return f"[image {part.name or part.media_type}: {why}]"
        case FilePart():
            if part.sent:
                return f"[file {part.name}: the user has it]"
            if part.blob not in blobs:
                return f"[file {part.name}: lost]"
            if part.media_type.startswith(_TEXTUAL):
                text = blobs[part.blob].decode("utf-8", "replace")
                return _framed("file", text, part.name)
            pdf = part.media_type == "application/pdf"
            return None if profile.files and pdf else f"[file {part.name}: not shown]"
        case _:
            return ""


def joined(parts: Iterable[Part], blobs: Mapping[BlobId, bytes], profile: Profile) -> str:
    """The text of parts, without what is not text."""
    return "\n\n".join(filter(None, [words(part, blobs, profile) for part in parts]))


def object_text(arguments: str) -> str:
    """A tool call's arguments as every server takes them: an object, just as it was written. What
    is no object goes inside one; the model has seen the error that came of it."""
    try:
        msgspec.json.decode(arguments or "{}", type=dict[str, object])
    except UNREADABLE:
        return msgspec.json.encode({"arguments": arguments}).decode()
    return arguments or "{}"


def data_url(part: ImagePart | FilePart, blobs: Mapping[BlobId, bytes]) -> str:
    return f"data:{part.media_type};base64,{base64_of(part, blobs)}"


def base64_of(part: ImagePart | FilePart, blobs: Mapping[BlobId, bytes]) -> str:
    return base64.b64encode(blobs[part.blob]).decode()


def wire_ids(messages: Iterable[Message], profile: Profile) -> dict[ToolCallId, str]:
    """What the model is told a tool call is named: as it named it, where it did. Two of the
    protocols take only plain names, and each once; chat's servers know their own."""
    ids: dict[ToolCallId, str] = {}
    used: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                id = _nine(part) if profile.call_ids == "nine" else part.wire_id or part.call
                if profile.wire != "openai-chat" and (id in used or not _PLAIN.fullmatch(id)):
                    id = part.call
                used.add(id)
                ids[part.call] = id
    return ids


def _nine(part: ToolCallPart) -> str:
    """Nine letters and digits, for the vendor that takes nothing else."""
    if part.wire_id and len(part.wire_id) == 9 and part.wire_id.isalnum():
        return part.wire_id
    return hashlib.sha256(part.call.encode()).hexdigest()[:9]
