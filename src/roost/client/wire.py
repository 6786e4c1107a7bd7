"""What a server sends, as what it is here. What it keeps to itself (leases, signatures, the
arguments' hashes of questions) is empty."""

from collections.abc import Iterable

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
from roost.core.ids import ApprovalId, MessageId, SessionId, Token, ToolCallId, TurnId, UserId
from roost.core.messages import Message, Role, decode_parts
from roost.core.sessions import Counters, Parent, Session, SessionState, TitleBy
from roost.core.signature import AgentConfig
from roost.core.turns import Effort, ToolCall, ToolCallState, Turn, TurnOptions, TurnState

_NOBODY = UserId("")
"""Whose something is need not be said: it is always of who asks."""


class SentSession(msgspec.Struct, frozen=True, kw_only=True):
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
    revision: int
    epoch: int
    created_at: int
    active_at: int
    ended_at: int | None

    def made(self) -> Session:
        return Session(
            id=self.id,
            user=_NOBODY,
            origin=self.origin,
            title=self.title,
            title_by=self.title_by,
            pinned=self.pinned,
            archived=self.archived,
            project=self.project,
            parent=self.parent,
            config=self._config(),
            signature=None,
            token=Token(0),
            revision=self.revision,
            epoch=self.epoch,
            head=0,
            seen=0,
            answered=int(self.unread),
            counters=self.counters,
            context_tokens=self.context_tokens,
            state=self.state,
            queued=self.queued,
            created_at=self.created_at,
            active_at=self.active_at,
            ended_at=self.ended_at,
        )

    def _config(self) -> AgentConfig | None:
        if self.model is None:
            return None
        provider, _, model = self.model.partition("/")
        return AgentConfig(
            provider=provider,
            model=model,
            protocol="",
            base_url="",
            toolset=self.toolset or "",
            instructions=self.instructions,
        )


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    id: MessageId
    role: Role
    parts: msgspec.Raw
    turn: TurnId | None
    partial: bool
    pinned: bool
    position: int
    created_at: int

    def made(self) -> Message:
        return Message(
            id=self.id,
            role=self.role,
            parts=decode_parts(bytes(self.parts)),
            turn=self.turn,
            partial=self.partial,
            position=self.position,
            created_at=self.created_at,
            pinned=self.pinned,
        )


class SentTurn(msgspec.Struct, frozen=True, kw_only=True):
    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    effort: Effort | None
    model: str | None
    parts: msgspec.Raw
    message: MessageId | None
    step: int
    attempt: int
    reason: str | None
    undone: bool
    created_at: int
    started_at: int | None
    ended_at: int | None

    def made(self) -> Turn:
        return Turn(
            id=self.id,
            session=self.session,
            state=self.state,
            steer=self.steer,
            route=self.route,
            options=TurnOptions(effort=self.effort),
            ephemeral=False,
            model=self.model,
            parts=decode_parts(bytes(self.parts)),
            message=self.message,
            step=self.step,
            attempt=self.attempt,
            reason=self.reason,
            undone=0 if self.undone else None,
            created_at=self.created_at,
            started_at=self.started_at,
            ended_at=self.ended_at,
        )


class SentCall(msgspec.Struct, frozen=True, kw_only=True):
    id: ToolCallId
    turn: TurnId
    name: str
    arguments: str
    state: ToolCallState
    result: msgspec.Raw
    started_at: int | None
    ended_at: int | None

    def made(self) -> ToolCall:
        result = bytes(self.result)
        return ToolCall(
            call=self.id,
            turn=self.turn,
            name=self.name,
            arguments=self.arguments,
            state=self.state,
            result=None if result == b"null" else decode_parts(result),
            started_at=self.started_at,
            ended_at=self.ended_at,
        )


class SentApproval(msgspec.Struct, frozen=True, kw_only=True):
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

    def made(self) -> Approval:
        return Approval(
            id=self.id,
            session=self.session,
            turn=self.turn,
            call=self.call,
            kind=self.kind,
            arguments=b"",
            directory=self.directory,
            workspace=None,
            body=msgspec.json.encode(self.asked).decode(),
            state=self.state,
            answer=self.answer,
            asked_at=self.asked_at,
            expires_at=self.expires_at,
            answered_at=self.answered_at,
            answered_by=None,
            answered_on=self.answered_on,
        )


class SentSnapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="snapshot"):
    cursor: Cursor
    session: SentSession
    messages: tuple[SentMessage, ...]
    older: bool
    queue: tuple[SentTurn, ...]
    turn: SentTurn | None
    turns: tuple[SentTurn, ...]
    calls: tuple[SentCall, ...]
    approvals: tuple[SentApproval, ...]
    deltas: tuple[Deltas, ...]

    def made(self) -> Snapshot:
        calls = [each.made() for each in self.calls]
        asked = [each.made() for each in self.approvals]
        live = None if self.turn is None else self.turn.id
        return Snapshot(
            cursor=self.cursor,
            session=self.session.made(),
            messages=messages(self.messages),
            older=self.older,
            queue=turns(self.queue),
            turn=None if self.turn is None else self.turn.made(),
            turns=turns(self.turns),
            calls=tuple([call for call in calls if call.turn == live]),
            past_calls=tuple([call for call in calls if call.turn != live]),
            approvals=tuple([each for each in asked if each.state == "pending"]),
            past_approvals=tuple([each for each in asked if each.state != "pending"]),
            deltas=self.deltas,
        )


class SentChange(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="changed"):
    cursor: Cursor
    at: int
    events: tuple[Event, ...]
    messages: tuple[SentMessage, ...] = ()
    turns: tuple[SentTurn, ...] = ()
    calls: tuple[SentCall, ...] = ()
    approvals: tuple[SentApproval, ...] = ()
    session: SentSession | None = None

    def made(self) -> Changed:
        return Changed(
            cursor=self.cursor,
            at=self.at,
            events=self.events,
            messages=messages(self.messages),
            turns=turns(self.turns),
            calls=tuple([each.made() for each in self.calls]),
            approvals=tuple([each.made() for each in self.approvals]),
            session=None if self.session is None else self.session.made(),
        )


class SentEnd(msgspec.Struct, frozen=True, tag_field="kind", tag="end"):
    """Why a stream ends: `gone`, `signed_out`, `stops`, `failure`."""

    reason: str


SentEvent = SentSnapshot | SentChange | Streamed | Rewound | Noticed | SentEnd


def event(sent: SentSnapshot | SentChange | Streamed | Rewound | Noticed) -> SessionEvent:
    return sent.made() if isinstance(sent, SentSnapshot | SentChange) else sent


def messages(sent: Iterable[SentMessage]) -> tuple[Message, ...]:
    return tuple([each.made() for each in sent])


def turns(sent: Iterable[SentTurn]) -> tuple[Turn, ...]:
    return tuple([each.made() for each in sent])
