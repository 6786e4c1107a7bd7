"""What a user decides about their agents' tools: answers, and rules that spare them."""

from collections.abc import Sequence

import msgspec

from roost.core.approvals import Approval, Decision, Keep, Rule, RuleDecision, parse_rule
from roost.core.errors import InvalidInput
from roost.core.ids import ApprovalId, RuleId, SessionId, UserId, new_rule_id
from roost.core.messages import check_text
from roost.runtime.parts import Parts


class Decisions:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._user = user
        self._hub = parts.hub
        self._turns = parts.turns

    async def pending(self) -> Sequence[Approval]:
        """What waits for this user's answer."""
        return await self._store.approvals.pending()

    async def answer(
        self,
        approval: ApprovalId,
        decision: Decision,
        *,
        answer: str | None = None,
        route: str | None = None,
        keep: Keep = "once",
        pattern: str | None = None,
    ) -> Approval:
        """Say yes, no, or what was asked for. It counts once; the turn goes on with it. A yes or a
        no may hold for the session, or always: for exactly this, or for what `pattern` matches."""
        check_text((answer, pattern), "answer")
        rule = None if keep == "once" else await self._rule(approval, decision, keep, pattern)
        given = await self._store.approvals.answer(
            approval, decision, answer=answer, by=self._user, on=route, rule=rule
        )
        self._hub.changed(given.session)
        self._turns.wake()
        return given

    async def _rule(
        self, approval: ApprovalId, decision: Decision, keep: Keep, pattern: str | None
    ) -> Rule:
        found = await self._store.approvals.get(approval)
        if found.kind != "approval" or decision == "answered":
            raise InvalidInput("Only a yes or a no can hold for more than once.")
        calls = await self._store.turns.tool_calls(found.turn)
        (tool,) = [call.name for call in calls if call.call == found.call]
        return Rule(
            id=new_rule_id(),
            tool=tool,
            pattern=pattern or found.asked.rule,
            decision="allow" if decision == "approved" else "deny",
            session=found.session if keep == "session" else None,
        )

    async def rules(self) -> Sequence[Rule]:
        """What this user has settled about tools, the oldest first."""
        return await self._store.rules.all()

    async def add_rule(
        self, text: str, decision: RuleDecision, *, session: SessionId | None = None
    ) -> Rule:
        """`tool` or `tool: pattern`, for one session or for all."""
        rule = parse_rule(text, decision, id=new_rule_id())
        if session is not None:
            await self._store.sessions.get(session)  # whose it is
            rule = msgspec.structs.replace(rule, session=session)
        await self._store.rules.add(rule)
        return rule

    async def remove_rule(self, rule: RuleId) -> None:
        await self._store.rules.remove(rule)
