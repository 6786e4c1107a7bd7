"""Sessions that begin with what was said in another."""

import msgspec

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
from roost.store.operations import Engine, Operation, every, query, writing
from roost.store.pairs import stand_in
from roost.store.sessions import load_session, open_once, open_session
from roost.store.writes import find_live_message, insert

_BRANCHED = "Not run: this conversation was branched off before it came to this."


class Branches:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @writing
    def branch(
        self, session: SessionId, new: NewSession, *, at: MessageId | None = None
    ) -> Operation[Session]:
        """Copy the live history, up to and with a message, into a session of its own. Tool calls
        whose results are not part of that get one that says so: no model takes a call without."""
        source = yield from load_session(self._user, session)
        if (yield query("get_session", user=self._user, session=new.id)):
            return (yield from load_session(self._user, new.id))
        end = source.head
        if at is not None:
            end = (yield from find_live_message(self._user, session, at)).position
        opened = msgspec.structs.replace(new, parent=Parent(session, "branch", at))
        yield from open_session(self._user, opened)
        yield from self._copy(session, new.id, end)
        return (yield from load_session(self._user, new.id))

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

    def _copy(self, session: SessionId, branch: SessionId, end: int) -> Operation[None]:
        rows = every((yield query("names_to_copy", session=session, end=end)), _Names)
        ids: dict[str, str] = {row.message: new_message_id() for row in rows}
        ids |= {row.turn: new_turn_id() for row in rows if row.turn is not None}
        for step in ("copy_messages", "copy_turns", "copy_tool_calls"):
            yield query(step, session=session, branch=branch, ids=_json(ids), end=end)
        yield query("copy_blob_names", session=session, branch=branch)
        head = yield from self._settle_calls(branch, end)
        yield query("set_head", session=branch, head=head)
        yield query("recount", session=branch)

    def _settle_calls(self, branch: SessionId, end: int) -> Operation[int]:
        """Answer the calls that came without their results; the newest position after that."""
        calls = every((yield query("calls_without_results", session=branch)), _Call)
        if not calls:
            return end
        message = stand_in({each.call: _BRANCHED for each in calls})
        yield from insert(self._user, branch, 1, 0, end + 1, calls[-1].turn, message)
        ids = _json([each.call for each in calls])
        yield query("cancel_tool_calls", session=branch, ids=ids)
        return end + 1


class _Call(msgspec.Struct, frozen=True, array_like=True):
    call: ToolCallId
    turn: TurnId | None


class _Names(msgspec.Struct, frozen=True, array_like=True):
    message: MessageId
    turn: TurnId | None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
