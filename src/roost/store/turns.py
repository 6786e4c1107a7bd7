"""A user's turns: started, carried on step by step, parked, ended."""

from collections.abc import Sequence

import msgspec

from roost.core.approvals import Question
from roost.core.errors import Conflict, InvalidInput, QueueChanged
from roost.core.events import AttemptBegan, Deltas, Event, RewriteKind, TurnUpdated
from roost.core.ids import SessionId, Token, ToolCallId, TurnId, UserId
from roost.core.messages import Draft, Part, attachments
from roost.core.turns import (
    Begun,
    CallEnd,
    OutboxEntry,
    Step,
    ToolCall,
    ToolCallState,
    Turn,
    TurnEnd,
    check_turn_move,
)
from roost.store.approvals import approvals_of, ask, void_questions
from roost.store.operations import (
    Engine,
    Operation,
    maybe,
    one,
    query,
    reading,
    writing,
)
from roost.store.outbox import put_outbox
from roost.store.queue import check_queued, turn_in, turn_row
from roost.store.rows import TurnRow, turn_of, turns_of
from roost.store.streams import deltas_of
from roost.store.tool_calls import call_state, calls_of, move_call
from roost.store.writes import (
    Head,
    NextAttempt,
    Written,
    add_usage,
    added,
    already_written,
    answers,
    check_session,
    check_token,
    enter,
    enter_adding,
    enter_next_attempt,
    name_blobs,
    place,
    record,
    refuse_while_live,
    standing,
)


class _TurnPlace(msgspec.Struct, frozen=True, array_like=True):
    """Whether other turns came after it, and what took its first message out of the history."""

    followed: bool
    taken_by: RewriteKind | None


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
    def latest(self, session: SessionId) -> Operation[Turn | None]:
        """The newest turn that is part of the history: the one to continue, retry or undo."""
        row = maybe((yield query("latest_turn", user=self._user, session=session)), TurnRow)
        return None if row is None else turn_of(row)

    @reading
    def tool_calls(self, turn: TurnId) -> Operation[Sequence[ToolCall]]:
        return calls_of((yield query("list_tool_calls", user=self._user, turn=turn)))

    @reading
    def deltas(self, turn: TurnId) -> Operation[Sequence[Deltas]]:
        """What the attempt that is streaming has stored so far, in order."""
        return deltas_of((yield query("stream_deltas", user=self._user, turn=turn)))

    # The holder of the session's lease writes, by its token. After a lost answer it asks again, and
    # gets what is true now.

    @writing
    def start(
        self, session: SessionId, token: Token, turn: TurnId, message: Draft
    ) -> Operation[Begun]:
        """Let the first turn of the queue run: its message takes its place in history."""
        row = yield from turn_in(self._user, session, turn)
        attempt = _attempt_after(row)
        head = yield from enter_adding(self._user, session, token, (message,), begins=attempt)
        if isinstance(head, Written):
            if row.message != message.id:
                raise _taken(message)
            return (yield from self._under_way(session, token, turn))
        check_queued(row, message)
        yield from refuse_while_live(session)
        if maybe((yield query("first_queued", session=session)), str) != turn:
            raise Conflict(f"Turn {turn} is not the first in the queue.")
        yield query("start_turn", turn=turn, message=message.id, start=head.head + 1)
        yield query("count_turn", session=session)
        yield from self._run(session, head, attempt, (message,))
        return _begun(head, (message,), attempt)

    def _run(
        self, session: SessionId, head: Head, attempt: AttemptBegan, messages: tuple[Draft, ...]
    ) -> Operation[None]:
        turn = attempt.turn
        yield query(
            "open_stream", session=session, turn=turn, step=attempt.step, attempt=attempt.attempt
        )
        events = yield from added(session, turn, messages)
        running = TurnUpdated(turn, "running")
        yield from place(self._user, session, head, turn, messages, running, *events, attempt)

    @writing
    def resume(
        self,
        session: SessionId,
        token: Token,
        turn: TurnId,
        *,
        after: int,
        messages: tuple[Draft, ...] = (),
        automatic: bool = False,
    ) -> Operation[Begun]:
        """Carry on with a parked turn, or with one that stopped short, in the attempt that follows
        `after`. Messages (that the answer broke off, say) take their place in history with it."""
        yield from check_token(self._user, session, token)
        row = yield from turn_in(self._user, session, turn)
        if row.state == "running" and row.attempt == after + 1:
            return (yield from self._under_way(session, token, turn))
        yield from self._check_resumable(row)
        if row.attempt != after:
            raise _other_attempt(turn, row.attempt, after)
        attempt = _attempt_after(row)
        head = yield from enter_adding(self._user, session, token, messages, begins=attempt)
        if isinstance(head, Written):
            raise _taken(messages[-1])
        yield query("resume_turn", turn=turn, automatic=automatic)
        yield from self._run(session, head, attempt, messages)
        return _begun(head, messages, attempt)

    def _check_resumable(self, row: TurnRow) -> Operation[None]:
        if row.state == "queued" or row.start is None:
            raise Conflict(f"Turn {row.id} has not started; start it instead.")
        check_turn_move(row.id, row.state, "running")
        place = one((yield query("turn_place", turn=row.id)), _TurnPlace)
        if row.undone is not None or place.taken_by not in (None, "compaction"):
            raise Conflict(f"Turn {row.id} is no longer part of the history and can't go on.")
        if place.followed:
            raise Conflict(f"The conversation has gone on since turn {row.id}. Send a new message.")
        # One that is under way came after it, if it is not this one.
        if row.state == "waiting" and (yield query("pending_approvals_of", session=row.session)):
            raise Conflict(f"Turn {row.id} still waits for an answer.")

    @writing
    def retry_step(
        self, session: SessionId, token: Token, turn: TurnId, *, after: int
    ) -> Operation[Begun]:
        """Open the attempt of the current step that follows `after`, whose deltas are dropped."""
        begun = yield from self._under_way(session, token, turn)
        if begun.attempt == after + 1:
            return begun
        if begun.attempt != after:
            raise _other_attempt(turn, begun.attempt, after)
        head = yield from enter_next_attempt(self._user, session, token, turn, (), steps=0)
        assert isinstance(head, NextAttempt), "it runs, and nothing is added that could be there"
        attempt = AttemptBegan(turn, head.step, head.attempt)
        yield from record(session, head.revision, attempt)
        return _begun(head, (), attempt)

    @writing
    def append(
        self, session: SessionId, token: Token, turn: TurnId, step: Step
    ) -> Operation[Begun]:
        """Write a finished step in place of its deltas; the next attempt begins."""
        if not step.messages:
            raise InvalidInput("A step without a message is nothing to write.")
        steps = 0 if step.unfinished else 1
        head = yield from enter_next_attempt(
            self._user, session, token, turn, step.messages, steps=steps
        )
        if not isinstance(head, NextAttempt):
            begun = yield from self._under_way(session, token, turn)
            assert isinstance(head, Written), "what does not run was refused"
            return begun
        events = yield from added(session, turn, step.messages)
        events += yield from self._merge(session, step)
        if step.usage:
            answered = answers(step.messages)
            yield from add_usage(self._user, session, turn, step.usage, answered=answered)
        attempt = AttemptBegan(turn, head.step, head.attempt)
        yield from place(self._user, session, head, turn, step.messages, *events, attempt)
        return _begun(head, step.messages, attempt)

    def _merge(self, session: SessionId, step: Step) -> Operation[list[Event]]:
        """A steer's words stand among the step's messages, as its last user messages in order."""
        words = [draft for draft in step.messages if draft.role == "user"]
        if not words and not step.steers:
            return []
        if len(words) != len(step.steers):
            raise InvalidInput("Each steer that a step takes in comes with one user message.")
        for steer, draft in zip(step.steers, words, strict=True):
            row = yield from turn_in(self._user, session, steer)
            check_queued(row, draft)
            if not row.steer:
                raise QueueChanged(f"Turn {row.id} waits for its own turn by now.")
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
        *,
        outbox: tuple[OutboxEntry, ...] = (),
    ) -> Operation[None]:
        """Move a tool call on: to `running` before its effect, to its end after its result, whose
        attachments are kept from now on, and go out to a channel if they are for a person."""
        yield from turn_in(self._user, session, turn)
        before = yield from call_state(session, turn, call)
        yield from check_token(self._user, session, token)
        if before == state:
            return
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        yield from name_blobs(self._user, session, attachments(result or ()))
        events = yield from move_call(session, turn, call, state, result)
        yield from put_outbox(self._user, outbox, session=session, turn=turn)
        yield from record(session, head.revision, *events)

    @writing
    def park(
        self,
        session: SessionId,
        token: Token,
        turn: TurnId,
        questions: tuple[Question, ...],
        *,
        ttl: float,
        outbox: tuple[OutboxEntry, ...] = (),
    ) -> Operation[None]:
        """Ask, over a channel too, and wait for a person, at most `ttl` seconds: nothing is held
        meanwhile, the lease included."""
        if not questions:
            raise InvalidInput("A turn that waits has to ask something.")
        yield from check_token(self._user, session, token)
        row = yield from turn_in(self._user, session, turn)
        if row.state == "waiting" and (yield from self._asked(turn, questions)):
            return
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        events = yield from ask(session, turn, questions, round(ttl * 1000))
        yield query("set_turn_state", turn=turn, state="waiting", reason=None, ended=False, at=None)
        yield query("close_stream", turn=turn)
        yield from put_outbox(self._user, outbox, session=session, turn=turn)
        yield query("release_session_lease", session=session, token=token)
        yield from record(session, head.revision, *events, TurnUpdated(turn, "waiting"))

    def _asked(self, turn: TurnId, questions: tuple[Question, ...]) -> Operation[bool]:
        rows = yield query("approvals_of_turn", user=self._user, turn=turn)
        asked = {approval.id for approval in approvals_of(rows)}
        return asked >= {question.id for question in questions}

    @writing
    def ask_to_stop(self, session: SessionId, turn: TurnId | None) -> Operation[TurnId | None]:
        """Have whoever runs the session's turn, or this one only, stop it. Which that is; None if
        none runs."""
        yield from check_session(self._user, session)
        rows = yield query("ask_to_stop", session=session, turn=turn)
        found = maybe(rows, str)
        return None if found is None else TurnId(found)

    @writing
    def end(
        self, session: SessionId, token: Token, turn: TurnId, end: TurnEnd
    ) -> Operation[Written]:
        """End a turn with its last messages, its open tool calls and questions, its usage, its
        answers to channels and its mark for memory, and release the lease. A repeat of the same end
        returns the first result."""
        row = yield from turn_in(self._user, session, turn)
        if row.state == end.state:
            return (yield from self._ended_before(session, token, turn, end))
        head = yield from enter_adding(self._user, session, token, end.messages)
        if row.start is None and end.messages:
            check_queued(row, end.messages[0])
        check_turn_move(turn, row.state, end.state)
        if isinstance(head, Written):
            raise _taken(end.messages[-1])
        events = yield from added(session, turn, end.messages)
        if row.start is None and end.messages:
            # It failed before it could start; its message is kept all the same.
            yield query("settle_turn", turn=turn, message=end.messages[0].id, start=head.head + 1)
            yield query("count_turn", session=session)
        events += yield from _end_calls(session, turn, end.calls)
        events += yield from void_questions(session, turn)
        yield from add_usage(self._user, session, turn, end.usage, answered=answers(end.messages))
        yield query(
            "set_turn_state",
            turn=turn,
            state=end.state,
            reason=end.reason,
            ended=True,
            at=end.at,
        )
        yield query("close_stream", turn=turn)
        if end.state == "completed" and end.memory_scope is not None:
            yield query("mark_for_memory", turn=turn, scope=end.memory_scope)
        ended = TurnUpdated(turn, end.state, end.reason)
        yield from place(self._user, session, head, turn, end.messages, *events, ended)
        # After the blobs of the messages, as with a tool call: both are locked.
        yield from put_outbox(self._user, end.outbox, session=session, turn=turn)
        if end.release:
            yield query("release_session_lease", session=session, token=token)
        return Written(head.revision, head.epoch, head.head + len(end.messages))

    def _ended_before(
        self, session: SessionId, token: Token, turn: TurnId, end: TurnEnd
    ) -> Operation[Written]:
        first = yield from already_written(self._user, session, end.messages)
        if first is not None:
            return first
        yield from check_token(self._user, session, token)
        if end.messages:
            raise Conflict(f"Turn {turn} is {end.state} already, with another answer.")
        return (yield from standing(session))

    def _under_way(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Begun]:
        """Where a running turn stands, with nothing written."""
        yield from check_token(self._user, session, token)
        row = yield from self._running(session, turn)
        now = yield from standing(session)
        return Begun(now.revision, now.epoch, now.head, row.step, row.attempt)

    def _running(self, session: SessionId, turn: TurnId) -> Operation[TurnRow]:
        row = yield from turn_in(self._user, session, turn)
        if row.state != "running":
            raise Conflict(f"Turn {turn} is {row.state}, not running. Nothing was written.")
        return row


def _end_calls(
    session: SessionId, turn: TurnId, calls: tuple[CallEnd, ...]
) -> Operation[list[Event]]:
    events: list[Event] = []
    for end in calls:
        events += yield from move_call(session, turn, end.call, end.state)
    return events


def _attempt_after(row: TurnRow) -> AttemptBegan:
    return AttemptBegan(row.id, max(row.step, 1), row.attempt + 1)


def _begun(head: Head, added: tuple[Draft, ...], attempt: AttemptBegan) -> Begun:
    position = head.head + len(added)
    return Begun(head.revision, head.epoch, position, attempt.step, attempt.attempt)


def _taken(message: Draft) -> InvalidInput:
    return InvalidInput(f"The message id {message.id} is taken. Make a new one.")


def _other_attempt(turn: TurnId, attempt: int, after: int) -> Conflict:
    return Conflict(f"Turn {turn} is at attempt {attempt}, not at {after}. Nothing was written.")
