"""What a dead Roost left on disk, read before anyone opens it again."""

from pathlib import Path

import msgspec

from roost.core.events import Delta
from roost.core.ids import MessageId, SessionId, ToolCallId, TurnId
from roost.core.messages import Part, Role, TextPart, decode_parts
from roost.core.turns import ToolCallState, TurnState
from roost.store.folder import DATABASE
from roost.store.migrations import SCHEMA_VERSION
from roost.store.sqlite.connect import connect_reader


class DiskTurn(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId
    session: SessionId
    state: TurnState
    input: str
    message: MessageId | None
    attempt: int
    continued: int
    undone: int | None

    @property
    def text(self) -> str:
        return text_of(decode_parts(self.input))


class DiskMessage(msgspec.Struct, frozen=True, array_like=True):
    id: MessageId
    session: SessionId
    turn: TurnId | None
    role: Role
    partial: bool
    gone: int | None
    stored: str

    @property
    def parts(self) -> tuple[Part, ...]:
        return decode_parts(self.stored)


class DiskCall(msgspec.Struct, frozen=True, array_like=True):
    id: ToolCallId
    turn: TurnId
    state: ToolCallState


class DiskStream(msgspec.Struct, frozen=True, array_like=True):
    turn: TurnId
    session: SessionId
    attempt: int
    last_seq: int


class _Body(msgspec.Struct, frozen=True, array_like=True):
    turn: TurnId
    body: str


_DELTAS = """
    WITH RECURSIVE chain (id, turn, previous, body) AS (
        SELECT d.id, d.turn_id, d.previous, d.body
        FROM streams t JOIN sessions s ON s.id = t.session_id AND s.attempt = t.attempt
            JOIN deltas d ON d.id = t.last_delta
        UNION ALL
        SELECT d.id, c.turn, d.previous, d.body FROM chain c JOIN deltas d ON d.id = c.previous)
    SELECT turn, body FROM chain ORDER BY id"""

_decode_deltas = msgspec.json.Decoder(tuple[Delta, ...]).decode


class Disk(msgspec.Struct, frozen=True):
    turns: dict[TurnId, DiskTurn]
    messages: dict[MessageId, DiskMessage]
    calls: dict[ToolCallId, DiskCall]
    streams: dict[TurnId, DiskStream]
    deltas: dict[TurnId, tuple[Delta, ...]]


def read_disk(folder: Path) -> Disk | None:
    """None if it was killed before there was a store."""
    path = folder / DATABASE
    if not path.exists() or path.stat().st_size == 0:
        return None
    if path.with_name(f"{DATABASE}-journal").exists():
        return None
    connection = connect_reader(path)
    try:
        if not connection.rows("SELECT 1 FROM sqlite_schema WHERE name = 'schema'"):
            return None
        if connection.rows("SELECT max(version) FROM schema") != [(SCHEMA_VERSION,)]:
            return None
        turns = connection.rows(
            "SELECT t.id, t.session_id, t.state, t.input, t.message_id,"
            " CASE WHEN r.turn_id IS NULL THEN t.attempt ELSE s.attempt END, t.continued, t.undone"
            " FROM turns t JOIN sessions s ON s.id = t.session_id"
            " LEFT JOIN streams r ON r.turn_id = t.id"
        )
        messages = connection.rows(
            "SELECT id, session_id, turn_id, role, partial, gone, parts"
            " FROM message_rows ORDER BY seq"
        )
        calls = connection.rows("SELECT id, turn_id, state FROM tool_calls")
        streams = connection.rows(
            "SELECT t.turn_id, t.session_id, s.attempt, iif(t.attempt = s.attempt, t.last_seq, 0)"
            " FROM streams t JOIN sessions s ON s.id = t.session_id"
        )
        deltas: dict[TurnId, tuple[Delta, ...]] = {}
        for row in msgspec.convert(connection.rows(_DELTAS), list[_Body]):
            deltas[row.turn] = (*deltas.get(row.turn, ()), *_decode_deltas(row.body))
    finally:
        connection.close()
    return Disk(
        {row.id: row for row in msgspec.convert(turns, list[DiskTurn])},
        {row.id: row for row in msgspec.convert(messages, list[DiskMessage], strict=False)},
        {row.id: row for row in msgspec.convert(calls, list[DiskCall])},
        {row.turn: row for row in msgspec.convert(streams, list[DiskStream])},
        deltas,
    )


def text_of(parts: tuple[Part, ...]) -> str:
    return "".join([part.text for part in parts if isinstance(part, TextPart)])
