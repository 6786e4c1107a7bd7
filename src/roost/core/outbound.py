"""What goes out to a channel, as it stands in the outbox."""

import msgspec

from roost.core.approvals import ApprovalKind, Asked
from roost.core.ids import ApprovalId, TurnId
from roost.core.messages import FilePart, ImagePart
from roost.core.turns import EndState


class Said(msgspec.Struct, frozen=True, tag_field="kind", tag="said", omit_defaults=True):
    """An answer, whole, as Markdown."""

    text: str
    turn: TurnId
    files: tuple[ImagePart | FilePart, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag_field="kind", tag="failed"):
    """A turn that stopped short, with what it had said, why, and what can be done: `commands` are
    offered as buttons."""

    text: str
    reason: str
    turn: TurnId
    state: EndState
    commands: tuple[str, ...] = ()


class Asks(msgspec.Struct, frozen=True, tag_field="kind", tag="asks"):
    """A question that a turn waits on, with what it had said before."""

    text: str
    approval: ApprovalId
    question: ApprovalKind
    asked: Asked
    turn: TurnId


class Told(msgspec.Struct, frozen=True, tag_field="kind", tag="told", omit_defaults=True):
    """Roost's own words: what a command did, a reset, a pairing code. `reply_to` is the message
    that they answer."""

    text: str
    reply_to: str | None = None


class Button(msgspec.Struct, frozen=True):
    """`data` comes back with the press; it has at most 64 bytes."""

    label: str
    data: str


class StoredPiece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of the platform's: what an entry was split into, before the first of them is
    sent. Text (Markdown) with buttons, or a file. `turn` is set on the first of an answer: what was
    shown while it grew is replaced by it."""

    text: str = ""
    file: ImagePart | FilePart | None = None
    buttons: tuple[Button, ...] = ()
    reply_to: str | None = None
    turn: TurnId | None = None


Outbound = Said | Failed | Asks | Told

_decode = msgspec.json.Decoder(Outbound).decode


def encode_outbound(outbound: Outbound) -> str:
    return msgspec.json.encode(outbound).decode()


def decode_outbound(stored: str) -> Outbound:
    return _decode(stored)


_decode_piece = msgspec.json.Decoder(StoredPiece).decode


def encode_piece(piece: StoredPiece) -> str:
    return msgspec.json.encode(piece).decode()


def decode_piece(stored: str) -> StoredPiece:
    return _decode_piece(stored)
