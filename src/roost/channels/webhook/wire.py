"""What programs and the webhook channel say to each other: JSON, signed with a secret both know."""

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Mapping

import msgspec

from roost.channels.base import Inbound, InboundFile, Piece
from roost.core.inbound import FileKind, Place, Sender

WINDOW = 300
"""Seconds that a signature holds, either way: clocks differ."""
TIMESTAMP, SIGNATURE, ID = "X-Roost-Timestamp", "X-Roost-Signature", "X-Roost-Id"

_NAME = re.compile(r"[\w.@+=-]{1,100}", re.ASCII)
_ID = re.compile(r"[\x21-\x7e]{1,200}")
_LONGEST_TEXT = 500_000


class Refused(Exception):
    """What is wrong with a request, in words for whoever sent it."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class GivenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`data` is in base64."""

    name: str
    media_type: str
    data: str


class GivenSender(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str = ""


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message, as a program posts it. `id` names it: posted again, it is not taken again. An edit
    has an id of its own, and the id of what it edits in `edits`. `press` is the `data` of a button
    of the message `message`."""

    id: str
    conversation: str
    sender: GivenSender
    text: str = ""
    files: tuple[GivenFile, ...] = ()
    group: bool = False
    mentioned: bool = True
    reply_to: str | None = None
    edits: str | None = None
    press: str | None = None
    message: str | None = None


class Button(msgspec.Struct, frozen=True):
    label: str
    data: str


class Sent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message, as a program gets it. The same `id` again is the same message again."""

    id: str
    conversation: str
    group: bool = False
    text: str = ""
    file: GivenFile | None = None
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None


_decode = msgspec.json.Decoder(Given).decode


def signature(secret: str, timestamp: str, signed: bytes) -> str:
    text = timestamp.encode() + b"." + signed
    return "v1=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def signed_headers(secret: str, body: bytes) -> dict[str, str]:
    timestamp = str(int(time.time()))
    return {TIMESTAMP: timestamp, SIGNATURE: signature(secret, timestamp, body)}


def check_signature(secret: str, headers: Mapping[str, str], signed: bytes) -> None:
    """Names of headers are in lower case. A signature holds for some minutes only; what is sent
    again in that time has the id of the first."""
    timestamp = headers.get(TIMESTAMP.lower(), "")
    given = headers.get(SIGNATURE.lower(), "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 15):
        raise Refused(401, f"{TIMESTAMP} is missing, or not in seconds.")
    if not hmac.compare_digest(given.encode(), signature(secret, timestamp, signed).encode()):
        raise Refused(401, f"{SIGNATURE} is wrong.")
    if abs(time.time() - int(timestamp)) > WINDOW:
        raise Refused(401, f"{TIMESTAMP} is too far from now.")


def read_message(channel: str, body: bytes) -> Inbound:
    try:
        given = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"The body is wrong: {str(error)[:300]}") from None
    _look_at(given)
    kind = "group" if given.group else "dm"
    address = f"{channel}:{kind}:{given.conversation}"
    return Inbound(
        id=given.id,
        message=given.edits or given.message or given.id,
        sender=Sender(given.sender.id, given.sender.name or given.sender.id),
        place=Place(address, address if given.group else None, given.mentioned),
        text=given.text,
        files=tuple(_file(file) for file in given.files),
        reply_to=given.reply_to,
        edited=given.edits is not None,
        press=given.press,
        at=int(time.time() * 1000),
    )


def _look_at(given: Given) -> None:
    ids = (("id", given.id), ("reply_to", given.reply_to), ("edits", given.edits))
    for what, id in (*ids, ("message", given.message), ("press", given.press)):
        if id is not None and not _ID.fullmatch(id):
            raise Refused(400, f"The {what} is up to 200 printable ASCII characters.")
    if len(given.text) > _LONGEST_TEXT:
        raise Refused(413, f"The text is longer than {_LONGEST_TEXT} characters.")
    for what, name in (("conversation", given.conversation), ("sender's id", given.sender.id)):
        if not _NAME.fullmatch(name):
            said = "is up to 100 letters, digits and . _ @ + = -"
            raise Refused(400, f"The {what} {said}")


def _file(given: GivenFile) -> InboundFile:
    """Its reference is all of it: so it is durable with its message."""
    try:
        size = len(base64.b64decode(given.data, validate=True))
    except (binascii.Error, ValueError):
        raise Refused(400, f"The file {given.name[:80]!r} is not in base64.") from None
    kind: FileKind = "image" if given.media_type.startswith("image/") else "file"
    return InboundFile(given.data, given.name, given.media_type, kind, size)


def to_send(to: str, piece: Piece, *, key: str) -> Sent:
    _, kind, conversation = to.split(":", 2)
    file = piece.file
    return Sent(
        id=key,
        conversation=conversation,
        group=kind == "group",
        text=piece.text,
        file=file and GivenFile(file.name, file.media_type, base64.b64encode(file.data).decode()),
        buttons=tuple(Button(each.label, each.data) for each in piece.buttons),
        reply_to=piece.reply_to,
    )
