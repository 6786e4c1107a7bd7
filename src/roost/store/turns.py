"""A user's turns: started, carried on step by step, parked, ended."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, NotFound
from roost.core.events import (
    AttemptBegan,
    Delta,
    Deltas,
    Event,
    RewriteKind,
    ToolCallUpdated,
    TurnUpdated,
)
from roost.core.ids import SessionId, Token, ToolCallId, TurnId, UserId
from roost.core.messages import Draft, Part, decode_parts, encode_parts
from roost.core.turns import (
    TOOL_CALL_MOVES,
    Begun,
    Step,
    ToolCall,
    ToolCallState,
    Turn,
    TurnEnd,
    check_tool_call_move,
    check_turn_move,
)
from roost.store.operations import Engine, Operation, every, maybe, one, query, reading, writing
from roost.store.queue import turn_in, turn_row
from roost.store.rows import TurnRow, turn_of, turns_of
from roost.store.writes import (
    Head,
    Written,
    add_usage,
    already_written,
    check_token,
    enter,
    enter_adding,
    next_attempt,
    open_stream,
    place,
    record,
    standing,
)


class _ToolCallRow(msgspec.Struct, frozen=True, array_like=True):
    call: ToolCallId
    turn: TurnId
    name: str
    arguments: str
    state: ToolCallState
    result: str | None
    started_at: int | None
    ended_at: int | None


class _ToolCallState(msgspec.Struct, frozen=True, array_like=True):
    state: ToolCallState


class _TurnPlace(msgspec.Struct, frozen=True, array_like=True):
    """Whether other turns came after it, and what took its first message out of the history."""

    followed: bool
    taken_by: RewriteKind | None


class _DeltasRow(msgspec.Struct, frozen=True, array_like=True):
    first_seq: int
    last_seq: int
    body: str


def refuse_while_live(session: SessionId) -> Operation[None]:
    if live := maybe((yield query("live_turn", session=session)), str):
        raise Conflict(f"Turn {live} of this session is under way. Cancel it or wait for it.")


class Turns:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def get(self, turn: TurnId) -> Operation[Turn]:
        return turn_of((yield from turn_row(self._user, turn)))

    @reading
    def of(self, session: SessionId) -> Operation[Sequence[Turn]]:
        """All of a session's turns, in the order of their places in the queue."""
        rows = yield query("list_turns", user=self._user, session=session)
        return turns_of(rows)

    @reading
    def tool_calls(self, turn: TurnId) -> Operation[Sequence[ToolCall]]:
        rows = yield query("list_tool_calls", user=self._user, turn=turn)
        return [
            ToolCall(
                call=row.call,
                turn=row.turn,
                name=row.name,
                arguments=row.arguments,
                state=row.state,
                result=None if row.result is None else decode_parts(row.result),
                started_at=row.started_at,
                ended_at=row.ended_at,
            )
            for row in every(rows, _ToolCallRow)
        ]

    @reading
    def deltas(self, turn: TurnId) -> Operation[Sequence[Deltas]]:
        """What the attempt that is streaming has stored so far, in order."""
        rows = yield query("stream_deltas", user=self._user, turn=turn)
        return [
            Deltas(
                row.first_seq, row.last_seq, msgspec.json.decode(row.body, type=tuple[Delta, ...])
            )
            for row in every(rows, _DeltasRow)
        ]

    # The holder of the session's lease writes, by its token.

    @writing
    def start(
        self, session: SessionId, token: Token, turn: TurnId, message: Draft
    ) -> Operation[Begun]:
        """Let the first turn of the queue run: its message takes its place in history."""
        row = yield from turn_in(self._user, session, turn)
        head = yield from enter_adding(self._user, session, token, (message,))
        if isinstance(head, Written):
            if row.message != message.id:
                raise _taken(message)
            return Begun(head.revision, row.step, row.attempt)
        if row.state != "queued":
            raise Conflict(f"Turn {turn} is {row.state}; only a queued one can be started.")
        yield from refuse_while_live(session)
        if maybe((yield query("first_queued", session=session)), str) != turn:
            raise Conflict(f"Turn {turn} is not the first in the queue.")
        events = yield from place(self._user, session, head, turn, (message,))
        yield query("start_turn", turn=turn, message=message.id, start=head.head + 1)
        yield query("count_turn", session=session)
        attempt = yield from open_stream(turn)
        yield from record(
            session,
            head.revision,
            TurnUpdated(turn, "running"),
            *events,
            attempt,
        )
        return Begun(head.revision, attempt.step, attempt.attempt)

    @writing
    def resume(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Begun]:
        """Carry on with a parked turn, or with one that stopped short, in a new attempt."""
        head = yield from enter(self._user, session, token)
        row = yield from turn_in(self._user, session, turn)
        if row.state == "queued" or row.start is None:
            raise Conflict(f"Turn {turn} has not started; start it instead.")
        check_turn_move(turn, row.state, "running")
        place = one((yield query("turn_place", turn=turn)), _TurnPlace)
        if row.undone is not None or place.taken_by not in (None, "compaction"):
            raise Conflict(f"Turn {turn} is no longer part of the history and can't go on.")
        if place.followed:
            raise Conflict(f"The conversation has gone on since turn {turn}. Send a new message.")
        if row.state != "waiting":
            yield from refuse_while_live(session)
        yield query("set_turn_state", turn=turn, state="running", reason=None, ended=False)
        attempt = yield from open_stream(turn)
        yield from record(session, head.revision, TurnUpdated(turn, "running"), attempt)
        return Begun(head.revision, attempt.step, attempt.attempt)

    @writing
    def retry_step(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Begun]:
        """Open another attempt of the current step; the deltas of the one before are dropped."""
        head = yield from enter(self._user, session, token)
        attempt = yield from self._next_attempt(session, turn, steps=0)
        yield from record(session, head.revision, attempt)
        return Begun(head.revision, attempt.step, attempt.attempt)

    @writing
    def append(
        self, session: SessionId, token: Token, turn: TurnId, step: Step
    ) -> Operation[Written]:
        """Write a finished step in place of its deltas."""
        if not step.messages:
            raise InvalidInput("A step without a message is nothing to write.")
        head = yield from enter_adding(self._user, session, token, step.messages)
        if isinstance(head, Written):
            return head
        attempt = yield from self._next_attempt(session, turn, steps=0 if step.unfinished else 1)
        events = yield from place(self._user, session, head, turn, step.messages)
        events += yield from self._merge(session, step)
        yield from add_usage(self._user, session, turn, step.usage)
        events.append(attempt)
        yield from record(session, head.revision, *events)
        return _written(head, step.messages)

    def _merge(self, session: SessionId, step: Step) -> Operation[list[Event]]:
        """A steer's words stand among the step's messages, as its last user messages in order."""
        words = [draft for draft in step.messages if draft.role == "user"]
        if len(words) != len(step.steers):
            raise InvalidInput("Each steer that a step takes in comes with one user message.")
        for steer, draft in zip(step.steers, words, strict=True):
            row = yield from turn_in(self._user, session, steer)
            check_turn_move(steer, row.state, "merged")
            yield query("merge_turn", turn=steer, message=draft.id)
        return [TurnUpdated(steer, "merged") for steer in step.steers]

    @writing
    def set_tool_call(
        self,
        session: SessionId,
        token: Token,
        turn: TurnId,
        call: ToolCallId,
        state: ToolCallState,
        result: tuple[Part, ...] | None = None,
    ) -> Operation[None]:
        """Move a tool call on: to `running` before its effect, to its end after its result."""
        yield from turn_in(self._user, session, turn)
        rows = yield query("find_tool_call", session=session, call=call, turn=turn)
        before = maybe(rows, _ToolCallState)
        if before is None:
            raise NotFound("tool call", call)
        yield from check_token(self._user, session, token)
        if before.state == state:
            return
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        check_tool_call_move(call, before.state, state)
        yield query(
            "set_tool_call",
            session=session,
            call=call,
            state=state,
            result=None if result is None else encode_parts(result),
            ended=not TOOL_CALL_MOVES[state],
        )
        yield from record(session, head.revision, ToolCallUpdated(call, state))

    @writing
    def park(self, session: SessionId, token: Token, turn: TurnId) -> Operation[None]:
        """Wait for a person: nothing is held meanwhile, the lease included."""
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        yield query("set_turn_state", turn=turn, state="waiting", reason=None, ended=False)
        yield query("close_stream", turn=turn)
        yield query("release_session_lease", session=session, token=token)
        yield from record(session, head.revision, TurnUpdated(turn, "waiting"))

    @writing
    def end(
        self, session: SessionId, token: Token, turn: TurnId, end: TurnEnd
    ) -> Operation[Written]:
        """End a turn with its last messages, its usage, its answers to channels and its mark for
        memory, and release the lease. A repeat of the same end returns the first result."""
        row = yield from turn_in(self._user, session, turn)
        if row.state == end.state:
            first = yield from already_written(self._user, session, end.messages)
            if first is not None:
                return first
            yield from check_token(self._user, session, token)
            if end.messages:
                raise Conflict(f"Turn {turn} is {row.state} already, with another answer.")
            return (yield from standing(session))
        head = yield from enter_adding(self._user, session, token, end.messages)
        check_turn_move(turn, row.state, end.state)
        if isinstance(head, Written):
            raise _taken(end.messages[-1])
        events = yield from place(self._user, session, head, turn, end.messages)
        if row.start is None and end.messages:
            # It failed before it could start; its message is kept all the same.
            yield query("settle_turn", turn=turn, message=end.messages[0].id, start=head.head + 1)
            yield query("count_turn", session=session)
        yield from add_usage(self._user, session, turn, end.usage)
        yield query("set_turn_state", turn=turn, state=end.state, reason=end.reason, ended=True)
        yield query("close_stream", turn=turn)
        if end.state == "completed" and end.memory_scope is not None:
            yield query("mark_for_memory", turn=turn, scope=end.memory_scope)
        for entry in end.outbox:
            yield query(
                "insert_outbox",
                id=entry.id,
                user=self._user,
                route=entry.route,
                session=session,
                turn=turn,
                body=entry.body,
            )
        if end.release:
            yield query("release_session_lease", session=session, token=token)
        yield from record(session, head.revision, *events, TurnUpdated(turn, end.state, end.reason))
        return _written(head, end.messages)

    def _next_attempt(
        self, session: SessionId, turn: TurnId, *, steps: int
    ) -> Operation[AttemptBegan]:
        attempt = yield from next_attempt(session, turn, steps=steps)
        if attempt is None:
            yield from self._running(session, turn)
            raise NotFound("running turn", turn)
        return attempt

    def _running(self, session: SessionId, turn: TurnId) -> Operation[TurnRow]:
        row = yield from turn_in(self._user, session, turn)
        if row.state != "running":
            raise Conflict(f"Turn {turn} is {row.state}, not running. Nothing was written.")
        return row


def _taken(message: Draft) -> InvalidInput:
    return InvalidInput(f"The message id {message.id} is taken. Make a new one.")


def _written(head: Head, drafts: tuple[Draft, ...]) -> Written:
    return Written(head.revision, head.epoch, head.head + len(drafts))
