"""Sessions that begin with what was said in another."""

import secrets
from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict
from roost.core.ids import (
    MessageId,
    SessionId,
    ToolCallId,
    TurnId,
    UserId,
    new_message_id,
    new_turn_id,
)
from roost.core.messages import Draft
from roost.core.sessions import NewSession, Parent, Session
from roost.core.turns import TurnState
from roost.store.operations import Engine, Operation, every, query, reading, writing
from roost.store.pairs import stand_in
from roost.store.sessions import load_session, open_once
from roost.store.writes import ROW, SLICE, check_session, find_live_message, insert

_BRANCHED = "Not run: this conversation was branched off before it came to this."


class _Message(msgspec.Struct, frozen=True, array_like=True):
    id: MessageId
    turn: TurnId | None
    size: int


class _Stood(msgspec.Struct, frozen=True, array_like=True):
    """What of a turn changes when it goes on, or ends."""

    state: TurnState
    step: int
    attempt: int
    reason: str | None
    ended_at: int | None


class _Turn(_Stood, frozen=True, array_like=True):
    id: TurnId
    message: MessageId | None
    size: int


class _Call(msgspec.Struct, frozen=True, array_like=True):
    call: ToolCallId
    turn: TurnId | None


class _MessageCopy(msgspec.Struct, frozen=True, array_like=True):
    old: MessageId
    new: MessageId
    turn: TurnId | None


class _TurnCopy(_Stood, frozen=True, array_like=True):
    old: TurnId
    new: TurnId
    message: MessageId | None


class _Part(msgspec.Struct, frozen=True):
    """What is copied at once."""

    messages: list[_MessageCopy] = []
    turns: list[_TurnCopy] = []


class _Plan(msgspec.Struct, frozen=True):
    """What stood in the source, up to the position `end`, when the branch was asked for; `open` are
    the calls that had no result there, under the new ids of their turns."""

    source: SessionId
    new: NewSession
    mark: str
    end: int
    parts: list[_Part]
    open: list[_Call]


class Branches:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    async def branch(
        self, session: SessionId, new: NewSession, *, at: MessageId | None = None
    ) -> Session:
        """Copy the live history, up to and with a message, into a session of its own. Tool calls
        whose results are not part of that get one that says so: no model takes a call without.

        A long one is many writes, and unseen until all of it is there, as with an import. What is
        copied is known from the start by its ids: a row keeps what was said, whatever becomes of
        the history that it is part of. How a turn stood is known from then too."""
        plan = await self._plan(session, new, at)
        if isinstance(plan, Session):
            return plan
        made = None
        for number in range(len(plan.parts)):
            made = await self._write(plan, number)
            if made is not None:
                break
        assert made is not None, "the last part completes it"
        return made

    @reading
    def _plan(
        self, session: SessionId, new: NewSession, at: MessageId | None
    ) -> Operation[_Plan | Session]:
        source = yield from load_session(self._user, session)
        if (yield query("get_session", user=self._user, session=new.id)):
            return (yield from load_session(self._user, new.id))
        end = source.head
        if at is not None:
            end = (yield from find_live_message(self._user, session, at)).position
        messages = every((yield query("messages_to_copy", session=session, end=end)), _Message)
        turns = every((yield query("turns_to_copy", session=session, end=end)), _Turn)
        calls = every((yield query("calls_without_results", session=session, end=end)), _Call)
        renamed = {each.turn: new_turn_id() for each in messages if each.turn is not None}
        return _Plan(
            source=session,
            new=msgspec.structs.replace(new, parent=Parent(session, "branch", at)),
            mark=secrets.token_hex(16),
            end=end,
            parts=_parts(messages, {each.id: each for each in turns}, renamed),
            open=[_Call(each.call, each.turn and renamed[each.turn]) for each in calls],
        )

    @writing
    def _write(self, plan: _Plan, number: int) -> Operation[Session | None]:
        """The session if it is complete with this part, or was there before the first of them."""
        new = plan.new.id
        yield from check_session(self._user, plan.source)
        if number == 0:
            if not (yield from open_once(self._user, plan.new)):
                return (yield from load_session(self._user, new))
            yield query("make_unseen", session=new, mark=plan.mark)
        if not (yield query("hold_unseen", session=new, user=self._user, mark=plan.mark)):
            raise _lost(plan)
        part = plan.parts[number]
        messages = _json(part.messages)
        yield query("copy_messages", branch=new, messages=messages)
        yield query("copy_turns", branch=new, turns=_json(part.turns))
        yield query("copy_tool_calls", session=plan.source, branch=new, messages=messages)
        if number < len(plan.parts) - 1:
            return None
        return (yield from self._complete(plan))

    def _complete(self, plan: _Plan) -> Operation[Session]:
        new = plan.new.id
        yield query("copy_blob_names", session=plan.source, branch=new)
        head = yield from self._answer_calls(plan)
        yield query("set_head", session=new, head=head)
        yield query("recount", session=new)
        yield query("publish_unseen", session=new, signature=plan.new.signature)
        made = yield from load_session(self._user, new)
        copied = sum([len(part.messages) for part in plan.parts])
        # Whoever stood still for a minute may have lost some of it to the purge.
        if made.counters.messages != copied + (head - plan.end):
            raise _lost(plan)
        return made

    def _answer_calls(self, plan: _Plan) -> Operation[int]:
        """The newest position after that."""
        if not plan.open:
            return plan.end
        message = stand_in({each.call: _BRANCHED for each in plan.open})
        turn = plan.open[-1].turn
        yield from insert(self._user, plan.new.id, 1, 0, plan.end + 1, turn, message)
        ids = _json([each.call for each in plan.open])
        yield query("cancel_tool_calls", session=plan.new.id, ids=ids)
        return plan.end + 1

    @writing
    def open(self, new: NewSession, said: tuple[Draft, ...]) -> Operation[Session]:
        """Open a session that begins with what was said elsewhere. The same id again gives the
        session that is there."""
        if (yield from open_once(self._user, new)):
            for position, draft in enumerate(said, 1):
                yield from insert(self._user, new.id, 1, 0, position, None, draft)
            yield query("set_head", session=new.id, head=len(said))
            yield query("recount", session=new.id)
        return (yield from load_session(self._user, new.id))


def _parts(
    messages: Sequence[_Message], turns: dict[TurnId, _Turn], renamed: dict[TurnId, TurnId]
) -> list[_Part]:
    """Each is written at once, and meanwhile nobody else writes. A turn comes with the first of its
    messages; its own may have been summed up."""
    names = {each.id: new_message_id() for each in messages}
    parts, size = [_Part()], 0
    for each in messages:
        if size > SLICE:
            parts.append(_Part())
            size = 0
        new = None if each.turn is None else renamed[each.turn]
        parts[-1].messages.append(_MessageCopy(each.id, names[each.id], new))
        size += ROW + each.size
        if new is not None and each.turn is not None and (turn := turns.pop(each.turn, None)):
            message = None if turn.message is None else names.get(turn.message)
            stood = (turn.state, turn.step, turn.attempt, turn.reason, turn.ended_at)
            parts[-1].turns.append(_TurnCopy(*stood, turn.id, new, message))
            size += ROW + turn.size
    return parts


def _lost(plan: _Plan) -> Conflict:
    return Conflict(
        f"What was copied of session {plan.source} was removed before all of it was there. "
        "Branch it again."
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
