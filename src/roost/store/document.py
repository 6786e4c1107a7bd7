"""A session as a document: what an export holds, and what an import refuses."""

import base64
import binascii
import hashlib
from typing import Annotated, Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.events import RewriteKind
from roost.core.ids import BlobId, MessageId, SessionId, ToolCallId, TurnId, UserId, derived_id
from roost.core.messages import Role, decode_parts
from roost.core.sessions import Parent, TitleBy
from roost.core.signature import AgentConfig
from roost.core.turns import ToolCallState, TurnOptions, TurnState

VERSION = 1

Number = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""One that every database and every JSON reader can hold."""


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True):
    id: SessionId
    origin: str
    title: str | None = None
    title_by: TitleBy | None = None
    pinned: bool = False
    archived: bool = False
    project: str | None = None
    parent: Parent | None = None
    config: AgentConfig | None = None
    revision: Number
    epoch: Number
    head: Number
    created_at: Number
    active_at: Number
    ended_at: Number | None = None


class ExportedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` are kept as they are stored, byte for byte."""

    id: MessageId
    role: Role
    parts: msgspec.Raw
    turn: TurnId | None = None
    partial: bool = False
    position: Number
    revision: Number
    born: Number
    gone: Number | None = None
    created_at: Number


class ExportedTurn(msgspec.Struct, frozen=True, kw_only=True):
    id: TurnId
    state: TurnState
    place: Number
    steer: bool = False
    route: str | None = None
    options: msgspec.Raw
    ephemeral: bool = False
    parts: msgspec.Raw
    message: MessageId | None = None
    start: Number | None = None
    step: Number = 0
    attempt: Number = 0
    reason: str | None = None
    undone: Number | None = None
    created_at: Number
    started_at: Number | None = None
    ended_at: Number | None = None


class ExportedToolCall(msgspec.Struct, frozen=True, kw_only=True):
    id: ToolCallId
    turn: TurnId
    ordinal: Number
    name: str
    arguments: str
    state: ToolCallState
    started_at: Number | None = None
    ended_at: Number | None = None


class ExportedEpoch(msgspec.Struct, frozen=True, kw_only=True):
    epoch: Number
    kind: RewriteKind
    revision: Number
    detail: msgspec.Raw
    created_at: Number


class ExportedUsage(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    provider: str
    model: str
    calls: Number
    input_tokens: Number
    cached_tokens: Number
    cache_write_tokens: Number
    output_tokens: Number
    reasoning_tokens: Number
    cost: Number
    unpriced: Number
    at: Number


class ExportedBlob(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is base64."""

    id: BlobId
    media_type: str
    data: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """No credential is in here, nor anything of another session."""

    format: Literal["roost-session"] = "roost-session"
    version: int = VERSION
    session: ExportedSession
    messages: tuple[ExportedMessage, ...] = ()
    turns: tuple[ExportedTurn, ...] = ()
    tool_calls: tuple[ExportedToolCall, ...] = ()
    epochs: tuple[ExportedEpoch, ...] = ()
    usage: tuple[ExportedUsage, ...] = ()
    blobs: tuple[ExportedBlob, ...] = ()


def encode(document: Document) -> bytes:
    return msgspec.json.encode(document)


class _Header(msgspec.Struct, frozen=True):
    format: Literal["roost-session"]
    version: int


def decode(text: bytes) -> Document:
    try:
        header = msgspec.json.decode(text, type=_Header)
        if header.version > VERSION:
            raise InvalidInput(
                "This export was made by a newer Roost. Upgrade this one to import it."
            )
        text.decode()  # what is kept as it is must be text too
        document = msgspec.json.decode(text, type=Document)
        for message in document.messages:
            decode_parts(bytes(message.parts))
        for turn in document.turns:
            decode_parts(bytes(turn.parts))
            msgspec.json.decode(turn.options, type=TurnOptions)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput(f"This is not an export of a Roost session: {error}.") from error
    _check(document)
    return document


def _check(document: Document) -> None:
    """What the database would refuse anyway, said in words."""
    names: dict[str, list[object]] = {
        "message": [message.id for message in document.messages],
        "position": [message.position for message in document.messages if message.gone is None],
        "turn": [turn.id for turn in document.turns],
        "tool call": [call.id for call in document.tool_calls],
        "epoch": [epoch.epoch for epoch in document.epochs],
        "model's usage": [(used.source, used.provider, used.model) for used in document.usage],
    }
    for what, values in names.items():
        if len(set(values)) != len(values):
            raise InvalidInput(f"This export names a {what} twice. It is damaged.")
    if max([message.position for message in document.messages], default=0) > document.session.head:
        raise InvalidInput("This export has messages past its own end. It is damaged.")


def blob_bytes(blob: ExportedBlob) -> bytes:
    try:
        data = base64.b64decode(blob.data, validate=True)
    except binascii.Error as error:
        raise InvalidInput(f"The attachment {blob.id} is not base64.") from error
    if hashlib.sha256(data).hexdigest() != blob.id:
        raise InvalidInput(f"The attachment {blob.id} is not what its name says. It is damaged.")
    return data


def renamed(document: Document, user: UserId) -> Document:
    """The same session under ids of this user's own, the same ones every time."""
    replace = msgspec.structs.replace

    def turn_id(old: TurnId | None) -> TurnId | None:
        return None if old is None else TurnId(derived_id(old, user))

    def message_id(old: MessageId | None) -> MessageId | None:
        return None if old is None else MessageId(derived_id(old, user))

    return replace(
        document,
        session=replace(
            document.session, id=SessionId(derived_id(document.session.id, user)), parent=None
        ),
        messages=tuple(
            replace(message, id=message_id(message.id), turn=turn_id(message.turn))
            for message in document.messages
        ),
        turns=tuple(
            replace(turn, id=turn_id(turn.id), message=message_id(turn.message))
            for turn in document.turns
        ),
        tool_calls=tuple(replace(call, turn=turn_id(call.turn)) for call in document.tool_calls),
        usage=tuple(
            replace(usage, source=derived_id(usage.source, user)) for usage in document.usage
        ),
    )
