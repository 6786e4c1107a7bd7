"""What the API shows of a session: without what is only Roost's own business."""

from typing import NamedTuple

import msgspec

from roost.core.approvals import Approval, ApprovalKind, ApprovalState, Asked
from roost.core.events import (
    Changed,
    Cursor,
    Deltas,
    Event,
    Noticed,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
)
from roost.core.ids import (
    ApprovalId,
    MessageId,
    SessionId,
    ToolCallId,
    TurnId,
)
from roost.core.messages import (
    KnownPart,
    Message,
    Part,
    ReasoningPart,
    Role,
    ToolCallPart,
    UnknownPart,
)
from roost.core.sessions import Counters, Parent, Session, SessionState, TitleBy
from roost.core.turns import Effort, ToolCall, ToolCallState, Turn, TurnState
from roost.llm.providers import Providers


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """`context_tokens` is what the last call of its model took, with the answer: 0 if that is not
    known, as after an undo or a clear. `context_window` is what the model takes at most, if that is
    known."""

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
    context_tokens: int
    context_window: int | None
    revision: int
    epoch: int
    created_at: int
    active_at: int
    ended_at: int | None


def session_view(session: Session, known: Providers) -> SessionView:
    config = session.config
    window = None if config is None else known.window(config.provider, config.model)
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
        context_tokens=session.context_tokens,
        context_window=window,
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
    """`model` is the one that answered last, as provider/model; null before the first answer."""

    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    effort: Effort | None
    model: str | None
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
        model=turn.model,
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


class Shown(NamedTuple):
    messages: tuple[MessageView, ...]
    turns: tuple[TurnView, ...]
    calls: tuple[CallView, ...]


def shown(
    messages: tuple[Message, ...], turns: tuple[Turn, ...], calls: tuple[ToolCall, ...]
) -> Shown:
    """What a message says is left out of its turn and of its calls: a page would be twice as long.
    A result is left out already: the store moves it into the message."""
    said = {message.id for message in messages}
    parts = [part for message in messages for part in message.parts]
    asked = {part.call for part in parts if isinstance(part, ToolCallPart)}
    replace = msgspec.structs.replace
    return Shown(
        tuple(map(message_view, messages)),
        tuple([turn_view(replace(t, parts=()) if t.message in said else t) for t in turns]),
        tuple([call_view(replace(c, arguments="") if c.call in asked else c) for c in calls]),
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


class SnapshotView(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="snapshot"):
    """A session as it stood at one moment, with what its attempt has streamed so far. `turns` are
    those of its messages and the one under way, `approvals` what waits for an answer and how those
    of its messages' calls were settled; `older` is whether there are more messages before
    these, which may be fewer than asked for if they are long. What a message here says is not said
    again in the `parts` of `turns`, nor in the `arguments` of calls of past turns."""

    cursor: Cursor
    session: SessionView
    messages: tuple[MessageView, ...]
    older: bool
    queue: tuple[TurnView, ...]
    turn: TurnView | None
    turns: tuple[TurnView, ...]
    calls: tuple[CallView, ...]
    approvals: tuple[ApprovalView, ...]
    deltas: tuple[Deltas, ...]


def snapshot_view(snapshot: Snapshot, known: Providers) -> SnapshotView:
    page = shown(snapshot.messages, snapshot.turns, snapshot.past_calls)
    return SnapshotView(
        cursor=snapshot.cursor,
        session=session_view(snapshot.session, known),
        messages=page.messages,
        older=snapshot.older,
        queue=tuple(map(turn_view, snapshot.queue)),
        turn=None if snapshot.turn is None else turn_view(snapshot.turn),
        turns=page.turns,
        calls=(*page.calls, *map(call_view, snapshot.calls)),
        approvals=tuple(map(approval_view, (*snapshot.approvals, *snapshot.past_approvals))),
        deltas=snapshot.deltas,
    )


class ChangedView(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    tag="changed",
    omit_defaults=True,
):
    """One revision: its events, and what they name as it is now."""

    cursor: Cursor
    at: int
    events: tuple[Event, ...]
    messages: tuple[MessageView, ...] = ()
    turns: tuple[TurnView, ...] = ()
    calls: tuple[CallView, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    session: SessionView | None = None


def changed_view(changed: Changed, known: Providers) -> ChangedView:
    session = changed.session
    return ChangedView(
        cursor=changed.cursor,
        at=changed.at,
        events=changed.events,
        messages=tuple(map(message_view, changed.messages)),
        turns=tuple(map(turn_view, changed.turns)),
        calls=tuple(map(call_view, changed.calls)),
        approvals=tuple(map(approval_view, changed.approvals)),
        session=None if session is None else session_view(session, known),
    )


EventView = SnapshotView | ChangedView | Streamed | Rewound | Noticed


def event_view(event: SessionEvent, known: Providers) -> EventView:
    match event:
        case Snapshot():
            return snapshot_view(event, known)
        case Changed():
            return changed_view(event, known)
        case _:
            return event
