"""Takes turns: claims the sessions that have work, and lends out those that have none."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

import structlog

from roost.agent.budget import Budget
from roost.core.errors import Conflict, Fenced, NotFound, QueueChanged, StoreClosed
from roost.core.happenings import TurnOver
from roost.core.ids import SessionId, TurnId, UserId
from roost.core.turns import ENDED, SUBAGENT_ROUTE, NewTurn, Turn, TurnEnd
from roost.runtime.closing import closing
from roost.runtime.delivery import with_delivery
from roost.runtime.persistence import persisted
from roost.runtime.turn_run import Engine, TurnRun
from roost.store.leases import Lease, session_lease
from roost.store.work import Claimed

log = structlog.stdlib.get_logger("roost.turns")

T = TypeVar("T")

GROUP = 64
LOOK = 1.0
PATIENCE = 30.0
"""Seconds that a rewrite waits for a session that is in use."""


class Turns:
    """`observers` are told of every turn that came to its end here. They take note and do no more:
    what they begin runs in tasks of their own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store
        self.observers: list[Callable[[Claimed, TurnEnd], None]] = []
        self._runs: dict[SessionId, TurnRun] = {}
        self._asking: defaultdict[SessionId, deque[asyncio.Future[Lease | None]]]
        self._asking = defaultdict(deque)
        self._tasks: set[asyncio.Task[object]] = set()
        self._submitting: set[asyncio.Task[Turn]] = set()
        self._work = asyncio.Event()
        self._claiming = asyncio.Lock()
        """Held from a claim until its turns are in `_runs`: nobody looks for one in between."""
        self._stopping = False
        self.resting = False
        """Set where other servers take up what there is to do, and this one nothing more."""
        self.hands_over = True
        """Whether they go on with what it stops: not where nothing goes on by itself."""

    def __len__(self) -> int:
        """How many turns run."""
        return len(self._runs)

    def running(self, session: SessionId) -> TurnId | None:
        run = self._runs.get(session)
        return None if run is None or run.settled else run.claimed.turn.id

    def is_running(self, session: SessionId) -> bool:
        return self.running(session) is not None

    async def is_under_way(self, user: UserId, session: SessionId) -> bool:
        """The same by what is written down: whoever asks may have read of the end of a turn before
        this loop came to hear of it."""
        if (turn := self.running(session)) is None:
            return False
        found = await self._store.of(user).turns.get(turn)
        return found.state not in ENDED and self.running(session) == turn

    # Taking turns.

    def wake(self) -> None:
        """There may be work."""
        self._work.set()

    async def run(self) -> None:
        """Claim and run, until told to stop."""
        while not self._stopping:
            await self._work.wait()
            self._work.clear()
            try:
                await self._claim_waiting()
            except StoreClosed:
                return
            except Exception:
                log.exception("no turn could be claimed; trying again")
                await asyncio.sleep(1)
                self.wake()

    async def _claim_waiting(self) -> None:
        if self.resting:
            return
        holder = self._store.leases.new_holder("turn")
        claim = partial(self._store.work.claim_waiting, holder, limit=GROUP)
        async with self._claiming:
            claimed = await persisted(claim)
            for each in claimed:
                self._hand_on(each)
        if len(claimed) == GROUP:
            self.wake()

    def _hand_on(self, claimed: Claimed) -> None:
        if asking := self._next_asking(claimed.session.id):
            asking.set_result(claimed.lease)
        elif self._stopping or self.resting:
            self._spawn(self._give_back(claimed.lease))
        else:
            self.take(claimed)

    async def submit(self, user: UserId, session: SessionId, new: NewTurn) -> Turn:
        """Hand a message in. If its session is free it is taken up at once, even if whoever sent it
        has left meanwhile."""
        submitting = self._spawn(self._submit(user, session, new))
        self._submitting.add(submitting)
        submitting.add_done_callback(self._submitting.discard)
        return await asyncio.shield(submitting)

    async def _submit(self, user: UserId, session: SessionId, new: NewTurn) -> Turn:
        work, holder = self._store.work, self._store.leases.new_holder("turn")
        submitted = await persisted(partial(work.submit, user, session, new, holder))
        if submitted.claimed is not None:
            self._hand_on(submitted.claimed)
        return submitted.turn

    async def resume(self, user: UserId, session: SessionId, turn: TurnId) -> None:
        """Go on with a turn that stopped short. Returns once it runs."""
        servers = self._store.servers
        if servers is not None and (at := await servers.has_elsewhere(session)) is not None:
            raise Conflict(
                f"The session's workspace is on another server, {at}, which takes up messages, not "
                "turns that stopped. Send one: it is answered there."
            )
        lease = await self._claim(session)
        try:
            mine = self._store.of(user)
            found = await mine.sessions.get(session)
            claimed = Claimed(lease, found, await mine.turns.get(turn))
        except BaseException:
            await self._give_back(lease)
            raise
        await asyncio.shield(self.take(claimed))

    def take(self, claimed: Claimed, *, automatic: bool = False) -> asyncio.Future[None]:
        """Run a turn whose session is held already. Done once it runs."""
        within = self._callers_budget(claimed)
        run = TurnRun(self._engine, claimed, automatic=automatic, within=within)
        before = self._runs.get(claimed.session.id)
        self._runs[claimed.session.id] = run
        self._spawn(self._see_through(run, before))
        return run.began

    def _callers_budget(self, claimed: Claimed) -> Budget | None:
        """That of the turn which waits for this one, if it is a subagent's."""
        parent = claimed.session.parent
        if parent is None or claimed.turn.route != SUBAGENT_ROUTE:
            return None
        caller = self._runs.get(parent.session)
        return None if caller is None else caller.budget

    async def _see_through(self, run: TurnRun, before: TurnRun | None) -> None:
        try:
            if before is not None:
                # Its end is durable and its lease free; it is about to leave.
                await before.over.wait()
            if self._stopping:
                await persisted(partial(self._store.leases.release, run.claimed.lease))
            else:
                await self._carry_out(run)
        finally:
            run.leave()
            session = run.claimed.session.id
            if self._runs[session] is run:
                del self._runs[session]
            run.over.set()
            self._freed(session)

    async def _carry_out(self, run: TurnRun) -> None:
        lease, began = run.claimed.lease, time.monotonic()
        self._engine.checkpoints.hold(lease, partial(run.stop, "lost"))
        try:
            if (end := await run.run()) is not None:
                self._tell(run.claimed, end)
        except QueueChanged:
            # Edited or removed after the claim: what waits now is claimed anew.
            await persisted(partial(self._store.leases.release, lease))
        except (Fenced, NotFound) as error:
            log.warning("a turn was taken away", turn=run.claimed.turn.id, error=str(error))
        except Exception:
            # Its lease lapses, and recovery ends it.
            log.exception("a turn could not be ended", turn=run.claimed.turn.id)
        finally:
            self._engine.checkpoints.let_go(lease)
            state = None if run.end is None else run.end.state
            over = TurnOver(run.claimed.turn.id, state, time.monotonic() - began)
            self._engine.builder.observers.tell(over)

    def _tell(self, claimed: Claimed, end: TurnEnd) -> None:
        for observer in self.observers:
            try:
                observer(claimed, end)
            except Exception:
                log.exception("an observer of turns failed", turn=claimed.turn.id)

    def _spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Stopping turns.

    async def cancel(self, user: UserId, session: SessionId, turn: TurnId | None = None) -> bool:
        """Stop the turn under way, if it is this one, keeping what it said. Whether it was
        stopped."""
        clock = asyncio.get_running_loop().time
        end = clock() + PATIENCE
        while True:
            try:
                return await self._cancel(user, session, turn)
            except Conflict:
                # A turn that waited was answered meanwhile: what it has become is looked at again.
                if clock() >= end or self._stopping:
                    raise

    async def _cancel(self, user: UserId, session: SessionId, turn: TurnId | None) -> bool:
        run = self._runs.get(session)
        if run is None:
            async with self._claiming:
                run = self._runs.get(session)
        if run is None or run.settled:
            if await self._cancel_elsewhere(user, session, turn):
                return True
            return await self._cancel_parked(user, session, turn)
        if turn is not None and run.claimed.turn.id != turn:
            return False
        run.stop("cancel")
        await run.over.wait()
        if run.end is None:  # it was being parked
            return await self._cancel_parked(user, session, turn)
        return run.end.state == "cancelled"

    async def _cancel_elsewhere(
        self, user: UserId, session: SessionId, turn: TurnId | None
    ) -> bool:
        """Have another server stop its turn, if one has it, and wait until it did."""
        if self._store.signals is None:
            return False
        turns = self._store.of(user).turns
        asked = await persisted(partial(turns.ask_to_stop, session, turn))
        if asked is None:
            return False
        hub = self._engine.hub
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE), hub.watch(user, session) as events:
                hub.changed(session)
                while (found := await persisted(partial(turns.get, asked))).state == "running":
                    await anext(events)
                return found.state == "cancelled"
        return False

    async def obey(self, sessions: Collection[SessionId] | None = None) -> None:
        """Stop what somebody on another server wants stopped, in these sessions or in all, and what
        runs for users who were disabled there."""
        here = [each for each in self._runs if sessions is None or each in sessions]
        if not here:
            return
        asked = await self._store.work.stops_asked(here)
        for run in list(self._runs.values()):
            if run.claimed.turn.id in asked:
                run.stop("cancel")

    async def cancel_all(self, user: UserId) -> None:
        """Stop whatever runs for a user who was disabled, keeping what was said: nothing of theirs
        is claimed any more, and what was claimed before is waited for."""
        if self._submitting:
            await asyncio.wait(self._submitting)
        async with self._claiming:
            runs = [run for run in self._runs.values() if run.claimed.session.user == user]
        for run in runs:
            run.stop("cancel")
        await asyncio.gather(*[run.over.wait() for run in runs])

    async def _cancel_parked(self, user: UserId, session: SessionId, turn: TurnId | None) -> bool:
        mine = self._store.of(user)
        live = (await mine.history.snapshot(session, limit=1)).turn
        if live is None or live.state != "waiting" or turn not in (None, live.id):
            return False
        async with self.held(session, patience=LOOK) as lease:
            calls = await mine.turns.tool_calls(live.id)
            end = closing("cancelled", None, (), calls, running="cancelled")
            end = with_delivery(live, end, live.attempt)
            await persisted(partial(mine.turns.end, session, lease.token, live.id, end))
        self._engine.hub.changed(session)
        self._engine.delivery.wrote(end.outbox)
        return True

    def give_up(self, session: SessionId) -> None:
        """The session is gone: whatever runs in it has nowhere to write."""
        if (run := self._runs.get(session)) is not None:
            run.stop("lost")

    async def stop(self, grace: float) -> None:
        """Take no more turns, let those under way finish within `grace` seconds, and write down
        how far the others came. While this server was `resting`, others go on with those."""
        self._stopping = True
        self.wake()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for run in list(self._runs.values()):
            run.stop("move" if self.resting and self.hands_over else "shutdown")
        while self._tasks:
            await asyncio.wait(self._tasks)

    # Holding a session while no turn runs: for rewrites, and for what ends it.

    @asynccontextmanager
    async def held(
        self, session: SessionId, *, patience: float = PATIENCE
    ) -> AsyncGenerator[Lease]:
        lease = await self._claim(session, patience)
        self._engine.checkpoints.hold(lease, lambda: None)
        try:
            yield lease
        finally:
            self._engine.checkpoints.let_go(lease)
            await self._give_back(lease)

    async def _claim(self, session: SessionId, patience: float = PATIENCE) -> Lease:
        """The session's lease, after whoever has it in this process. Whoever asked may leave: what
        is claimed all the same is given back."""
        claiming = self._spawn(self._claimed(session, patience))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(self._return)
            raise

    def _return(self, claiming: asyncio.Task[Lease]) -> None:
        if not claiming.cancelled() and claiming.exception() is None:
            self._spawn(self._give_back(claiming.result()))

    async def _claimed(self, session: SessionId, patience: float) -> Lease:
        holder, loop = self._store.leases.new_holder("hold"), asyncio.get_running_loop()
        end = loop.time() + patience
        while loop.time() < end and not self._stopping:
            claim = partial(self._store.leases.claim, session_lease(session), holder)
            lease = await persisted(claim) or await self._ask(session)
            if lease is not None:
                return lease
        raise Conflict("The session is in use. Stop its turn, or wait for it.")

    async def _ask(self, session: SessionId) -> Lease | None:
        """Wait for the session: its lease, or None when it may have become free."""
        asking: asyncio.Future[Lease | None] = asyncio.get_running_loop().create_future()
        self._asking[session].append(asking)
        self.wake()
        await asyncio.wait([asking], timeout=LOOK)
        if not asking.done():
            asking.set_result(None)  # a lease may also lapse, which nobody tells
        if not any(not each.done() for each in self._asking[session]):
            del self._asking[session]
        return asking.result()

    def _next_asking(self, session: SessionId) -> asyncio.Future[Lease | None] | None:
        asking = self._asking.get(session)
        while asking:
            if not (first := asking.popleft()).done():
                return first
        return None

    def freed(self, session: SessionId) -> None:
        """Whoever waits for a session may try again."""
        if asking := self._next_asking(session):
            asking.set_result(None)

    def _freed(self, session: SessionId) -> None:
        self.freed(session)
        self.wake()

    async def _give_back(self, lease: Lease) -> None:
        try:
            await persisted(partial(self._store.leases.release, lease))
        finally:
            session = SessionId(lease.name.partition(":")[2])
            self._freed(session)
            self._engine.hub.freed(session)
