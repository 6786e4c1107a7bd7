"""One turn, from its claim to its end: whatever happens, it is written down."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import cached_property, partial
from typing import Literal, NamedTuple

import msgspec
import structlog

from roost.agent.budget import Budget
from roost.agent.context import turn_context
from roost.agent.loop import Agent, Position
from roost.core.clock import Clock
from roost.core.config import LimitsConfig
from roost.core.errors import (
    Conflict,
    Fenced,
    NotFound,
    QueueChanged,
    RoostError,
    StoreError,
    reason_of,
)
from roost.core.happenings import TurnBegan
from roost.core.ids import new_message_id
from roost.core.messages import ContextPart, Draft, TextPart, plain_text
from roost.core.partial import partial_parts
from roost.core.turns import Begun, EndState, TurnEnd
from roost.runtime.agents import Agents
from roost.runtime.building import Builder, Plan
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.closing import closing, plainly
from roost.runtime.delivery import Delivery
from roost.runtime.hub import Hub
from roost.runtime.journal import Desk, TurnJournal
from roost.runtime.persistence import persisted
from roost.runtime.recall import Recall
from roost.runtime.rounds import Rounds
from roost.runtime.spending import budget_of
from roost.store.store import Store
from roost.store.work import Claimed
from roost.store.writes import Written

log = structlog.stdlib.get_logger("roost.turns")

Stop = Literal["cancel", "shutdown", "move", "lost"]
"""Why a turn is made to stop: a person asked, Roost stops, this server stops and another goes on
with it, or the session is someone else's."""

OBEY = 0.7
"""Seconds within which what a turn is doing has to end once it is told to. Then it is left alone,
and has no way to write any more."""

MOVED = "moved:"
"""How the reason of a turn begins that was handed over to another server."""
BROKE_OFF = "Your answer broke off here. Go on exactly where it stopped; repeat none of it."


class Engine(NamedTuple):
    """What turns are run with."""

    store: Store
    hub: Hub
    checkpoints: Checkpoints
    agents: Agents[Agent]
    builder: Builder
    clock: Clock
    limits: LimitsConfig
    approval_ttl: float
    recall: Recall
    delivery: Delivery
    rounds: Rounds


class TurnRun:
    """`began` is done once the turn runs, durably, or can't; `over` is set when nothing is left. A
    subagent's turn takes its `budget` from `within` its caller's."""

    def __init__(
        self,
        engine: Engine,
        claimed: Claimed,
        *,
        automatic: bool = False,
        within: Budget | None = None,
    ) -> None:
        self.claimed = claimed
        self.budget: Budget | None = None
        self._within = within
        self.over = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.began: asyncio.Future[None] = loop.create_future()
        self._engine = engine
        self._store = engine.store.of(claimed.session.user)
        self._automatic = automatic
        self.end: TurnEnd | None = None
        self.settled = False
        """Set once its end is durable, or it is parked: all that is left is to leave."""
        self._agent: Agent | None = None
        self._opening: tuple[Draft, ...] | None = None
        self._recalled: tuple[ContextPart, ...] = ()
        self._stopped: Stop | None = None
        self._work: asyncio.Task[TurnEnd | None] | None = None
        self._gave_up: asyncio.Future[None] = loop.create_future()
        self._journal = TurnJournal(
            Desk(self._store, engine.hub, engine.checkpoints, engine.delivery, engine.rounds),
            claimed.session.user,
            claimed.lease,
            claimed.turn,
            approval_ttl=engine.approval_ttl,
        )

    def stop(self, why: Stop) -> None:
        if self._stopped is None:
            self._stopped = why
            asyncio.get_running_loop().call_later(OBEY, self._give_up)
            if self._work is not None:
                self._work.cancel()

    def _give_up(self) -> None:
        if not self._gave_up.done():
            self._gave_up.set_result(None)

    async def run(self) -> TurnEnd | None:
        """How the turn ended; None if it is parked, or not ours to end."""
        async with AsyncExitStack() as stack:
            try:
                end = await self._supervise(asyncio.create_task(self._answer(stack)))
            except asyncio.CancelledError:
                if self._stopped is None:
                    raise  # not the turn is stopped, but all of Roost
                end = await self._stopped_short()
            except (Fenced, QueueChanged):
                raise
            except Exception as error:
                if isinstance(error, NotFound) and not await self._is_ours():
                    raise
                end = await self._failed(error)
            return await self._end(end)

    async def _is_ours(self) -> bool:
        """Whether the session is there and still held: then something else was not found."""
        try:
            found = await persisted(partial(self._store.sessions.get, self.claimed.session.id))
        except NotFound:
            return False
        return found.token == self.claimed.lease.token

    def leave(self) -> None:
        """Let go of everything, however it ended."""
        self._journal.abandon()
        self._give_up()
        self._refuse(Conflict("The turn could not go on: its session is someone else's now."))

    async def _supervise(self, work: asyncio.Task[TurnEnd | None]) -> TurnEnd | None:
        """The end that the work comes to; `CancelledError`, soon, if it is made to stop."""
        self._work = work
        if self._stopped is not None:
            work.cancel()
        await asyncio.wait([work, self._gave_up], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            log.error("a turn's work does not stop; it is left alone", turn=self.claimed.turn.id)
            self._engine.agents.drop(self.claimed.session.id)  # that work may still touch it
            work.add_done_callback(_hear)
            raise asyncio.CancelledError
        if work.cancelled() and self._stopped is None:
            raise RuntimeError("the work was cancelled, and not by whoever runs the turn")
        return work.result()

    # The work.

    async def _answer(self, stack: AsyncExitStack) -> TurnEnd | None:
        session, turn = self.claimed.session, self.claimed.turn
        self._engine.builder.observers.tell(TurnBegan(session.user, session.id, turn.id))
        agent = self._agent = await stack.enter_async_context(self._borrowed())
        await self._recall()
        # Read while the beginning is written: both stand before the first word.
        budget = asyncio.create_task(
            budget_of(self._store, self.claimed, self._engine.limits, within=self._within)
        )
        try:
            await self._catch_up(agent, await self._begin())
            self.budget = await budget
        finally:
            budget.cancel()
        return await agent.run(self._journal, self.budget)

    def _borrowed(self) -> AbstractAsyncContextManager[Agent]:
        session, lease = self.claimed.session, self.claimed.lease
        plan = self._plan
        build = partial(self._engine.builder.build, plan, session.user, session.id, lease.token)
        return self._engine.agents.borrowed(session.id, plan.signature, build)

    async def _recall(self) -> None:
        """What memory knows has to be there when the person's words take their place."""
        session, turn = self.claimed.session, self.claimed.turn
        if turn.state == "queued" and not self._brief():
            words = plain_text(turn.parts)
            self._recalled = await self._engine.recall.for_turn(session, turn.id, words)

    @cached_property
    def _plan(self) -> Plan:
        return self._engine.builder.plan(self.claimed.session)

    def _brief(self) -> bool:
        return self._plan.target.profile.brief

    async def _begin(self) -> Begun:
        """Let the turn run. Asked again, it does nothing more."""
        if self.claimed.turn.state == "queued":
            self._opening = self._opening or (self._message(),)
            begun = await self._journal.start(self._opening[0])
        else:
            if self._opening is None:
                self._opening = await self._note()
            begun = await self._journal.resume(self._opening, automatic=self._automatic)
        if not self.began.done():
            self.began.set_result(None)
        return begun

    def _message(self) -> Draft:
        """The person's words with what is true at this moment, as they will always be sent."""
        claimed, turn = self.claimed, self.claimed.turn
        if self._brief():
            return self._bare()
        context = turn_context(self._engine.clock.now(), claimed.time_zone, turn.route)
        return Draft(new_message_id(), "user", (*context, *self._recalled, *turn.parts))

    async def _note(self) -> tuple[Draft, ...]:
        """After half an answer the model has to be told that there is something to go on with."""
        session = self.claimed.session.id
        last = await persisted(partial(self._store.history.page, session, limit=1))
        if not last or last[-1].role != "assistant" or not last[-1].partial:
            return ()
        self._journal.goes_on_after(plain_text(last[-1].parts))
        return (Draft(new_message_id(), "note", (TextPart(BROKE_OFF, "continuation"),)),)

    async def _catch_up(self, agent: Agent, begun: Begun) -> None:
        """See that the agent holds all of the history, whoever wrote it (A14)."""
        now = Position(begun.epoch, begun.head)
        agent.remember(self._opening or (), now)
        if agent.position == now:
            return
        session, held = self.claimed.session.id, agent.position
        if held is not None and held.epoch == now.epoch and held.head < now.head:
            found = await persisted(partial(self._store.history.load, session, after=held.head))
            agent.catch_up(found.messages, now)
        else:
            found = await persisted(partial(self._store.history.load, session))
            agent.load(found.messages, now)

    # Ends.

    async def _stopped_short(self) -> TurnEnd | None:
        if self._stopped == "lost":
            return None
        await self._journal.settle()
        if not self._journal.begun:
            try:
                await self._begin()
            except (Fenced, QueueChanged):
                raise
            except Exception as error:  # noqa: BLE001 (it becomes the turn's end, and is logged)
                return await self._failed(error)
        if self._stopped == "shutdown":
            return await self._closing("interrupted", "stopped: Roost was stopped.")
        if self._stopped == "move":
            return await self._closing("interrupted", f"{MOVED} another server goes on with it.")
        return await self._closing("cancelled", None)

    async def _failed(self, error: Exception) -> TurnEnd | None:
        await self._journal.settle()
        if not isinstance(error, RoostError):
            log.error("a turn failed", turn=self.claimed.turn.id, exc_info=error)
        reason = reason_of(error)
        state = self.claimed.turn.state
        # A parked turn that still waits for an answer goes on waiting.
        parked = state == "waiting" and not isinstance(error, Conflict)
        if self._journal.begun or parked:
            return await self._closing("failed", reason)
        if state == "queued":
            return TurnEnd(state="failed", reason=reason, messages=self._opening or (self._bare(),))
        self._refuse(error)
        await persisted(partial(self._engine.store.leases.release, self.claimed.lease))
        return None

    def _refuse(self, error: Exception) -> None:
        if not self.began.done():
            self.began.set_exception(error)
            self.began.exception()  # perhaps nobody waits for it

    def _bare(self) -> Draft:
        return Draft(new_message_id(), "user", self.claimed.turn.parts)

    async def _closing(self, state: EndState, reason: str | None) -> TurnEnd:
        calls = await persisted(partial(self._store.turns.tool_calls, self.claimed.turn.id))
        streamed = self._journal.streamed
        end = closing(state, reason, streamed, calls, running="cancelled")
        if self._agent is None:
            return end
        usage = await self._agent.unaccounted(partial_parts(streamed))
        if self.budget is not None:
            for each in usage:
                self.budget.add(each)  # its caller goes on
        return msgspec.structs.replace(end, usage=usage)

    async def _end(self, end: TurnEnd | None) -> TurnEnd | None:
        agent = self._agent
        if agent is not None and agent.fell_back:
            self._engine.agents.drop(self.claimed.session.id)
        if end is not None:
            if end.state == "completed":
                mark = self._engine.recall.mark(self.claimed.session.user)
                end = msgspec.structs.replace(end, memory_scope=mark)
            end, written = await self._written(end)
            if agent is not None:
                agent.remember(end.messages, Position(written.epoch, written.head))
        self.end, self.settled = end, True
        return end

    async def _written(self, end: TurnEnd) -> tuple[TurnEnd, Written]:
        """Whatever was in it: a turn that can't be ended would hold up its session for ever."""
        try:
            return end, await self._journal.end(end)
        except (Fenced, NotFound, QueueChanged, StoreError):
            raise
        except RoostError:
            log.exception("an end was refused; it is written plainly", turn=self.claimed.turn.id)
            plain = plainly(end)
            return plain, await self._journal.end(plain)


def _hear(work: asyncio.Task[TurnEnd | None]) -> None:
    """Work that was left alone ended after all; its session may be someone else's by then."""
    if not work.cancelled() and (error := work.exception()) is not None:
        fenced = isinstance(error, Fenced)
        log.warning("work left alone failed", error=str(error), exc_info=None if fenced else error)
