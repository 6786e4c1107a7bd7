"""What subscribers of a session are told, and the cursor that says how far one has read."""

import re
from typing import Annotated, Literal

import msgspec

from roost.core.approvals import Approval, ApprovalState
from roost.core.errors import InvalidInput
from roost.core.ids import ApprovalId, MessageId, ToolCallId, TurnId
from roost.core.messages import Message
from roost.core.sessions import Session
from roost.core.turns import ToolCall, ToolCallState, Turn, TurnState

RewriteKind = Literal["undo", "edit", "clear", "compaction", "restore"]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
"""One that every database and every JSON reader can hold."""


class RewriteDetail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a compaction: what made it, and what it gained. Of a restore: which epoch it took back."""

    trigger: str | None = None
    focus: str | None = None
    model: str | None = None
    tokens_before: _Number | None = None
    tokens_after: _Number | None = None
    replacements: tuple[MessageId, ...] = ()
    restores: _Number | None = None


class Cursor(msgspec.Struct, frozen=True):
    """`epoch` and `revision` place the reader among the durable events; `turn`, `attempt` and `seq`
    among the deltas of the step that is streaming, if one is."""

    epoch: int
    revision: int
    turn: TurnId | None = None
    attempt: int = 0
    seq: int = 0

    def __str__(self) -> str:
        durable = f"{self.epoch}.{self.revision}"
        return f"{durable}.{self.turn}.{self.attempt}.{self.seq}" if self.turn else durable


_CURSOR = re.compile(
    r"(\d{1,15})\.(\d{1,15})(?:\.(trn_[0-9a-z]{26})\.(\d{1,15})\.(\d{1,15}))?", re.ASCII
)


def parse_cursor(text: str) -> Cursor:
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{text[:80]!r} is not an event id. Send one exactly as it was received."
        )
    epoch, revision, turn, attempt, seq = match.groups()
    if turn is None:
        return Cursor(int(epoch), int(revision))
    return Cursor(int(epoch), int(revision), TurnId(turn), int(attempt), int(seq))


# Durable events. One write to a session raises its revision by one and records its events under it.


class SessionUpdated(msgspec.Struct, frozen=True, tag_field="kind", tag="session"):
    fields: tuple[str, ...]


class TurnUpdated(msgspec.Struct, frozen=True, tag_field="kind", tag="turn", omit_defaults=True):
    turn: TurnId
    state: TurnState
    reason: str | None = None


class AttemptBegan(msgspec.Struct, frozen=True, tag_field="kind", tag="attempt"):
    turn: TurnId
    step: int
    attempt: int


class MessageAdded(msgspec.Struct, frozen=True, tag_field="kind", tag="message"):
    message: MessageId


class ToolCallUpdated(msgspec.Struct, frozen=True, tag_field="kind", tag="tool_call"):
    call: ToolCallId
    state: ToolCallState


class ApprovalUpdated(msgspec.Struct, frozen=True, tag_field="kind", tag="approval"):
    approval: ApprovalId
    call: ToolCallId
    state: ApprovalState


class HistoryRewritten(msgspec.Struct, frozen=True, tag_field="kind", tag="rewrite"):
    epoch: int
    reason: RewriteKind


Event = (
    SessionUpdated
    | TurnUpdated
    | AttemptBegan
    | MessageAdded
    | ToolCallUpdated
    | ApprovalUpdated
    | HistoryRewritten
)


class Recorded(msgspec.Struct, frozen=True):
    revision: int
    at: int
    events: tuple[Event, ...]


# Deltas: what streams between two durable events. Several merge into one of the same kind.


class TextDelta(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, tag_field="kind", tag="reasoning"):
    text: str


class ToolCallDelta(msgspec.Struct, frozen=True, tag_field="kind", tag="tool_call"):
    call: ToolCallId
    name: str
    arguments: str


class ToolOutputDelta(msgspec.Struct, frozen=True, tag_field="kind", tag="tool_output"):
    call: ToolCallId
    text: str


class NoticeDelta(msgspec.Struct, frozen=True, tag_field="kind", tag="notice"):
    """What Roost does meanwhile (it asks again, it asks another model): shown while it streams, and
    no part of the answer."""

    text: str


Delta = TextDelta | ReasoningDelta | ToolCallDelta | ToolOutputDelta | NoticeDelta


class Deltas(msgspec.Struct, frozen=True):
    """A run of one attempt's deltas: `first_seq` to `last_seq`, both included."""

    first_seq: int
    last_seq: int
    deltas: tuple[Delta, ...]


# What a subscriber gets: a snapshot, then its tail.


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="snapshot"):
    """A session as it stood at one moment: the newest messages of its live history, with their
    turns, `past_calls` and `past_approvals`, what waits, and of the turn under way its calls and
    what it has streamed. `older` is whether more messages stand before these."""

    cursor: Cursor
    session: Session
    messages: tuple[Message, ...]
    older: bool
    queue: tuple[Turn, ...]
    turn: Turn | None
    turns: tuple[Turn, ...]
    calls: tuple[ToolCall, ...]
    past_calls: tuple[ToolCall, ...]
    approvals: tuple[Approval, ...]
    past_approvals: tuple[Approval, ...]
    deltas: tuple[Deltas, ...]


class Changed(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="changed"):
    """One revision: its events, and what they name as it is now."""

    cursor: Cursor
    at: int
    events: tuple[Event, ...]
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    approvals: tuple[Approval, ...] = ()
    session: Session | None = None
    """Set where the session itself was changed: its title, its state, what its history takes."""


class Streamed(msgspec.Struct, frozen=True, tag_field="kind", tag="streamed"):
    """New text of the attempt that is streaming; provisional until a message takes its place."""

    cursor: Cursor
    deltas: Deltas


class Rewound(msgspec.Struct, frozen=True, tag_field="kind", tag="rewound"):
    """Forget what this attempt streamed after `seq`: it was not kept."""

    cursor: Cursor
    turn: TurnId
    attempt: int
    seq: int


class Noticed(msgspec.Struct, frozen=True, tag_field="kind", tag="noticed"):
    """What is being done to the session outside of a turn, for people to see; nothing to keep."""

    cursor: Cursor
    text: str


SessionEvent = Snapshot | Changed | Streamed | Rewound | Noticed
