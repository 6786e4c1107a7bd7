"""Turns that stream, told to the hub as the journal does it, and a reader that keeps account."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

import msgspec

from roost.core.events import (
    AttemptBegan,
    Changed,
    Cursor,
    Delta,
    HistoryRewritten,
    Noticed,
    ReasoningDelta,
    Rewound,
    SessionEvent,
    Snapshot,
    Streamed,
    TextDelta,
    TurnUpdated,
)
from roost.core.ids import MessageId, SessionId, TurnId, UserId, new_message_id
from roost.core.messages import Draft, Message
from roost.core.partial import partial_parts
from roost.core.turns import Begun, EndState, Step, TurnEnd, TurnState
from roost.runtime.attempt import Attempt
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.hub import Hub
from roost.store.leases import Lease
from roost.store.sessions import SessionPatch
from roost.store.watching import Changes
from tests.store_driver import Driver, draft

T = TypeVar("T")

DEADLINE = 60


class Watchable(Protocol):
    def since(self, session: SessionId, revision: int) -> Awaitable[Changes]: ...
    def snapshot(self, session: SessionId) -> Awaitable[Snapshot]: ...
    @property
    def user(self) -> UserId: ...


class GatedLog:
    """A session's log behind a gate: while it is shut, what was read is slow to arrive; and the
    next reads may fail."""

    def __init__(self, history: Watchable) -> None:
        self._history = history
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.reads = 0
        self.failures: list[Exception] = []
        self.swept = False

    def shut(self) -> None:
        self.gate.clear()
        self.asked.clear()

    async def since(self, session: SessionId, revision: int) -> Changes:
        changes = await self._pass(self._history.since(session, revision))
        return msgspec.structs.replace(changes, complete=changes.complete and not self.swept)

    async def snapshot(self, session: SessionId) -> Snapshot:
        return await self._pass(self._history.snapshot(session))

    @property
    def user(self) -> UserId:
        return self._history.user

    async def _pass(self, reading: Awaitable[T]) -> T:
        self.reads += 1
        try:
            return await reading
        finally:
            self.asked.set()
            if self.failures:
                raise self.failures.pop(0)
            await self.gate.wait()


class GatedUser:
    def __init__(self, history: GatedLog) -> None:
        self.history = history


class GatedStore:
    """As much of a store as the hub sees, with a gate before each user's log."""

    def __init__(self, *users: Driver) -> None:
        self.logs = {user.user.id: GatedLog(user.history) for user in users}

    def of(self, user: UserId) -> GatedUser:
        return GatedUser(self.logs[user])


class Stage:
    """One session and its turns, one after the other."""

    def __init__(
        self, user: Driver, hub: Hub, session: SessionId, checkpoints: Checkpoints | None = None
    ) -> None:
        self.user = user
        self.hub = hub
        self.session = session
        self.checkpoints = checkpoints
        self.lease: Lease | None = None
        self.turn: TurnId | None = None
        self.attempt: Attempt | None = None

    async def submit(self, words: str = "Hello") -> None:
        await self.user.submit(self.session, words)
        self.hub.changed(self.session)

    async def start(self, words: str = "Hello") -> "Stage":
        """Submit a message, and start the turn that has waited longest."""
        await self.submit(words)
        turn = (await self.user.queue.of(self.session))[0]
        self.turn = turn.id
        lease = self.lease = await self.user.claim(self.session)
        message = Draft(new_message_id(), "user", turn.parts)
        self._begin(await self.user.turns.start(self.session, lease.token, turn.id, message))
        return self

    def stream(self, *deltas: Delta | str) -> None:
        attempt = self.live
        for delta in deltas:
            attempt.add(TextDelta(delta) if isinstance(delta, str) else delta)
            self.hub.streamed(attempt)
            if self.checkpoints is not None:
                self.checkpoints.dirty()

    async def step(self, words: str = "Done.", *, unfinished: bool = False) -> None:
        step = Step(messages=(draft(words),), unfinished=unfinished)
        turns, attempt = self.user.turns, self.live
        self._begin(await turns.append(self.session, attempt.token, attempt.turn, step))

    async def retry(self) -> None:
        turns, at = self.user.turns, self.live
        self._begin(await turns.retry_step(self.session, at.token, at.turn, after=at.attempt))

    async def end(self, words: str | None = "Done.", state: EndState = "completed") -> None:
        await self._end(TurnEnd(state=state, messages=() if words is None else (draft(words),)))

    async def restart(self, hub: Hub) -> None:
        """Go on with another hub, as after a crash: a turn under way is ended with what is durable
        of it."""
        self.hub = hub
        if self.attempt is not None:
            stored = await self.user.turns.deltas(self.attempt.turn)
            await self._break_off("interrupted", [delta for run in stored for delta in run.deltas])

    async def break_off(self, state: EndState = "cancelled") -> None:
        """End with what was streamed so far."""
        await self._break_off(state, self.live.deltas())

    async def _break_off(self, state: EndState, streamed: Iterable[Delta]) -> None:
        parts = partial_parts(streamed)
        kept = (Draft(new_message_id(), "assistant", parts, partial=True),) if parts else ()
        await self._end(TurnEnd(state=state, messages=kept))

    async def rename(self, title: str = "A title") -> None:
        await self.user.sessions.update(self.session, SessionPatch(title=title))
        self.hub.changed(self.session)

    @property
    def live(self) -> Attempt:
        assert self.attempt is not None, "no turn is under way"
        return self.attempt

    @property
    def last_seq(self) -> int:
        return self.attempt.last_seq if self.attempt is not None else 0

    def _begin(self, begun: Begun) -> None:
        assert self.turn is not None
        assert self.lease is not None
        self._leave()
        attempt = self.attempt = Attempt(self.session, self.turn, begun.attempt, self.lease.token)
        if self.checkpoints is not None:
            self.checkpoints.follow(attempt)
        self.hub.begin(attempt)
        self.hub.changed(self.session)

    async def _end(self, end: TurnEnd) -> None:
        at = self.live
        await self.user.turns.end(self.session, at.token, at.turn, end)
        self._leave()
        self.attempt = None
        self.hub.changed(self.session)

    def _leave(self) -> None:
        if self.attempt is not None:
            if self.checkpoints is not None:
                self.checkpoints.forget(self.attempt)
            self.hub.over(self.attempt)


class View:
    """What a client makes of the events it gets; it minds their order."""

    def __init__(self) -> None:
        self.events: list[SessionEvent] = []
        self.cursor = Cursor(0, 0)
        self.messages: dict[MessageId, Message] = {}
        self.states: dict[TurnId, TurnState] = {}
        self.title: str | None = None
        self.streaming: tuple[TurnId, int] | None = None
        self.text = ""
        self.seq = 0
        self.rewritten = False

    def take(self, event: SessionEvent) -> None:
        self.events.append(event)
        match event:
            case Snapshot():
                self._anew(event)
            case Changed():
                self._change(event)
            case Streamed():
                self._stream(event)
            case Rewound():
                assert (event.turn, event.attempt) == self.streaming
                assert event.seq == 0
                self._stop()
            case Noticed():
                pass
        self.cursor = event.cursor

    def _anew(self, event: Snapshot) -> None:
        self.messages = {message.id: message for message in event.messages}
        self.states = {turn.id: turn.state for turn in event.queue}
        self.title = event.session.title
        self.rewritten = False
        self._stop()
        if event.turn is not None:
            self.states[event.turn.id] = event.turn.state
        if event.cursor.turn is not None:
            self.streaming = (event.cursor.turn, event.cursor.attempt)
        for deltas in event.deltas:
            assert deltas.first_seq == self.seq + 1
            self._show(deltas.last_seq, deltas.deltas)
        assert event.cursor.seq == self.seq

    def _change(self, event: Changed) -> None:
        assert event.cursor.revision == self.cursor.revision + 1, "a gap, or a repeat"
        self.messages |= {message.id: message for message in event.messages}
        if event.session is not None:
            self.title = event.session.title
        for one in event.events:
            if isinstance(one, TurnUpdated):
                self.states[one.turn] = one.state
                if self.streaming and one.turn == self.streaming[0] and one.state != "running":
                    self._close(event)
            elif isinstance(one, AttemptBegan):
                self._close(event)
                self.streaming = (one.turn, one.attempt)
            elif isinstance(one, HistoryRewritten):
                self.rewritten = True

    def _close(self, event: Changed) -> None:
        """What was shown has a message in its place, or was withdrawn before."""
        assert not self.seq or any(message.role != "user" for message in event.messages)
        self._stop()

    def _stream(self, event: Streamed) -> None:
        assert (event.cursor.turn, event.cursor.attempt) == self.streaming
        assert event.deltas.first_seq == self.seq + 1, "a gap, or a repeat"
        assert event.cursor.seq == event.deltas.last_seq
        self._show(event.deltas.last_seq, event.deltas.deltas)

    def _show(self, last_seq: int, deltas: tuple[Delta, ...]) -> None:
        self.text += shown(deltas)
        self.seq = last_seq

    def _stop(self) -> None:
        self.streaming = None
        self.text = ""
        self.seq = 0


def shown(deltas: tuple[Delta, ...]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta | ReasoningDelta))


async def next_event(events: AsyncIterator[SessionEvent]) -> SessionEvent:
    async with asyncio.timeout(DEADLINE):
        return await anext(events)


async def follow(
    view: View, events: AsyncIterator[SessionEvent], until: Callable[[View], bool]
) -> View:
    while not until(view):
        view.take(await next_event(events))
    return view


async def catch_up(view: View, events: AsyncIterator[SessionEvent], stage: Stage) -> View:
    """Take events until nothing is lacking: every revision, and all that streams."""
    revision = (await stage.user.sessions.get(stage.session)).revision
    attempt = stage.attempt
    streaming = None if attempt is None else (attempt.turn, attempt.attempt)
    return await follow(
        view,
        events,
        lambda view: (
            bool(view.events)
            and view.cursor.revision == revision
            and view.streaming == streaming
            and view.seq >= stage.last_seq
        ),
    )


def kinds(view: View) -> list[str]:
    return [type(event).__name__ for event in view.events]


def same_events(one: View, other: View) -> bool:
    """Whether two were told the same, however it was merged."""
    return _durable(one) == _durable(other) and (one.text, one.seq) == (other.text, other.seq)


def _durable(view: View) -> list[SessionEvent]:
    return [
        msgspec.structs.replace(event, cursor=Cursor(event.cursor.epoch, event.cursor.revision))
        for event in view.events
        if isinstance(event, Changed)
    ]
