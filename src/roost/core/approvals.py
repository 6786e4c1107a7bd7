"""Questions that only a person can answer: a tool's approval, or something the agent asks."""

from typing import Literal

import msgspec

from roost.core.ids import ApprovalId, SessionId, ToolCallId, TurnId

ApprovalKind = Literal["approval", "question"]
ApprovalState = Literal["pending", "approved", "denied", "answered", "expired", "void"]
Decision = Literal["approved", "denied", "answered"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call has to know before it may run. `arguments` is a hash of what exactly would
    run, and where: the answer holds for that and nothing else. `body` is JSON for the surfaces."""

    id: ApprovalId
    call: ToolCallId
    kind: ApprovalKind
    arguments: bytes
    body: str
    directory: str | None = None
    workspace: str | None = None


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A question as it stands. `answer` is what the person wrote, `answered_on` the route it came
    from."""

    id: ApprovalId
    session: SessionId
    turn: TurnId
    call: ToolCallId
    kind: ApprovalKind
    arguments: bytes
    directory: str | None
    workspace: str | None
    body: str
    state: ApprovalState
    answer: str | None
    asked_at: int
    expires_at: int
    answered_at: int | None
    answered_by: str | None
    answered_on: str | None
