"""Sessions: what is known of a conversation without reading its messages."""

from typing import Literal

import msgspec

from roost.core.ids import MessageId, SessionId, Token, ToolCallId, UserId
from roost.core.signature import AgentConfig, Signature

TitleBy = Literal["person", "model"]
ParentKind = Literal["branch", "subagent"]
SessionState = Literal["idle", "queued", "running", "waiting"]
"""Derived, never stored: `running` means that a turn runs under a live lease."""


class Parent(msgspec.Struct, frozen=True):
    """Where a session came from: a branch at `message`, or a subagent's work for its caller, asked
    for by `call`."""

    session: SessionId
    kind: ParentKind
    message: MessageId | None = None
    call: ToolCallId | None = None


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """`origin` is the surface that opened it: `web`, `cli`, `api`, `telegram`, `schedule`, ..."""

    id: SessionId
    origin: str
    title: str | None = None
    project: str | None = None
    parent: Parent | None = None
    config: AgentConfig | None = None
    signature: Signature | None = None


class Counters(msgspec.Struct, frozen=True):
    """`messages` counts the live history. `unpriced` counts model calls of unknown cost."""

    messages: int = 0
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    unpriced: int = 0


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """`revision` grows with every write, `epoch` when history is rewritten; `head` is the position
    of the newest message ever written. `context_tokens` is what the last call of its model took of
    the window, with the answer: 0 if that is unknown, as after an undo or a clear."""

    id: SessionId
    user: UserId
    origin: str
    title: str | None
    title_by: TitleBy | None
    pinned: bool
    archived: bool
    project: str | None
    parent: Parent | None
    config: AgentConfig | None
    signature: Signature | None
    token: Token
    revision: int
    epoch: int
    head: int
    seen: int
    answered: int
    counters: Counters
    context_tokens: int
    state: SessionState
    queued: int
    created_at: int
    active_at: int
    ended_at: int | None

    @property
    def unread(self) -> bool:
        return self.answered > self.seen
