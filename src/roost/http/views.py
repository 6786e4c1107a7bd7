"""What the API shows of a session: without what is only Roost's own business."""

import msgspec

from roost.core.approvals import Approval, ApprovalKind, ApprovalState, Asked
from roost.core.ids import (
    ApprovalId,
    MessageId,
    SessionId,
    ToolCallId,
    TurnId,
)
from roost.core.messages import KnownPart, Message, Part, ReasoningPart, Role, UnknownPart
from roost.core.sessions import Counters, Parent, Session, SessionState, TitleBy
from roost.core.turns import Effort, ToolCall, ToolCallState, Turn, TurnState


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    id: SessionId
    title: str | None
    title_by: TitleBy | None
    origin: str
    state: SessionState
    queued: int
    unread: bool
    pinned: bool
    archived: bool
    project: str | None
    parent: Parent | None
    model: str | None
    toolset: str | None
    instructions: str
    counters: Counters
    revision: int
    epoch: int
    created_at: int
    active_at: int
    ended_at: int | None


def session_view(session: Session) -> SessionView:
    config = session.config
    return SessionView(
        id=session.id,
        title=session.title,
        title_by=session.title_by,
        origin=session.origin,
        state=session.state,
        queued=session.queued,
        unread=session.unread,
        pinned=session.pinned,
        archived=session.archived,
        project=session.project,
        parent=session.parent,
        model=None if config is None else f"{config.provider}/{config.model}",
        toolset=None if config is None else config.toolset.partition(":")[0],
        instructions="" if config is None else config.instructions,
        counters=session.counters,
        revision=session.revision,
        epoch=session.epoch,
        created_at=session.created_at,
        active_at=session.active_at,
        ended_at=session.ended_at,
    )


class UnknownView(msgspec.Struct, frozen=True, tag_field="kind", tag="unknown"):
    """A part that a newer Roost wrote."""


PartView = KnownPart | UnknownView


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    id: MessageId
    role: Role
    parts: tuple[PartView, ...]
    turn: TurnId | None
    partial: bool
    pinned: bool
    position: int
    created_at: int


def message_view(message: Message) -> MessageView:
    return MessageView(
        id=message.id,
        role=message.role,
        parts=parts_view(message.parts),
        turn=message.turn,
        partial=message.partial,
        pinned=message.pinned,
        position=message.position,
        created_at=message.created_at,
    )


def parts_view(parts: tuple[Part, ...]) -> tuple[PartView, ...]:
    return tuple([_part(part) for part in parts])


def _part(part: Part) -> PartView:
    if isinstance(part, UnknownPart):
        return UnknownView()
    if isinstance(part, ReasoningPart) and part.payload is not None:
        return msgspec.structs.replace(part, payload=None)
    return part


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    effort: Effort | None
    parts: tuple[PartView, ...]
    message: MessageId | None
    step: int
    attempt: int
    reason: str | None
    undone: bool
    created_at: int
    started_at: int | None
    ended_at: int | None


def turn_view(turn: Turn) -> TurnView:
    return TurnView(
        id=turn.id,
        session=turn.session,
        state=turn.state,
        steer=turn.steer,
        route=turn.route,
        effort=turn.options.effort,
        parts=parts_view(turn.parts),
        message=turn.message,
        step=turn.step,
        attempt=turn.attempt,
        reason=turn.reason,
        undone=turn.undone is not None,
        created_at=turn.created_at,
        started_at=turn.started_at,
        ended_at=turn.ended_at,
    )


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    id: ToolCallId
    turn: TurnId
    name: str
    arguments: str
    state: ToolCallState
    result: tuple[PartView, ...] | None
    started_at: int | None
    ended_at: int | None


def call_view(call: ToolCall) -> CallView:
    return CallView(
        id=call.call,
        turn=call.turn,
        name=call.name,
        arguments=call.arguments,
        state=call.state,
        result=None if call.result is None else parts_view(call.result),
        started_at=call.started_at,
        ended_at=call.ended_at,
    )


class ApprovalView(msgspec.Struct, frozen=True, kw_only=True):
    id: ApprovalId
    session: SessionId
    turn: TurnId
    call: ToolCallId
    kind: ApprovalKind
    asked: Asked
    directory: str | None
    state: ApprovalState
    answer: str | None
    asked_at: int
    expires_at: int
    answered_at: int | None
    answered_on: str | None


def approval_view(approval: Approval) -> ApprovalView:
    return ApprovalView(
        id=approval.id,
        session=approval.session,
        turn=approval.turn,
        call=approval.call,
        kind=approval.kind,
        asked=approval.asked,
        directory=approval.directory,
        state=approval.state,
        answer=approval.answer,
        asked_at=approval.asked_at,
        expires_at=approval.expires_at,
        answered_at=approval.answered_at,
        answered_on=approval.answered_on,
    )
