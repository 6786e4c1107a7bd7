"""Takes up what a crash left behind: at the start, and while running."""

import asyncio
import contextlib
import random
from collections.abc import Coroutine, Sequence
from functools import partial

import msgspec
import structlog

from roost.core.errors import Conflict, Fenced, InvalidInput, RoostError
from roost.core.ids import SessionId, TurnId
from roost.core.messages import plain_text
from roost.runtime.closing import closing, plainly
from roost.runtime.delivery import Delivery, interruption
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.turn_run import MOVED
from roost.runtime.turns import Turns
from roost.store.leases import Lease, session_lease
from roost.store.outbox import Stopped
from roost.store.store import Store
from roost.store.work import Claimed, Orphan

log = structlog.stdlib.get_logger("roost.recovery")

PERIOD = 5.0
SPREAD = 0.25
"""The part of a period by which a look comes sooner or later: servers that started together would
look together for ever."""
REPORTED = 7 * 86_400.0
"""Seconds: who left for longer is not told of what stopped before."""
REASON = "crashed: Roost stopped while it answered."


class Recovery:
    """`window` is how long ago, in seconds, a turn may have stopped and still go on by itself.
    Without a `delivery` no channel is told of those that do not."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        turns: Turns,
        delivery: Delivery | None,
        *,
        window: float,
    ) -> None:
        self._delivery = delivery
        self._store = store
        self._hub = hub
        self._turns = turns
        self._window = window
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """There may be something to take up."""
        self._woken.set()

    async def begin(self) -> None:
        """Before anyone takes a turn: what a session was doing goes before what waits in it."""
        try:
            await self.recover()
        except Exception:
            log.exception("recovery failed; it is tried again")

    async def run(self) -> None:
        """Look again and again: others may crash, and leases lapse."""
        while True:
            wait = PERIOD * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._woken.wait()
            self._woken.clear()
            await self.begin()

    async def recover(self) -> None:
        if self._turns.resting:
            return
        orphans = await self._store.work.orphans()
        held: dict[TurnId, Lease] = {}
        await self._all([self._close(orphan, held) for orphan in orphans])
        # Before their callers go on, who don't know of them any more.
        forsaken = await persisted(self._store.work.forsaken)
        await self._all([self._give_up(turn) for turn in forsaken])
        # Before what goes on is known: what stops meanwhile is not reported as if it would not.
        silent = await self._unreported()
        stopped = await persisted(partial(self._store.work.continuable, self._window))
        here = [turn for turn in stopped if turn.here]
        await self._all([self._go_on(turn, held.pop(turn.turn, None)) for turn in here])
        release = self._store.leases.release
        await self._all([persisted(partial(release, lease)) for lease in held.values()])
        going_on = {turn.turn for turn in stopped}
        await self._report([each for each in silent if each.turn not in going_on])
        for session in await persisted(self._store.work.expire_approvals):
            self._hub.changed(session)
        self._turns.wake()

    async def _all(self, work: list[Coroutine[None, None, None]]) -> None:
        """Each for itself: one that fails is tried again the next time."""
        for result in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(result, Fenced):
                log.warning("a turn is recovered by another server", error=str(result))
            elif isinstance(result, Exception):
                log.error("a turn could not be recovered", exc_info=result)

    async def _close(self, orphan: Orphan, held: dict[TurnId, Lease]) -> None:
        """Write down what is known of a turn that nobody runs any more. Its session stays held, so
        that nothing comes between if it may go on."""
        if self._turns.is_running(orphan.session):
            return
        if (lease := await self._claim(orphan.session)) is None:
            return
        turns = self._store.of(orphan.user).turns
        if (await persisted(partial(turns.get, orphan.turn))).state != "running":
            # Another server took it over before, and is through with it.
            await persisted(partial(self._store.leases.release, lease))
            return
        stored = await turns.deltas(orphan.turn)
        calls = await turns.tool_calls(orphan.turn)
        deltas = [delta for run in stored for delta in run.deltas]
        end = closing("interrupted", REASON, deltas, calls, running="unknown")
        end = msgspec.structs.replace(end, at=orphan.active_at, release=False)
        write = partial(turns.end, orphan.session, lease.token, orphan.turn)
        try:
            await persisted(partial(write, end))
        except (Conflict, InvalidInput):
            log.exception("an end was refused; it is written plainly", turn=orphan.turn)
            await persisted(partial(write, plainly(end)))
        held[orphan.turn] = lease
        self._hub.changed(orphan.session)
        log.warning("a turn was interrupted by a crash", session=orphan.session, turn=orphan.turn)

    async def _claim(self, session: SessionId) -> Lease | None:
        """At once or not at all: all servers look for the same."""
        holder = self._store.leases.new_holder("recovery")
        return await persisted(partial(self._store.leases.claim, session_lease(session), holder))

    async def _unreported(self) -> Sequence[Stopped]:
        if self._delivery is None:
            return ()
        return await persisted(partial(self._store.outbox.unreported, REPORTED))

    async def _report(self, silent: Sequence[Stopped]) -> None:
        """Tell channels of turns that will not go on by themselves."""
        if self._delivery is None:
            return
        for stopped in silent:
            if self._turns.running(stopped.session) == stopped.turn:
                continue
            turns = self._store.of(stopped.user).turns
            found = await persisted(partial(turns.get, stopped.turn))
            if (found.state, found.attempt) != ("interrupted", stopped.attempt):
                continue  # it has gone on, here or on another server
            said = await self._said(stopped)
            entry = interruption(stopped.route, stopped.turn, stopped.attempt, said)
            put = self._store.outbox.put
            write = partial(put, stopped.user, (entry,), session=stopped.session, turn=stopped.turn)
            await persisted(write)
            self._delivery.wrote((entry,))

    async def _said(self, stopped: Stopped) -> str:
        """How far its answer had come."""
        history = self._store.of(stopped.user).history
        newest = await persisted(partial(history.page, stopped.session, limit=4))
        mine = [each for each in newest if each.turn == stopped.turn and each.partial]
        return plain_text(mine[-1].parts) if mine else ""

    async def _go_on(self, turn: Orphan, lease: Lease | None) -> None:
        """With a turn that stopped short: in a crash or, without a lease, when a server stopped."""
        if lease is not None:
            await self._taken(turn, lease)
            return
        if self._turns.is_running(turn.session):
            return
        if (lease := await self._claim(turn.session)) is None:
            return  # another server was first
        if (begun := await self._taken(turn, lease)) is None:
            return
        try:
            await asyncio.shield(begun)
            log.info("an interrupted turn goes on", session=turn.session, turn=turn.turn)
        except RoostError as error:
            log.warning("an interrupted turn can't go on", turn=turn.turn, error=str(error))

    async def _taken(self, turn: Orphan, lease: Lease) -> asyncio.Future[None] | None:
        """Done once it runs; None if another server was so quick that it stopped no more."""
        mine = self._store.of(turn.user)
        session = await persisted(partial(mine.sessions.get, turn.session))
        found = await persisted(partial(mine.turns.get, turn.turn))
        if found.state != "interrupted":
            await persisted(partial(self._store.leases.release, lease))
            return None
        # What was handed over has not crashed: that it goes on does not count.
        moved = (found.reason or "").startswith(MOVED)
        return self._turns.take(Claimed(lease, session, found), automatic=not moved)

    async def _give_up(self, turn: Orphan) -> None:
        """A subagent whose caller is gone: what it has done can be read, and it does no more."""
        if await self._turns.cancel(turn.user, turn.session, turn.turn):
            return
        try:
            await persisted(partial(self._store.of(turn.user).queue.remove, turn.turn))
            self._hub.changed(turn.session)
        except Conflict:
            log.info("a subagent's turn ended by itself", turn=turn.turn)
