"""A user's rules: what tools may do without asking anew, in one session or in all of theirs."""

from collections.abc import Sequence

import msgspec

from roost.core.approvals import Rule, RuleDecision
from roost.core.errors import NotFound
from roost.core.ids import RuleId, SessionId, UserId
from roost.store.operations import Engine, Operation, Rows, every, query, reading, writing


class _RuleRow(msgspec.Struct, frozen=True, array_like=True):
    id: RuleId
    tool: str
    pattern: str | None
    decision: RuleDecision
    session: SessionId | None
    created_at: int


def add_rule(user: UserId, rule: Rule) -> Operation[None]:
    """Once by its id, and once for what it says."""
    yield query(
        "insert_rule",
        user=user,
        id=rule.id,
        session=rule.session,
        tool=rule.tool,
        pattern=rule.pattern,
        decision=rule.decision,
    )


def _rules(rows: Rows) -> Sequence[Rule]:
    return [Rule(**msgspec.structs.asdict(row)) for row in every(rows, _RuleRow)]


class Rules:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def of(self, session: SessionId) -> Operation[Sequence[Rule]]:
        """Those that hold in a session: its own, and the user's for all."""
        return _rules((yield query("rules_of_session", user=self._user, session=session)))

    @reading
    def all(self) -> Operation[Sequence[Rule]]:
        return _rules((yield query("rules_of_user", user=self._user)))

    @writing
    def add(self, rule: Rule) -> Operation[None]:
        yield from add_rule(self._user, rule)

    @writing
    def remove(self, rule: RuleId) -> Operation[None]:
        if not (yield query("delete_rule", user=self._user, id=rule)):
            raise NotFound("rule", rule)
