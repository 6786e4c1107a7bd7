"""A user's turns: submitted, started, carried on step by step, ended."""

import hashlib
from collections.abc import Sequence

import msgspec

from roost.core.errors import Conflict, InvalidInput, KeyReused, NotFound
from roost.core.events import AttemptBegan, Delta, Deltas, Event, ToolCallUpdated, TurnUpdated
from roost.core.ids import MessageId, SessionId, Token, ToolCallId, TurnId, UserId
from roost.core.messages import Draft, Part, attachments, decode_parts, encode_parts
from roost.core.turns import (
    TOOL_CALL_MOVES,
    EndState,
    NewTurn,
    ToolCall,
    ToolCallState,
    Turn,
    TurnOptions,
    TurnState,
    check_tool_call_move,
    check_turn_move,
)
from roost.core.usage import Usage
from roost.store.operations import Engine, Operation, every, maybe, query, reading, writing
from roost.store.writes import (
    Head,
    Written,
    add_usage,
    already_written,
    begin_attempt,
    check_session,
    enter,
    name_blobs,
    place,
    record,
    standing,
)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one step adds: its messages in order, what it used, the steers it took in. Unless it is
    the last, `more` opens the next step's first attempt in the same commit."""

    messages: tuple[Draft, ...]
    usage: tuple[Usage, ...] = ()
    steers: tuple[TurnId, ...] = ()
    more: bool = True


class OutboxEntry(msgspec.Struct, frozen=True):
    """An answer on its way to a channel; `body` is the channel's own JSON."""

    id: str
    route: str
    body: str


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a turn ended and everything that becomes true with it, in one transaction. `memory_scope`
    marks a completed turn for long-term memory."""

    state: EndState
    reason: str | None = None
    messages: tuple[Draft, ...] = ()
    usage: tuple[Usage, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()
    memory_scope: str | None = None
    release: bool = True


class Begun(msgspec.Struct, frozen=True):
    """A turn that runs, and the attempt whose deltas the store now takes."""

    revision: int
    step: int
    attempt: int


class _TurnRow(msgspec.Struct, frozen=True, array_like=True):
    user: UserId
    id: TurnId
    session: SessionId
    state: TurnState
    steer: bool
    route: str | None
    options: str
    ephemeral: bool
    input: str
    message: MessageId | None
    step: int
    attempt: int
    reason: str | None
    undone: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None
    start: int | None
    place: int


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


class _DeltasRow(msgspec.Struct, frozen=True, array_like=True):
    first_seq: int
    last_seq: int
    body: str


class _Submitted(msgspec.Struct, frozen=True, array_like=True):
    id: TurnId
    session: SessionId
    fingerprint: bytes


def _turn(row: _TurnRow) -> Turn:
    return Turn(
        id=row.id,
        session=row.session,
        state=row.state,
        steer=row.steer,
        route=row.route,
        options=msgspec.json.decode(row.options, type=TurnOptions),
        ephemeral=row.ephemeral,
        parts=decode_parts(row.input),
        message=row.message,
        step=row.step,
        attempt=row.attempt,
        reason=row.reason,
        undone=row.undone,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def turn_row(user: UserId, turn: TurnId) -> Operation[_TurnRow]:
    row = maybe((yield query("find_turn", user=user, turn=turn)), _TurnRow)
    if row is None:
        raise NotFound("turn", turn)
    return row


def _turn_in(user: UserId, session: SessionId, turn: TurnId) -> Operation[_TurnRow]:
    row = yield from turn_row(user, turn)
    if row.session != session:
        raise NotFound("turn", turn)
    return row


def _fingerprint(new: NewTurn) -> bytes:
    body = [encode_parts(new.parts), new.steer, new.route, new.options, new.ephemeral]
    return hashlib.sha256(msgspec.json.encode(body)).digest()


def enqueue(
    user: UserId, session: SessionId, new: NewTurn, *, front: bool
) -> Operation[list[Event]]:
    """Store a message with its turn; the caller has raised the revision and records the events."""
    if not new.parts:
        raise InvalidInput("The message is empty.")
    yield from name_blobs(user, session, attachments(new.parts))
    yield query(
        "insert_turn",
        turn=new.id,
        session=session,
        front=front,
        steer=new.steer,
        route=new.route,
        options=msgspec.json.encode(new.options).decode(),
        ephemeral=new.ephemeral,
        key=new.key,
        fingerprint=_fingerprint(new),
        input=encode_parts(new.parts),
    )
    return [TurnUpdated(new.id, "queued")]


def submitted_before(session: SessionId, new: NewTurn) -> Operation[TurnId | None]:
    """The turn that an earlier sending of this message became."""
    rows = yield query("find_submitted", turn=new.id, session=session, key=new.key)
    found = maybe(rows, _Submitted)
    if found is None:
        return None
    if found.session != session or found.fingerprint != _fingerprint(new):
        raise KeyReused(key=new.key if found.id != new.id and new.key else new.id)
    return found.id


def refuse_while_live(session: SessionId) -> Operation[None]:
    if live := maybe((yield query("live_turn", session=session)), str):
        raise Conflict(f"Turn {live} of this session is under way. Cancel it or wait for it.")


class Turns:
    def __init__(self, engine: Engine, user: UserId) -> None:
        self.engine = engine
        self._user = user

    @reading
    def get(self, turn: TurnId) -> Operation[Turn]:
        return _turn((yield from turn_row(self._user, turn)))

    @reading
    def of(self, session: SessionId) -> Operation[Sequence[Turn]]:
        """All of a session's turns, in the order of their places in the queue."""
        rows = yield query("list_turns", user=self._user, session=session)
        return [_turn(row) for row in every(rows, _TurnRow)]

    @reading
    def queue(self, session: SessionId) -> Operation[Sequence[Turn]]:
        rows = yield query("list_queue", user=self._user, session=session)
        return [_turn(row) for row in every(rows, _TurnRow)]

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

    # Before it runs: anyone who may see the session.

    @writing
    def submit(self, session: SessionId, new: NewTurn) -> Operation[Turn]:
        """Store a message at the end of the queue (D1). Sent twice, it is one turn."""
        yield from check_session(self._user, session)
        first = yield from submitted_before(session, new)
        if first is None:
            head = yield from enter(self._user, session, None)
            events = yield from enqueue(self._user, session, new, front=False)
            yield from record(session, head.revision, *events)
        return _turn((yield from turn_row(self._user, first or new.id)))

    @writing
    def edit_queued(self, turn: TurnId, parts: tuple[Part, ...]) -> Operation[Turn]:
        row = yield from self._still_queued(turn)
        if not parts:
            raise InvalidInput("The message is empty.")
        head = yield from enter(self._user, row.session, None)
        yield from name_blobs(self._user, row.session, attachments(parts))
        yield query("edit_queued", turn=turn, input=encode_parts(parts))
        yield from record(row.session, head.revision, TurnUpdated(turn, "queued"))
        return _turn((yield from turn_row(self._user, turn)))

    @writing
    def remove_queued(self, turn: TurnId) -> Operation[None]:
        row = yield from self._still_queued(turn)
        head = yield from enter(self._user, row.session, None, active=False)
        yield query("set_turn_state", turn=turn, state="removed", reason=None, ended=True)
        yield from record(row.session, head.revision, TurnUpdated(turn, "removed"))

    def _still_queued(self, turn: TurnId) -> Operation[_TurnRow]:
        row = yield from turn_row(self._user, turn)
        if row.state != "queued":
            raise Conflict(f"Turn {turn} is {row.state}; only a queued one can be changed.")
        return row

    # While it runs: the holder of the session's lease, by its token.

    @writing
    def start(
        self, session: SessionId, token: Token, turn: TurnId, message: Draft
    ) -> Operation[Begun]:
        """Let the first turn of the queue run: its message takes its place in history."""
        row = yield from _turn_in(self._user, session, turn)
        if first := (yield from already_written(self._user, session, (message,))):
            return Begun(first.revision, row.step, row.attempt)
        head = yield from enter(self._user, session, token)
        if row.state != "queued":
            raise Conflict(f"Turn {turn} is {row.state}; only a queued one can be started.")
        yield from refuse_while_live(session)
        if maybe((yield query("first_queued", session=session)), str) != turn:
            raise Conflict(f"Turn {turn} is not the first in the queue.")
        events = yield from place(self._user, session, head, turn, (message,))
        yield query("start_turn", turn=turn, message=message.id, start=head.head + 1)
        yield query("count_turn", session=session)
        yield query("open_stream", turn=turn, session=session, attempt=1)
        yield from record(
            session,
            head.revision,
            TurnUpdated(turn, "running"),
            *events,
            AttemptBegan(turn, 1, 1),
        )
        return Begun(head.revision, 1, 1)

    @writing
    def resume(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Begun]:
        """Carry on with a parked turn, or with one that stopped short, in a new attempt."""
        head = yield from enter(self._user, session, token)
        row = yield from _turn_in(self._user, session, turn)
        if row.state == "queued" or row.start is None:
            raise Conflict(f"Turn {turn} has not started; start it instead.")
        check_turn_move(turn, row.state, "running")
        if row.undone is not None:
            raise Conflict(f"Turn {turn} was undone and can't go on.")
        if row.state != "waiting":
            yield from refuse_while_live(session)
        yield query("set_turn_state", turn=turn, state="running", reason=None, ended=False)
        attempt = yield from begin_attempt(session, turn, steps=0)
        yield from record(session, head.revision, TurnUpdated(turn, "running"), attempt)
        return Begun(head.revision, attempt.step, attempt.attempt)

    @writing
    def retry_step(self, session: SessionId, token: Token, turn: TurnId) -> Operation[Begun]:
        """Open another attempt of the current step; the deltas of the one before are dropped."""
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        attempt = yield from begin_attempt(session, turn, steps=0)
        yield from record(session, head.revision, attempt)
        return Begun(head.revision, attempt.step, attempt.attempt)

    @writing
    def append(
        self, session: SessionId, token: Token, turn: TurnId, step: Step
    ) -> Operation[Written]:
        """Write a finished step in place of its deltas."""
        if not step.messages:
            raise InvalidInput("A step without a message is nothing to write.")
        if first := (yield from already_written(self._user, session, step.messages)):
            return first
        head = yield from enter(self._user, session, token)
        yield from self._running(session, turn)
        events = yield from place(self._user, session, head, turn, step.messages)
        events += yield from self._merge(session, step)
        yield from add_usage(self._user, session, turn, step.usage)
        if step.more:
            events.append((yield from begin_attempt(session, turn, steps=1)))
        else:
            yield query("close_stream", turn=turn)
        yield from record(session, head.revision, *events)
        return _written(head, step.messages)

    def _merge(self, session: SessionId, step: Step) -> Operation[list[Event]]:
        """A steer's words stand among the step's messages, as its last user messages in order."""
        words = [draft for draft in step.messages if draft.role == "user"]
        if len(words) != len(step.steers):
            raise InvalidInput("Each steer that a step takes in comes with one user message.")
        for steer, draft in zip(step.steers, words, strict=True):
            row = yield from _turn_in(self._user, session, steer)
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
        rows = yield query("find_tool_call", session=session, call=call, turn=turn)
        before = maybe(rows, _ToolCallState)
        if before is None:
            raise NotFound("tool call", call)
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
        row = yield from _turn_in(self._user, session, turn)
        if row.state == end.state:
            first = yield from already_written(self._user, session, end.messages)
            return first or (yield from standing(session))
        head = yield from enter(self._user, session, token)
        check_turn_move(turn, row.state, end.state)
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
                turn=turn,
                body=entry.body,
            )
        if end.release:
            yield query("release_session_lease", session=session, token=token)
        yield from record(session, head.revision, *events, TurnUpdated(turn, end.state, end.reason))
        return _written(head, end.messages)

    def _running(self, session: SessionId, turn: TurnId) -> Operation[_TurnRow]:
        row = yield from _turn_in(self._user, session, turn)
        if row.state != "running":
            raise Conflict(f"Turn {turn} is {row.state}, not running. Nothing was written.")
        return row


def _written(head: Head, drafts: tuple[Draft, ...]) -> Written:
    return Written(head.revision, head.epoch, head.head + len(drafts))
