"""The journal of one running turn: what is written goes to the store, and to whoever watches."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from roost.core.approvals import Approval, Question, Rule
from roost.core.compaction import Compaction
from roost.core.errors import BytesMissing, Conflict, NotFound
from roost.core.events import Delta
from roost.core.ids import BlobId, ToolCallId, UserId
from roost.core.messages import Draft, Message, Part, sent_files
from roost.core.turns import SUBAGENT_ROUTE, Begun, Step, ToolCall, ToolCallState, Turn, TurnEnd
from roost.runtime.attempt import Attempt
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.delivery import (
    Delivery,
    files_of,
    questions_of,
    said_in,
    with_delivery,
)
from roost.runtime.hub import Hub
from roost.runtime.persistence import LONG_WAITS, persisted
from roost.runtime.rounds import Rounds
from roost.store.leases import Lease
from roost.store.store import UserStore
from roost.store.writes import Written

log = structlog.stdlib.get_logger("roost.runtime")

T = TypeVar("T")


class Desk(NamedTuple):
    """What a journal writes to."""

    store: UserStore
    hub: Hub
    checkpoints: Checkpoints
    delivery: Delivery
    rounds: Rounds


class TurnJournal:
    """See `agent.journal.Journal`. Once closed it takes nothing more: a tool that would not stop
    has nowhere to write."""

    def __init__(
        self, desk: Desk, user: UserId, lease: Lease, turn: Turn, *, approval_ttl: float
    ) -> None:
        self.user = user
        self.turn = turn
        self._store, self._hub, self._checkpoints, self._delivery, self._rounds = desk
        self._token = lease.token
        self._approval_ttl = approval_ttl
        self._attempt: Attempt | None = None
        self._said = ""
        """By the last step: a question that follows from it goes out with these words."""
        self._before = ""
        self._pending: set[asyncio.Task[object]] = set()
        self._closed = False

    @property
    def begun(self) -> bool:
        return self._attempt is not None

    @property
    def streamed(self) -> tuple[Delta, ...]:
        """What the attempt under way has shown so far."""
        found = self._attempt.since(0) if self._attempt is not None else None
        return () if found is None else found.deltas

    # Beginning and end.

    async def start(self, message: Draft) -> Begun:
        turns, turn = self._store.turns, self.turn
        write = partial(turns.start, turn.session, self._token, turn.id, message)
        return await self._whole(self._begun(write))

    async def resume(self, messages: tuple[Draft, ...], *, automatic: bool) -> Begun:
        turn = self.turn
        write = partial(
            self._store.turns.resume,
            turn.session,
            self._token,
            turn.id,
            after=turn.attempt,
            messages=messages,
            automatic=automatic,
        )
        return await self._whole(self._begun(write))

    async def settle(self) -> None:
        """Take nothing more from the agent, and wait for what it was writing."""
        self._closed = True
        if self._pending:
            await asyncio.wait(self._pending)

    async def end(self, end: TurnEnd) -> Written:
        await self.settle()
        turns, turn = self._store.turns, self.turn
        watching = await self._watching()
        end = with_delivery(turn, end, self._number, before=self._before, watching=watching)
        write = partial(turns.end, turn.session, self._token, turn.id, end)
        written = await persisted(write, LONG_WAITS)
        self.abandon()
        self._delivery.wrote(end.outbox)
        self._hub.changed(turn.session)
        return written

    async def _watching(self) -> Sequence[str]:
        """Other channels where this session is current; where no channel runs, nobody looks."""
        turn = self.turn
        if not self._delivery.has_channels or turn.route == SUBAGENT_ROUTE:
            return ()
        routes = await persisted(partial(self._store.sessions.channels, turn.session))
        return [route for route in routes if route != turn.route]

    def goes_on_after(self, said: str) -> None:
        """The answer broke off after these words: a channel is given it as a whole."""
        self._before = said

    @property
    def _number(self) -> int:
        return self.turn.attempt if self._attempt is None else self._attempt.attempt

    def abandon(self) -> None:
        """The session is no longer ours."""
        self._closed = True
        if self._attempt is not None:
            self._checkpoints.forget(self._attempt)
            self._hub.over(self._attempt)
            self._attempt = None

    # What the agent does.

    def emit(self, delta: Delta) -> None:
        attempt = self._attempt
        if attempt is not None and not self._closed:
            attempt.add(delta)
            self._hub.streamed(attempt)
            self._checkpoints.dirty()

    async def record(self, step: Step) -> Begun:
        self._check_open()
        turns, turn = self._store.turns, self.turn
        self._said, self._before = self._before + said_in(step.messages), ""
        write = partial(turns.append, turn.session, self._token, turn.id, step)
        return await self._whole(self._begun(write))

    async def retry(self) -> None:
        self._check_open()
        assert self._attempt is not None, "a turn that runs has an attempt"
        turns, turn, after = self._store.turns, self.turn, self._attempt.attempt
        write = partial(turns.retry_step, turn.session, self._token, turn.id, after=after)
        await self._whole(self._begun(write))

    async def move(
        self, call: ToolCallId, state: ToolCallState, result: tuple[Part, ...] | None = None
    ) -> None:
        self._check_open()
        await self._whole(self._move(call, state, result))
        self._hub.changed(self.turn.session)

    async def _move(
        self, call: ToolCallId, state: ToolCallState, result: tuple[Part, ...] | None
    ) -> None:
        turns, turn = self._store.turns, self.turn
        watching = await self._watching() if sent_files(result or ()) else ()
        files = files_of(turn, call, result or (), watching=watching)
        move = partial(turns.set_tool_call, turn.session, self._token, turn.id, call, state)
        await persisted(partial(move, result, outbox=files))
        self._delivery.wrote(files)

    async def park(self, questions: tuple[Question, ...]) -> None:
        self._check_open()
        turns, turn, ttl = self._store.turns, self.turn, self._approval_ttl
        asks = questions_of(turn, questions, self._said)
        write = partial(
            turns.park, turn.session, self._token, turn.id, questions, ttl=ttl, outbox=asks
        )
        await self._whole(persisted(write))
        self.abandon()
        self._delivery.wrote(asks)
        self._hub.changed(turn.session)

    async def compact(self, compaction: Compaction) -> tuple[Sequence[Message], int, int]:
        self._check_open()
        history, session = self._store.history, self.turn.session
        write = partial(history.compact, session, self._token, compaction)
        written = await self._whole(persisted(write))
        self._rounds.end(session)
        self._hub.changed(session)
        found = await persisted(partial(history.load, session))
        return found.messages, written.epoch, written.head

    async def steers(self) -> Sequence[Turn]:
        queue = await persisted(partial(self._store.queue.of, self.turn.session))
        return [turn for turn in queue if turn.steer]

    async def open_calls(self) -> Sequence[ToolCall]:
        if self.turn.state == "queued":
            return ()  # it has only just begun
        calls = await persisted(partial(self._store.turns.tool_calls, self.turn.id))
        return [call for call in calls if is_open(call)]

    async def approvals(self) -> Mapping[ToolCallId, Approval]:
        found = await persisted(partial(self._store.approvals.of, self.turn.id))
        return {approval.call: approval for approval in found}

    async def rules(self) -> Sequence[Rule]:
        return await persisted(partial(self._store.rules.of, self.turn.session))

    async def keep(self, data: bytes, media_type: str) -> BlobId:
        return (await self._store.blobs.put_bytes(data, media_type)).id

    async def read(self, blobs: Sequence[BlobId]) -> Mapping[BlobId, bytes]:
        found: dict[BlobId, bytes] = {}
        for blob in blobs:
            try:
                found[blob] = await self._store.blobs.read_bytes(blob)
            except (BytesMissing, NotFound):
                log.warning("an attachment is lost; the model is told so", blob=blob)
        return found

    # Attempts.

    async def _begun(self, write: Callable[[], Awaitable[Begun]]) -> Begun:
        begun = await persisted(write)
        if self._attempt is not None:
            self._checkpoints.forget(self._attempt)
        turn = self.turn
        self._attempt = Attempt(turn.session, turn.id, begun.attempt, self._token)
        self._checkpoints.follow(self._attempt)
        self._hub.begin(self._attempt)
        self._hub.changed(turn.session)
        return begun

    async def _whole(self, write: Coroutine[object, object, T]) -> T:
        """A write that has begun is finished, also if the turn is told to stop meanwhile: what is
        known here and what is stored never part."""
        task = asyncio.create_task(write)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # what became of it, whoever cancelled looks for in the store
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise Conflict(f"Turn {self.turn.id} has ended. Nothing was written.")


def is_open(call: ToolCall) -> bool:
    """Its result does not stand in the history yet."""
    return call.result is not None or call.state in ("requested", "waiting", "running")
