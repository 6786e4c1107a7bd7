"""Questions that only a person can answer: a tool's approval, or something the agent asks."""

from typing import Literal

import msgspec

from roost.core.errors import InvalidInput
from roost.core.ids import ApprovalId, RuleId, SessionId, ToolCallId, TurnId

ApprovalKind = Literal["approval", "question"]
ApprovalState = Literal["pending", "approved", "denied", "answered", "expired", "void"]
Decision = Literal["approved", "denied", "answered"]
RuleDecision = Literal["allow", "ask", "deny"]
Keep = Literal["once", "session", "always"]
"""For how long a yes holds."""


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


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a question: what the tool would do, with exactly what, and why it asks; for a
    question of the agent's own, its words and what it offers to choose from. `rule` is the pattern
    to offer to whoever says "from now on"."""

    does: str
    subject: str
    why: str = ""
    choices: tuple[str, ...] = ()
    rule: str = ""


_decode_asked = msgspec.json.Decoder(Asked).decode


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

    @property
    def asked(self) -> Asked:
        return _decode_asked(self.body)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for all calls of a tool, or for those that a pattern matches, without asking
    anew; in one session or, without one, in all of a user's. `tool` may have `*` for any letters.
    """

    id: RuleId
    tool: str
    pattern: str | None
    decision: RuleDecision
    session: SessionId | None = None
    created_at: int = 0

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}: {self.pattern}"


def parse_rule(text: str, decision: RuleDecision, *, id: RuleId) -> Rule:
    """`tool` or `tool: pattern`, as the configuration and people write it."""
    tool, colon, pattern = (part.strip() for part in text.partition(":"))
    if not tool or (colon and not pattern):
        raise InvalidInput(f"{text!r} is no rule. Write `tool`, or `tool: pattern`.")
    return Rule(id=id, tool=tool, pattern=pattern or None, decision=decision)
