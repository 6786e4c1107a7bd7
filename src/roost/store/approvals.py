"""A user's approvals: what only a person can answer, asked while a turn waits, answered once."""

from collections.abc import Sequence

import msgspec

from roost.core.approvals import Approval, ApprovalKind, ApprovalState, Decision, Question, Rule
from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import ApprovalUpdated, Event
from roost.core.ids import ApprovalId, SessionId, ToolCallId, TurnId, UserId
from roost.store.operations import (
    Engine,
    Operation,
    Rows,
    every,
    maybe,
    query,
    reading,
    writing,
)
from roost.store.rules import add_rule
from roost.store.tool_calls import move_call
from roost.store.writes import enter, record


class ApprovalRow(Approval, frozen=True, array_like=True, kw_only=True):
    """As it is stored: the columns stand in the order of the fields."""


def approvals_of(rows: Rows) -> Sequence[Approval]:
    return [_approval(row) for row in every(rows, ApprovalRow)]


def _approval(row: ApprovalRow) -> Approval:
    return Approval(**msgspec.structs.asdict(row))


class _Changed(msgspec.Struct, frozen=True, array_like=True):
    id: ApprovalId
    call: ToolCallId


def ask(
    session: SessionId, turn: TurnId, questions: tuple[Question, ...], ttl_ms: int
) -> Operation[list[Event]]:
    """Put questions to the user; their calls wait for the answers."""
    events: list[Event] = []
    for question in questions:
        events += yield from move_call(session, turn, question.call, "waiting")
        yield query(
            "insert_approval",
            id=question.id,
            session=session,
            turn=turn,
            call=question.call,
            kind=question.kind,
            arguments=question.arguments,
            directory=question.directory,
            workspace=question.workspace,
            body=question.body,
            ttl=ttl_ms,
        )
        events.append(ApprovalUpdated(question.id, question.call, "pending"))
    return events


def void_questions(session: SessionId, turn: TurnId) -> Operation[list[Event]]:
    """The turn ends: nobody needs to answer any more."""
    rows = yield query("void_approvals", session=session, turn=turn)
    return [ApprovalUpdated(row.id, row.call, "void") for row in every(rows, _Changed)]


class Approvals:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def get(self, approval: ApprovalId) -> Operation[Approval]:
        return (yield from self._load(approval))

    @reading
    def pending(self) -> Operation[Sequence[Approval]]:
        """All that wait for this user, the one asked first before the others."""
        return approvals_of((yield query("pending_approvals", user=self._user)))

    @reading
    def of(self, turn: TurnId) -> Operation[Sequence[Approval]]:
        """All that a turn ever asked, in order."""
        return approvals_of((yield query("approvals_of_turn", user=self._user, turn=turn)))

    @writing
    def answer(
        self,
        approval: ApprovalId,
        decision: Decision,
        *,
        answer: str | None,
        by: str,
        on: str | None,
        rule: Rule | None = None,
    ) -> Operation[Approval]:
        """Answer a question, once (E5). The same answer again is harmless, another is refused. With
        it goes a rule, if the answer is to hold for more than this."""
        found = yield from self._load(approval)
        if decision not in ("denied", _YES[found.kind]):
            raise InvalidInput(f"This can be {_YES[found.kind]} or denied, not {decision}.")
        if (found.state, found.answer) == (decision, answer):
            return found
        if found.state != "pending":
            raise Conflict(_settled(found))
        answered = yield query(
            "answer_approval", id=approval, state=decision, answer=answer, by=by, on=on
        )
        if not answered:
            raise Conflict(_SETTLED["expired"])
        if rule is not None:
            yield from add_rule(self._user, rule)
        head = yield from enter(self._user, found.session, None)
        event = ApprovalUpdated(approval, found.call, decision)
        yield from record(found.session, head.revision, event)
        return (yield from self._load(approval))

    def _load(self, approval: ApprovalId) -> Operation[Approval]:
        row = maybe((yield query("get_approval", user=self._user, id=approval)), ApprovalRow)
        if row is None:
            raise NotFound("approval", approval)
        return _approval(row)


_YES: dict[ApprovalKind, Decision] = {"approval": "approved", "question": "answered"}
"""Words to what wants a yes or a no may well be a no."""

_SETTLED: dict[ApprovalState, str] = {
    "expired": "Nobody answered this in time, so it counts as denied.",
    "void": "The turn that asked this has ended. No answer is needed any more.",
}


def _settled(found: Approval) -> str:
    if found.state in _SETTLED:
        return _SETTLED[found.state]
    where = f" on {found.answered_on}" if found.answered_on else ""
    return f"This was {found.state} by {found.answered_by}{where} already."


class _Expired(msgspec.Struct, frozen=True, array_like=True):
    id: ApprovalId
    call: ToolCallId
    session: SessionId
    user: UserId


def expire_due() -> Operation[Sequence[SessionId]]:
    """Settle what nobody answered in time; the sessions whose turns can go on."""
    due: dict[SessionId, list[_Expired]] = {}
    for row in every((yield query("expire_approvals")), _Expired):
        due.setdefault(row.session, []).append(row)
    for session, rows in due.items():
        head = yield from enter(rows[0].user, session, None, active=False)
        events = [ApprovalUpdated(row.id, row.call, "expired") for row in rows]
        yield from record(session, head.revision, *events)
    return list(due)
