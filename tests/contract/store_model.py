"""A plain-Python model of a session in the store: what each operation does and refuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from roost.core.approvals import ApprovalState, Decision, Question
from roost.core.errors import Conflict, EpochPassed, Fenced, InvalidInput, NotFound, QueueChanged
from roost.core.ids import ApprovalId, MessageId, SessionId, ToolCallId, TurnId
from roost.core.messages import Draft, ToolCallPart, plain_text
from roost.core.sessions import SessionState
from roost.core.turns import (
    EndState,
    ToolCallState,
    TurnState,
    check_tool_call_move,
    check_turn_move,
)

TTL = 30_000
STIR = 30_000
ACTIVITY = 1_000


@dataclass
class ModelMessage:
    id: MessageId
    position: int
    revision: int
    born: int
    turn: TurnId | None
    gone: int | None = None


@dataclass
class ModelQuestion:
    until: int
    state: ApprovalState = "pending"


@dataclass
class ModelTurn:
    """`streamed` is None while no attempt is open."""

    id: TurnId
    state: TurnState = "queued"
    words: str = "Hello"
    steer: bool = False
    message: MessageId | None = None
    start: int | None = None
    step: int = 0
    attempt: int = 0
    undone: int | None = None
    branched: bool = False
    streamed: str | None = None
    calls: dict[ToolCallId, ToolCallState] = field(default_factory=dict[ToolCallId, ToolCallState])
    questions: dict[ApprovalId, ModelQuestion] = field(
        default_factory=dict[ApprovalId, ModelQuestion]
    )

    @property
    def live(self) -> bool:
        return self.state in ("running", "waiting")

    def open_attempt(self, *, steps: int) -> None:
        self.step, self.attempt, self.streamed = self.step + steps, self.attempt + 1, ""


@dataclass
class ModelLease:
    token: int = 0
    holder: str | None = None
    until: int = 0


@dataclass
class ModelSession:
    """Every method with a token refuses what the store refuses, before it changes anything."""

    id: SessionId
    now: int
    lease: ModelLease = field(default_factory=ModelLease)
    title: str | None = None
    titled_by_person: bool = False
    revision: int = 1
    epoch: int = 0
    head: int = 0
    answered: int = 0
    tokens_used: int = 0
    active_at: int = 0
    deleted: bool = False
    ended: bool = False
    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    turns: dict[TurnId, ModelTurn] = field(default_factory=dict[TurnId, ModelTurn])
    queue: list[TurnId] = field(default_factory=list[TurnId])
    epochs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    restored: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.active_at = self.now

    # What can be read.

    @property
    def token(self) -> int:
        return self.lease.token

    @property
    def live(self) -> list[ModelMessage]:
        found = [message for message in self.messages if message.gone is None]
        return sorted(found, key=lambda message: message.position)

    @property
    def counted_turns(self) -> int:
        return len([t for t in self.turns.values() if t.start is not None and t.undone is None])

    @property
    def live_turn(self) -> ModelTurn | None:
        return next((turn for turn in self.turns.values() if turn.live), None)

    @property
    def newest(self) -> ModelTurn | None:
        """The last that began and was not taken back."""
        begun = [turn for turn in self.turns.values() if turn.start and turn.undone is None]
        return max(begun, key=lambda turn: turn.start or 0, default=None)

    def is_gone(self, turn: ModelTurn) -> bool:
        """Whether its first message left the history other than by a compaction, or what a
        compaction made of it did by a clear."""
        first = next((each for each in self.messages if each.id == turn.message), None)
        if first and first.gone and self.epochs[first.gone - 1][0] != "compaction":
            return True
        begun = first.born if first else 0
        return any(
            kind == "clear" and epoch > begun and epoch not in self.restored
            for epoch, (kind, _) in enumerate(self.epochs, 1)
        )

    @property
    def latest(self) -> ModelTurn | None:
        """The turn to continue, retry or undo."""
        return self.newest if self.newest and not self.is_gone(self.newest) else None

    @property
    def continuable(self) -> TurnId | None:
        """The turn that may go on by itself."""
        turn = self.latest
        if turn is None or turn.state != "interrupted" or turn.branched:
            return None
        in_doubt = "unknown" in turn.calls.values()
        return None if self.deleted or self.ended or in_doubt else turn.id

    @property
    def holder(self) -> str | None:
        return self.lease.holder if self.lease.until > self.now else None

    @property
    def state(self) -> SessionState:
        if (turn := self.live_turn) and turn.state == "waiting":
            return "waiting"
        if turn and self.holder:
            return "running"
        return "queued" if self.queue else "idle"

    # Steps of a write.

    def turn(self, turn: TurnId) -> ModelTurn:
        if self.deleted:
            raise NotFound("turn", turn)
        return self.turns[turn]

    def check(self, token: int | None) -> None:
        if self.deleted:
            raise NotFound("session", self.id)
        if token is not None and token != self.token:
            raise Fenced(session=self.id, token=token)

    def enter(self, *, active: bool = True) -> None:
        self.revision += 1
        if active and self.now - self.active_at >= ACTIVITY:
            self.active_at = self.now

    def place(self, turn: TurnId | None, drafts: Sequence[Draft]) -> None:
        for message in drafts:
            self.head += 1
            self.messages.append(
                ModelMessage(message.id, self.head, self.revision, self.epoch, turn)
            )
            for part in message.parts:
                if turn is not None and isinstance(part, ToolCallPart):
                    self.turns[turn].calls[part.call] = "requested"
        if any(message.role == "assistant" for message in drafts):
            self.answered = self.revision

    def refuse_while_live(self) -> None:
        if self.live_turn:
            raise Conflict("a turn is under way")

    def running(self, turn: TurnId) -> ModelTurn:
        found = self.turn(turn)
        if found.state != "running":
            raise Conflict("not running")
        return found

    def release_lease(self) -> None:
        self.lease.holder, self.lease.until = None, self.now

    # Queue.

    def submit(self, turn: TurnId, *, front: bool = False, steer: bool = False) -> None:
        self.check(None)
        self.enter()
        self.turns[turn] = ModelTurn(turn, steer=steer)
        self.queue.insert(0 if front else len(self.queue), turn)
        self.ended = False

    def edit_queued(self, turn: TurnId, words: str) -> None:
        if self.turn(turn).state != "queued":
            raise Conflict("not queued")
        self.enter()
        self.turns[turn].words = words

    def remove_queued(self, turn: TurnId) -> None:
        if self.turn(turn).state != "queued":
            raise Conflict("not queued")
        self.enter(active=False)
        self.turns[turn].state = "removed"
        self.queue.remove(turn)

    def still_says(self, turn: ModelTurn, message: Draft) -> None:
        if turn.state != "queued" or plain_text(message.parts) != turn.words:
            raise QueueChanged("edited or removed meanwhile")

    # Turns.

    def start(self, token: int, turn: TurnId, message: Draft) -> None:
        found = self.turn(turn)
        self.check(token)
        self.still_says(found, message)
        if self.live_turn or self.queue[0] != turn:
            raise Conflict("not the next to run")
        self.enter()
        self.place(turn, [message])
        self.queue.remove(turn)
        found.state, found.message, found.start = "running", message.id, self.head
        found.open_attempt(steps=1)

    def resume(self, token: int, turn: TurnId, after: int, drafts: Sequence[Draft]) -> None:
        self.check(token)
        found = self.turn(turn)
        if found.state == "running" and found.attempt == after + 1:
            return
        if found.state == "queued" or found.start is None or found.undone is not None:
            raise Conflict("can't go on")
        check_turn_move(turn, found.state, "running")
        if self.is_gone(found):
            raise Conflict("no longer part of the history")
        if found is not self.newest:
            raise Conflict("gone on since")
        if found.state != "waiting":
            self.refuse_while_live()
        elif any(each.state == "pending" for each in found.questions.values()):
            raise Conflict("not answered yet")
        if found.attempt != after:
            raise Conflict("another attempt")
        self.enter()
        self.place(turn, drafts)
        found.state = "running"
        # One that failed before it could start begins with its first step.
        found.open_attempt(steps=0 if found.step else 1)

    def retry_step(self, token: int, turn: TurnId, after: int) -> None:
        self.check(token)
        found = self.running(turn)
        if found.attempt == after + 1:
            return
        if found.attempt != after:
            raise Conflict("another attempt")
        self.enter()
        found.open_attempt(steps=0)

    def append(
        self,
        token: int,
        turn: TurnId,
        drafts: Sequence[Draft],
        steer: TurnId | None,
        unfinished: bool,
    ) -> None:
        self.check(token)
        found = self.running(turn)
        if steer is not None:
            self.still_says(self.turns[steer], drafts[-1])
            if not self.turns[steer].steer:
                raise QueueChanged("waits for its own turn")
        self.enter()
        self.place(turn, drafts)
        self.tokens_used += 1
        if steer is not None:
            self.queue.remove(steer)
            self.turns[steer].state, self.turns[steer].message = "merged", drafts[-1].id
        found.open_attempt(steps=0 if unfinished else 1)

    def set_tool_call(
        self, token: int, turn: TurnId, call: ToolCallId, state: ToolCallState
    ) -> None:
        found = self.turn(turn)
        self.check(token)
        if found.calls[call] == state:
            return
        self.running(turn)
        check_tool_call_move(call, found.calls[call], state)
        self.enter()
        found.calls[call] = state

    def park(self, token: int, turn: TurnId, questions: Sequence[Question], until: int) -> None:
        self.check(token)
        found = self.running(turn)
        for question in questions:
            if found.calls[question.call] != "waiting":
                check_tool_call_move(question.call, found.calls[question.call], "waiting")
        self.enter()
        for question in questions:
            found.calls[question.call] = "waiting"
            found.questions[question.id] = ModelQuestion(until)
        found.state, found.streamed = "waiting", None
        self.release_lease()

    def answer(self, turn: TurnId, id: ApprovalId, decision: Decision) -> None:
        question = self.turn(turn).questions[id]
        if decision == "answered":
            raise InvalidInput("a yes or a no")
        if question.state == decision:
            return
        if question.state != "pending" or question.until <= self.now:
            raise Conflict("settled")
        self.enter()
        question.state = decision

    def expire_questions(self) -> bool:
        """Whether there were any to settle."""
        questions = [each for turn in self.turns.values() for each in turn.questions.values()]
        due = [each for each in questions if each.state == "pending" and each.until <= self.now]
        if self.deleted or not due:
            return False
        self.enter(active=False)
        for question in due:
            question.state = "expired"
        return True

    @property
    def work(self) -> ModelTurn | None:
        """The turn that whoever claims the session is to carry on with."""
        if self.deleted or self.holder:
            return None
        if (turn := self.live_turn) is None:
            return self.turns[self.queue[0]] if self.queue else None
        pending = any(each.state == "pending" for each in turn.questions.values())
        return turn if turn.state == "waiting" and not pending else None

    def end(
        self,
        token: int,
        turn: TurnId,
        state: EndState,
        drafts: Sequence[Draft],
        calls: Mapping[ToolCallId, ToolCallState],
        release: bool,
    ) -> None:
        found = self.turn(turn)
        if found.state == state:
            if drafts and drafts[-1].id in [message.id for message in self.messages]:
                return
            self.check(token)
            if drafts:
                raise Conflict("ended with another answer")
            return
        self.check(token)
        if found.start is None and drafts:
            self.still_says(found, drafts[0])
        check_turn_move(turn, found.state, state)
        for call, after in calls.items():
            if found.calls[call] != after:
                check_tool_call_move(call, found.calls[call], after)
        self.enter()
        if turn in self.queue:
            self.queue.remove(turn)
        if found.start is None and drafts:
            found.start, found.message = self.head + 1, drafts[0].id
        self.place(turn, drafts)
        found.state, found.streamed = state, None
        for call, after in calls.items():
            found.calls[call] = after
        for question in found.questions.values():
            if question.state == "pending":
                question.state = "void"
        if release:
            self.release_lease()

    def checkpoint(self, token: int, turn: TurnId, attempt: int, first: int, words: str) -> int:
        """How far the turn is stored; 0 if it may not write any more."""
        found = self.turns[turn]
        if (
            self.deleted
            or found.streamed is None
            or (found.attempt, self.token)
            != (
                attempt,
                token,
            )
        ):
            return 0
        if first == len(found.streamed) + 1:
            found.streamed += words
        return len(found.streamed)

    # Rewrites.

    def open_epoch(self, kind: str) -> None:
        self.epoch += 1
        self.epochs.append((kind, self.revision))

    def note(self, token: int, note: Draft) -> None:
        self.check(token)
        self.refuse_while_live()
        self.enter(active=False)
        self.place(None, [note])

    def undo(self, token: int, turn: TurnId, *, kind: str = "undo") -> None:
        self.check(token)
        self.refuse_while_live()
        message = self.turn(turn).message
        if message is None:
            raise NotFound("started turn", turn)
        (first,) = [each for each in self.messages if each.id == message]
        if first.gone is not None:
            raise Conflict("no longer part of the history")
        self.enter()
        self.open_epoch(kind)
        for each in self.live:
            if each.position >= first.position:
                each.gone = self.epoch
        for each in self.turns.values():
            if each.start is not None and each.start >= first.position and each.undone is None:
                each.undone = self.epoch

    def edit(self, token: int, turn: TurnId, new: TurnId, words: str) -> None:
        self.undo(token, turn, kind="edit")
        self.turns[new] = ModelTurn(new, words=words)
        self.queue.insert(0, new)
        self.ended = False

    def clear(self, token: int) -> None:
        self.check(token)
        if not self.live:
            return
        self.refuse_while_live()
        self.enter()
        self.open_epoch("clear")
        for each in self.live:
            each.gone = self.epoch

    def compact(self, token: int, epoch: int, replaced: set[MessageId], note: Draft) -> None:
        """The note takes the place of the first replaced message."""
        self.check(token)
        if epoch != self.epoch:
            raise EpochPassed(expected=epoch, actual=self.epoch)
        self.enter(active=False)
        self.open_epoch("compaction")
        gone = [each for each in self.live if each.id in replaced]
        for each in gone:
            each.gone = self.epoch
        self.messages.append(
            ModelMessage(note.id, gone[0].position, self.revision, self.epoch, None)
        )

    def restore(self, token: int) -> None:
        self.check(token)
        self.refuse_while_live()
        taken_back = self.to_take_back()
        revision = self.epochs[taken_back - 1][1]
        self.restored.add(taken_back)
        self.enter()
        self.open_epoch("restore")
        for each in self.messages:
            if each.gone is None and each.revision == revision:
                each.gone = self.epoch
            elif each.gone == taken_back:
                each.gone = None
        for turn in self.turns.values():
            if turn.undone == taken_back:
                turn.undone = None

    def to_take_back(self) -> int:
        kind, revision = self.epochs[-1] if self.epochs else ("none", 0)
        if kind in ("undo", "clear"):
            if any(each.revision > revision for each in self.live):
                raise Conflict("the conversation has gone on")
            return self.epoch
        for epoch, (kind, revision) in reversed([*enumerate(self.epochs, 1)]):
            written = any(each.revision == revision for each in self.live)
            in_force = epoch == self.epoch or written
            if kind == "compaction" and epoch not in self.restored and in_force:
                return epoch
        raise Conflict("nothing to take back")

    # The session itself.

    def rename(self, title: str) -> None:
        self.check(None)
        self.enter(active=False)
        self.title, self.titled_by_person = title, True

    def suggest_title(self, title: str) -> bool:
        self.check(None)
        if self.titled_by_person:
            return False
        if self.title == title:
            return True
        self.enter(active=False)
        self.title = title
        return True

    def end_session(self, token: int) -> None:
        self.check(token)
        self.enter(active=False)
        for turn in self.queue:
            self.turns[turn].state = "removed"
        self.queue.clear()
        self.ended = True

    def delete(self) -> None:
        self.check(None)
        self.deleted = True
        self.lease.token += 1
        self.release_lease()

    def claim(self, holder: str) -> int | None:
        """The token, or None if somebody else holds it."""
        if self.deleted:
            raise NotFound("session", self.id)
        if self.holder is None:
            self.lease = ModelLease(self.lease.token + 1, holder, self.now + TTL)
        return self.lease.token if self.holder == holder else None

    def renew(self, token: int, holder: str) -> bool:
        if (self.lease.token, self.lease.holder) != (token, holder):
            return False
        self.lease.until = self.now + TTL
        return True

    def tick_lease(self, token: int) -> bool:
        """Renew it in passing, and show that a turn runs; whether it is still held."""
        running = self.live_turn is not None and self.live_turn.state == "running"
        if token == self.token and running and not self.deleted:
            self.active_at = self.now if self.active_at < self.now - STIR else self.active_at
        if self.lease.token != token or self.lease.holder is None:
            return False
        if self.lease.until < self.now + TTL * 2 // 3:
            self.lease.until = self.now + TTL
        return True

    def void_lease(self) -> None:
        """What a restart does."""
        if self.lease.holder is not None:
            self.lease = ModelLease(self.lease.token + 1)
