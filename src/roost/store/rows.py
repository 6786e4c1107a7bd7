"""Rows of the database as the structs of the core."""

import msgspec

from roost.core.ids import MessageId, SessionId, Token, TurnId, UserId
from roost.core.messages import Message, Role, decode_parts
from roost.core.sessions import (
    Counters,
    Parent,
    ParentKind,
    Session,
    SessionState,
    TitleBy,
)
from roost.core.signature import AgentConfig, Signature
from roost.core.turns import Turn, TurnOptions, TurnState
from roost.store.operations import Rows, every


class SessionRow(msgspec.Struct, frozen=True, array_like=True):
    id: SessionId
    user: UserId
    origin: str
    title: str | None
    title_by: TitleBy | None
    pinned: bool
    archived: bool
    project: str | None
    parent: str | None
    parent_kind: ParentKind | None
    config: str | None
    signature: Signature | None
    token: Token
    revision: int
    epoch: int
    head: int
    seen: int
    answered: int
    messages: int
    turns: int
    input_tokens: int
    output_tokens: int
    cost: int
    unpriced: int
    created_at: int
    active_at: int
    ended_at: int | None
    live: SessionState | None
    held_until: int | None
    queued: int
    context_tokens: int
    now: int

    def state(self) -> SessionState:
        if self.live == "waiting":
            return "waiting"
        if self.live == "running" and self.held_until is not None and self.held_until > self.now:
            return "running"
        return "queued" if self.queued else "idle"


def session_of(row: SessionRow) -> Session:
    return Session(
        id=row.id,
        user=row.user,
        origin=row.origin,
        title=row.title,
        title_by=row.title_by,
        pinned=row.pinned,
        archived=row.archived,
        project=row.project,
        parent=msgspec.json.decode(row.parent, type=Parent) if row.parent else None,
        config=msgspec.json.decode(row.config, type=AgentConfig) if row.config else None,
        signature=row.signature,
        token=row.token,
        revision=row.revision,
        epoch=row.epoch,
        head=row.head,
        seen=row.seen,
        answered=row.answered,
        counters=Counters(
            row.messages, row.turns, row.input_tokens, row.output_tokens, row.cost, row.unpriced
        ),
        context_tokens=row.context_tokens,
        state=row.state(),
        queued=row.queued,
        created_at=row.created_at,
        active_at=row.active_at,
        ended_at=row.ended_at,
    )


def sessions_of(rows: Rows) -> list[Session]:
    return [session_of(row) for row in every(rows, SessionRow)]


class TurnRow(msgspec.Struct, frozen=True, array_like=True):
    """A turn, and its places: in history where it started, in the queue."""

    user: UserId
    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    options: str
    ephemeral: bool
    input: str
    message: MessageId | None
    step: int
    attempt: int
    reason: str | None
    undone: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None
    start: int | None
    place: int
    model: str | None = None
    """Not known to those who take up work."""


def turn_of(row: TurnRow) -> Turn:
    return Turn(
        id=row.id,
        session=row.session,
        state=row.state,
        steer=row.steer,
        route=row.route,
        options=msgspec.json.decode(row.options, type=TurnOptions),
        ephemeral=row.ephemeral,
        model=row.model,
        parts=decode_parts(row.input),
        message=row.message,
        step=row.step,
        attempt=row.attempt,
        reason=row.reason,
        undone=row.undone,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def turns_of(rows: Rows) -> list[Turn]:
    return [turn_of(row) for row in every(rows, TurnRow)]


class _MessageRow(msgspec.Struct, frozen=True, array_like=True):
    id: MessageId
    role: Role
    parts: str
    turn: TurnId | None
    partial: bool
    position: int
    born: int
    gone: int | None
    created_at: int
    pinned: bool


def messages_of(rows: Rows) -> tuple[Message, ...]:
    found = msgspec.convert(rows, list[_MessageRow], strict=False)
    return tuple(
        [
            Message(
                row.id,
                row.role,
                decode_parts(row.parts),
                row.turn,
                row.partial,
                row.position,
                row.born,
                row.gone,
                row.created_at,
                row.pinned,
            )
            for row in found
        ]
    )
