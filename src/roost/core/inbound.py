"""What comes in from a channel, as it is kept until it is handled."""

from typing import Literal

import msgspec

_LONGEST_NAME = 80


def plain_name(given: str) -> str:
    """A name that someone gave themselves, a group or a file: one line that says nothing else, to
    whoever reads it, model or terminal."""
    seen = "".join([each if each.isprintable() else " " for each in given[: 4 * _LONGEST_NAME]])
    line = " ".join(seen.split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1] + "…"


def forwarded(text: str) -> str:
    """Somebody else's words, passed on: nothing in them is a command, or a yes, of whoever did."""
    return f"(forwarded)\n{text}" if text else ""


class Sender(msgspec.Struct, frozen=True):
    """`id` is the platform's own and never changes; `name` is for people."""

    id: str
    name: str


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something was said. `address` is where an answer goes and begins with the channel's
    name: `telegram:dm:42`, `telegram:group:-100:topic:7`, `slack:team:T1:channel:C2:thread:9.1`.
    In a group, `group` is the address of the whole of it, without topic or thread, and `mentioned`
    says whether the bot was spoken to: named, replied to, or given a command."""

    address: str
    group: str | None = None
    mentioned: bool = True
    name: str = ""


FileKind = Literal["image", "file", "voice"]


class InboundFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a message names. `ref` is whatever the platform fetches it by, also after a
    restart."""

    ref: str
    name: str
    media_type: str
    kind: FileKind = "file"
    size: int | None = None


class Inbound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`id` names the delivery: a platform that delivers again uses the same one. `message` names
    the message, for replies and edits. A command is text that begins with `/`, however the platform
    writes it; the bot's own name is taken out of the text. `press` is the `data` of the button
    that was pressed, and `message` then the message that has it. Times are in milliseconds."""

    id: str
    message: str
    sender: Sender
    place: Place
    text: str = ""
    files: tuple[InboundFile, ...] = ()
    reply_to: str | None = None
    reply_text: str = ""
    edited: bool = False
    press: str | None = None
    at: int = 0


_decode = msgspec.json.Decoder(Inbound).decode


def encode_inbound(inbound: Inbound) -> str:
    return msgspec.json.encode(inbound).decode()


def decode_inbound(stored: str) -> Inbound:
    return _decode(stored)


class HookCall(msgspec.Struct, frozen=True):
    """An HTTP request to `/hooks/NAME`, for the channel NAME. The names of headers are in lower
    case; `body` is as it was signed."""

    method: str
    query: str
    headers: dict[str, str]
    body: bytes


class HookReply(msgspec.Struct, frozen=True):
    status: int = 200
    body: bytes = b""
    media_type: str = "text/plain"
