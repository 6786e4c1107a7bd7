"""What subscribers of a session are told, and the cursor that says how far one has read."""

import re
from typing import Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import MessageId, ToolCallId, TurnId
from roost.core.turns import ToolCallState, TurnState

RewriteKind = Literal["undo", "edit", "clear", "compaction", "restore"]


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


class HistoryRewritten(msgspec.Struct, frozen=True, tag_field="kind", tag="rewrite"):
    epoch: int
    reason: RewriteKind


Event = (
    SessionUpdated | TurnUpdated | AttemptBegan | MessageAdded | ToolCallUpdated | HistoryRewritten
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


Delta = TextDelta | ReasoningDelta | ToolCallDelta | ToolOutputDelta


class Deltas(msgspec.Struct, frozen=True):
    """A run of one attempt's deltas: `first_seq` to `last_seq`, both included."""

    first_seq: int
    last_seq: int
    deltas: tuple[Delta, ...]
