"""Turns and tool calls: their states, and which state may follow which."""

from typing import Literal

import msgspec

from roost.core.errors import Conflict
from roost.core.ids import MessageId, SessionId, ToolCallId, TurnId
from roost.core.messages import Draft, Part
from roost.core.usage import Usage

TurnState = Literal[
    "queued",
    "running",
    "waiting",
    "completed",
    "failed",
    "cancelled",
    "interrupted",
    "removed",
    "merged",
]
"""`waiting` is parked until a person answers; `removed` was taken out of the queue; `merged` is a
steer that became part of the running turn."""

TURN_MOVES: dict[TurnState, frozenset[TurnState]] = {
    "queued": frozenset({"running", "failed", "removed", "merged"}),
    "running": frozenset({"waiting", "completed", "failed", "cancelled", "interrupted"}),
    "waiting": frozenset({"running", "failed", "cancelled"}),
    # A turn that stopped short can be continued.
    "interrupted": frozenset({"running"}),
    "failed": frozenset({"running"}),
    "cancelled": frozenset({"running"}),
    "completed": frozenset(),
    "removed": frozenset(),
    "merged": frozenset(),
}

ENDED: frozenset[TurnState] = frozenset(
    {"completed", "failed", "cancelled", "interrupted", "removed", "merged"}
)

EndState = Literal["completed", "failed", "cancelled", "interrupted"]

ToolCallState = Literal[
    "requested", "waiting", "running", "done", "failed", "denied", "cancelled", "unknown"
]
"""`unknown`: it was running when Roost died, so nobody knows whether it took effect."""

TOOL_CALL_MOVES: dict[ToolCallState, frozenset[ToolCallState]] = {
    "requested": frozenset({"waiting", "running", "failed", "denied", "cancelled"}),
    "waiting": frozenset({"running", "denied", "cancelled", "requested"}),
    "running": frozenset({"done", "failed", "cancelled", "unknown"}),
    "done": frozenset(),
    "failed": frozenset(),
    "denied": frozenset(),
    "cancelled": frozenset(),
    "unknown": frozenset(),
}


SUBAGENT_ROUTE = "subagent"
"""The route of a turn that another turn's tool call waits for. It ends with that call, and never
goes on by itself: nobody would hear it."""

Effort = Literal["off", "low", "medium", "high"]
"""How long a model should think before it answers."""


class TurnOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What may differ from turn to turn on the same agent (A3)."""

    effort: Effort | None = None


class NewTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A message on its way in. The id is the sender's, so that sending again is harmless; the key,
    where a client has one of its own, does the same across ids."""

    id: TurnId
    parts: tuple[Part, ...]
    key: str | None = None
    steer: bool = False
    route: str | None = None
    options: TurnOptions = TurnOptions()
    ephemeral: bool = False


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """`model` is the one that answered last, as provider/model; None before the first answer."""

    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    options: TurnOptions
    ephemeral: bool
    model: str | None
    parts: tuple[Part, ...]
    message: MessageId | None
    step: int
    attempt: int
    reason: str | None
    undone: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    call: ToolCallId
    turn: TurnId
    name: str
    arguments: str
    state: ToolCallState = "requested"
    result: tuple[Part, ...] | None = None
    started_at: int | None = None
    ended_at: int | None = None


class CallEnd(msgspec.Struct, frozen=True):
    """How a tool call ends with its turn: `cancelled`, or `unknown` if nobody can tell."""

    call: ToolCallId
    state: ToolCallState


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one step adds: its messages in order, what it used, the steers it took in. A new attempt
    begins with it: of the next step or, while this one is `unfinished` (its tools are to run), of
    the same."""

    messages: tuple[Draft, ...]
    usage: tuple[Usage, ...] = ()
    steers: tuple[TurnId, ...] = ()
    unfinished: bool = False


class OutboxEntry(msgspec.Struct, frozen=True):
    """An answer on its way to a channel; `body` is the channel's own JSON."""

    id: str
    route: str
    body: str


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended and everything that becomes true with it, in one transaction. `memory_scope`
    marks a completed turn for long-term memory. `at` is when it stopped, if nobody saw it."""

    state: EndState
    reason: str | None = None
    messages: tuple[Draft, ...] = ()
    calls: tuple[CallEnd, ...] = ()
    usage: tuple[Usage, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    memory_scope: str | None = None
    at: int | None = None
    release: bool = True


class Begun(msgspec.Struct, frozen=True):
    """A turn that runs, the attempt whose deltas the store now takes, and where the history stands
    (`head` is the position of its newest message)."""

    revision: int
    epoch: int
    head: int
    step: int
    attempt: int


def check_turn_move(turn: TurnId, before: TurnState, after: TurnState) -> None:
    if after not in TURN_MOVES[before]:
        raise Conflict(f"Turn {turn} is {before} and can't become {after}.")


def check_tool_call_move(call: ToolCallId, before: ToolCallState, after: ToolCallState) -> None:
    if after not in TOOL_CALL_MOVES[before]:
        raise Conflict(f"Tool call {call} is {before} and can't become {after}.")
