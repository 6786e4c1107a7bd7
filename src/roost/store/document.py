"""A session as a document: what an export holds, and what an import refuses."""

import base64
import hashlib
import re
from codecs import getincrementaldecoder
from collections import defaultdict
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from roost.core import ids
from roost.core.errors import InvalidInput
from roost.core.events import RewriteDetail, RewriteKind
from roost.core.ids import BlobId, MessageId, SessionId, ToolCallId, TurnId, UserId, derived_id
from roost.core.messages import (
    Role,
    ToolCallPart,
    ToolResultPart,
    attachments,
    decode_parts,
)
from roost.core.sessions import Parent, TitleBy
from roost.core.turns import ToolCallState, TurnOptions, TurnState
from roost.store.pieces import NotJson, depth_of, pieces

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

VERSION = 1

Count = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
"""One that a cursor, every database and every JSON reader can hold."""
Growing = Annotated[int, msgspec.Meta(ge=0, lt=10**14)]
"""One that will still be such a count after all that is written to the session later."""
Place = Annotated[int, msgspec.Meta(gt=-(10**15), lt=10**15)]
"""In the queue, where what is put first goes below what is there."""
Time = Annotated[int, msgspec.Meta(ge=0, le=4_102_444_800_000)]
"""Up to the year 2100: a session active later than that would head the list for good."""

_SessionId = Annotated[SessionId, msgspec.Meta(pattern=ids.SESSION_ID)]
_MessageId = Annotated[MessageId, msgspec.Meta(pattern=ids.MESSAGE_ID)]
_TurnId = Annotated[TurnId, msgspec.Meta(pattern=ids.TURN_ID)]
_ToolCallId = Annotated[ToolCallId, msgspec.Meta(pattern=ids.TOOL_CALL_ID)]
_BlobId = Annotated[BlobId, msgspec.Meta(pattern=ids.BLOB_ID)]
_Source = Annotated[
    str,
    msgspec.Meta(pattern=r"^([a-z]{1,20}:)?(trn|ses)_[0-9a-z_]{1,64}(/[0-9]{1,15})?$(?!\n)"),
]
"""Of usage: a turn; a session and the epoch that a compaction opened; or what was done for a
session besides, such as its title (`title:ses_...`)."""

_DEPTH = 100
"""Of JSON that is kept as it is: whoever reads it later may be deep in calls of its own."""
_DAY = 86_400_000
_PIECE = 1 << 20
"""Letters that are decoded at once: meanwhile no other thread runs."""


class ExportedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Not the address: there may be a password in it."""

    provider: str
    model: str
    toolset: str = "chat"
    instructions: str = ""


class ExportedSession(msgspec.Struct, frozen=True, kw_only=True):
    id: _SessionId
    origin: str
    title: str | None = None
    title_by: TitleBy | None = None
    pinned: bool = False
    archived: bool = False
    project: str | None = None
    parent: Parent | None = None
    config: ExportedConfig | None = None
    revision: Growing
    epoch: Growing
    head: Growing
    created_at: Time
    active_at: Time
    ended_at: Time | None = None


class ExportedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`parts` are kept as they are stored, byte for byte."""

    id: _MessageId
    role: Role
    parts: msgspec.Raw
    turn: _TurnId | None = None
    partial: bool = False
    pinned: bool = False
    position: Count
    revision: Count
    born: Count
    gone: Count | None = None
    created_at: Time


class ExportedTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: _TurnId
    state: TurnState
    place: Place
    steer: bool = False
    route: str | None = None
    options: msgspec.Raw
    ephemeral: bool = False
    parts: msgspec.Raw
    message: _MessageId | None = None
    start: Count | None = None
    step: Count = 0
    attempt: Count = 0
    reason: str | None = None
    undone: Count | None = None
    created_at: Time
    started_at: Time | None = None
    ended_at: Time | None = None


class ExportedToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: _ToolCallId
    turn: _TurnId
    ordinal: Count
    name: str
    arguments: str
    state: ToolCallState
    started_at: Time | None = None
    ended_at: Time | None = None


class ExportedEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: Count
    kind: RewriteKind
    revision: Count
    detail: msgspec.Raw
    created_at: Time


class ExportedUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    source: _Source
    provider: str
    model: str
    calls: Count
    input_tokens: Count
    cached_tokens: Count
    cache_write_tokens: Count
    output_tokens: Count
    reasoning_tokens: Count
    cost: Count
    unpriced: Count
    at: Time


_COUNTERS = [field.name for field in msgspec.structs.fields(ExportedUsage) if field.type == Count]


class ExportedBlob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`data` is base64."""

    id: _BlobId
    media_type: str
    data: str


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """No credential is in here, nor anything of another session. The bytes of `missing` attachments
    were lost before it was made."""

    format: Literal["roost-session"] = "roost-session"
    version: int = VERSION
    session: ExportedSession
    messages: tuple[ExportedMessage, ...] = ()
    turns: tuple[ExportedTurn, ...] = ()
    tool_calls: tuple[ExportedToolCall, ...] = ()
    epochs: tuple[ExportedEpoch, ...] = ()
    usage: tuple[ExportedUsage, ...] = ()
    blobs: tuple[ExportedBlob, ...] = ()
    missing: tuple[_BlobId, ...] = ()


def encode(document: Document) -> bytes:
    return msgspec.json.encode(document)


class _Header(msgspec.Struct, frozen=True):
    format: Literal["roost-session"]
    version: int


_LISTS = {
    "messages": list[ExportedMessage],
    "turns": list[ExportedTurn],
    "tool_calls": list[ExportedToolCall],
    "epochs": list[ExportedEpoch],
    "usage": list[ExportedUsage],
    "blobs": list[ExportedBlob],
}
_HEADER = ("format", "version")


class Unpacked(NamedTuple):
    """A document fit to be imported. `named` are the attachments that its messages and turns name,
    `blobs` the media type and bytes of those that it brings along, `mark` tells it from others."""

    document: Document
    named: set[BlobId]
    blobs: list[tuple[str, bytes]]
    mark: str


def unpack(text: bytes | bytearray) -> Unpacked:
    """Takes long for a long text: not for the event loop."""
    try:
        document = _decode(text)
        named = _named(document)
    except (msgspec.MsgspecError, UnicodeDecodeError, NotJson) as error:
        raise InvalidInput(f"This is not an export of a Roost session: {error}.") from error
    except RecursionError as error:
        raise InvalidInput("This is not an export of a Roost session: too deep.") from error
    _check(document)
    blobs = [(blob.media_type, _blob_bytes(blob)) for blob in document.blobs]
    mark = f"import/{hashlib.sha256(text).hexdigest()}"
    return Unpacked(msgspec.structs.replace(document, blobs=()), named, blobs, mark)


def _decode(text: bytes | bytearray) -> Document:
    fields, lists = _found(text)
    header = _put_together({name: fields[name] for name in _HEADER if name in fields}, _Header)
    if header.version > VERSION:
        raise InvalidInput("This export was made by a newer Roost. Upgrade this one to import it.")
    document = _put_together(fields, Document)
    decoded = {
        name: tuple([item for json in found for item in _decoded(json, _LISTS[name])])
        for name, found in lists.items()
    }
    document = msgspec.structs.replace(document, **decoded)
    for turn in document.turns:
        msgspec.json.decode(turn.options, type=TurnOptions)
    for epoch in document.epochs:
        msgspec.json.decode(epoch.detail, type=RewriteDetail)
    raws = [item.parts for item in (*document.messages, *document.turns)]
    raws += [turn.options for turn in document.turns] + [each.detail for each in document.epochs]
    if max([depth_of(bytes(raw)) for raw in raws], default=0) > _DEPTH:
        raise InvalidInput("This export has JSON in it that is too deep to be kept.")
    return document


def _found(text: bytes | bytearray) -> tuple[dict[str, bytes], dict[str, list[bytes]]]:
    """The fields that are short, and the lists in pieces."""
    fields: dict[str, bytes] = {}
    lists: defaultdict[str, list[bytes]] = defaultdict(list)
    for name, json in pieces(text):
        if name in _LISTS and json.startswith(b"["):
            lists[name].append(json)
        else:
            fields[name] = json
    return fields, lists


def _put_together(fields: dict[str, bytes], kind: type[S]) -> S:
    named = [b'"%s":%s' % (name.encode(), json) for name, json in fields.items()]
    return msgspec.json.decode(b"{" + b",".join(named) + b"}", type=kind)


def _decoded(json: bytes, kind: type[T]) -> T:
    check = getincrementaldecoder("utf-8")()
    for start in range(0, len(json), _PIECE):
        check.decode(json[start : start + _PIECE])  # what is kept as it is must be text too
    return msgspec.json.decode(json, type=kind)


def _named(document: Document) -> set[BlobId]:
    named: set[BlobId] = set()
    for item in (*document.messages, *document.turns):
        parts = decode_parts(bytes(item.parts))
        for part in parts:
            if isinstance(part, ToolCallPart | ToolResultPart):
                _check_id(part.call, ids.TOOL_CALL_ID)
        named |= attachments(parts)
    for blob in named:
        _check_id(blob, ids.BLOB_ID)
    return named


def _check_id(id: str, pattern: str) -> None:
    if not re.search(pattern, id):
        raise InvalidInput(f"This export has {id[:80]!r} for an id. It is damaged.")


def _check(document: Document) -> None:
    """What the database would refuse anyway, said in words."""
    names: dict[str, list[object]] = {
        "message": [message.id for message in document.messages],
        "position": [message.position for message in document.messages if message.gone is None],
        "turn": [turn.id for turn in document.turns],
        "tool call": [call.id for call in document.tool_calls],
        "epoch": [epoch.epoch for epoch in document.epochs],
        "day's usage": [(u.source, u.provider, u.model, u.at // _DAY) for u in document.usage],
    }
    for what, values in names.items():
        if len(set(values)) != len(values):
            raise InvalidInput(f"This export names a {what} twice. It is damaged.")
    _check_ends(document)
    for counter in _COUNTERS:
        if sum(msgspec.structs.asdict(used)[counter] for used in document.usage) >= 10**15:
            raise InvalidInput("This export has used more than can be counted. It is damaged.")
    if (parent := document.session.parent) is not None:
        _check_id(parent.session, ids.SESSION_ID)
        if parent.message is not None:
            _check_id(parent.message, ids.MESSAGE_ID)
        if parent.call is not None:
            _check_id(parent.call, ids.TOOL_CALL_ID)


def _check_ends(document: Document) -> None:
    """What is written later would get numbers that are here already."""
    session, messages, epochs = document.session, document.messages, document.epochs
    rewritten = [number for m in messages for number in (m.born, m.gone or 0)]
    rewritten += [turn.undone or 0 for turn in document.turns]
    for what, numbers, end in (
        ("messages", [message.position for message in messages], session.head),
        ("epochs", rewritten + [each.epoch for each in epochs], session.epoch),
        ("revisions", [each.revision for each in (*messages, *epochs)], session.revision),
    ):
        if max(numbers, default=0) > end:
            raise InvalidInput(f"This export has {what} past its own end. It is damaged.")


def _blob_bytes(blob: ExportedBlob) -> bytes:
    try:
        data = b"".join(
            [
                base64.b64decode(blob.data[start : start + _PIECE], validate=True)
                for start in range(0, len(blob.data), _PIECE)
            ]
        )
    except ValueError as error:
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
