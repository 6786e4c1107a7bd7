"""Approvals: what waits for a person's answer, and the rules that answer for them."""

from collections.abc import Sequence

import msgspec

from roost.core.approvals import Decision, Keep, Rule, RuleDecision
from roost.core.ids import ApprovalId, RuleId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.fields import GivenSession, Phrase, Text
from roost.http.views import ApprovalView, approval_view


class ApprovalList(msgspec.Struct, frozen=True):
    approvals: Sequence[ApprovalView]


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A yes or a no may hold for the session or always: for exactly what was asked, or for what
    `pattern` matches. `answer` is for a question that wants words."""

    decision: Decision
    answer: Text | None = None
    keep: Keep = "once"
    pattern: Phrase | None = None


class NewRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rule` is `tool`, or `tool: pattern`; for one session, or for all."""

    rule: Phrase
    decision: RuleDecision
    session: GivenSession | None = None


class RuleList(msgspec.Struct, frozen=True):
    rules: Sequence[Rule]


async def listed(call: Call) -> ApprovalList:
    """List what waits for your answer."""
    return ApprovalList([approval_view(each) for each in await call.account.decisions.pending()])


async def answered(call: Call, approval: ApprovalId, body: Answer) -> ApprovalView:
    """Say yes, no, or what was asked for. The first answer counts, and the turn goes on with it."""
    given = await call.account.decisions.answer(
        approval,
        body.decision,
        answer=body.answer,
        route=call.surface,
        keep=body.keep,
        pattern=body.pattern,
    )
    return approval_view(given)


async def rules(call: Call) -> RuleList:
    """List what you have settled about tools, the oldest first."""
    return RuleList(await call.account.decisions.rules())


async def ruled(call: Call, body: NewRule) -> Rule:
    """Settle what a tool may do without asking, or may not."""
    return await call.account.decisions.add_rule(body.rule, body.decision, session=body.session)


async def unruled(call: Call, rule: RuleId) -> None:
    """Remove a rule."""
    await call.account.decisions.remove_rule(rule)


ENDPOINTS = (
    endpoint("GET", "/api/approvals", listed, scope="read"),
    endpoint("POST", "/api/approvals/{approval}", answered, scope="chat"),
    endpoint("GET", "/api/rules", rules, scope="read"),
    endpoint("POST", "/api/rules", ruled, scope="chat", status=201),
    endpoint("DELETE", "/api/rules/{rule}", unruled, scope="chat"),
)
