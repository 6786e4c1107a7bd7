"""Takes up what a crash left behind: at the start, and while running."""

import asyncio
from collections.abc import Coroutine
from functools import partial

import msgspec
import structlog

from roost.core.errors import Conflict, InvalidInput, RoostError
from roost.core.ids import TurnId
from roost.runtime.closing import closing, plainly
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.turns import Turns, new_holder
from roost.store.leases import Lease, session_lease
from roost.store.store import Store
from roost.store.work import Claimed, Orphan

log = structlog.stdlib.get_logger("roost.recovery")

PERIOD = 5.0
REASON = "crashed: Roost stopped while it answered."


class Recovery:
    """`window` is how long ago, in seconds, a turn may have stopped and still go on by itself."""

    def __init__(self, store: Store, hub: Hub, turns: Turns, *, window: float) -> None:
        self._store = store
        self._hub = hub
        self._turns = turns
        self._window = window

    async def begin(self) -> None:
        """Before anyone takes a turn: what a session was doing goes before what waits in it."""
        try:
            await self.recover()
        except Exception:
            log.exception("recovery failed; it is tried again")

    async def run(self) -> None:
        """Look again and again: others may crash, and leases lapse."""
        while True:
            await asyncio.sleep(PERIOD)
            await self.begin()

    async def recover(self) -> None:
        orphans = await self._store.work.orphans()
        held: dict[TurnId, Lease] = {}
        await self._all([self._close(orphan, held) for orphan in orphans])
        # Before their callers go on, who don't know of them any more.
        forsaken = await persisted(self._store.work.forsaken)
        await self._all([self._give_up(turn) for turn in forsaken])
        stopped = await persisted(partial(self._store.work.continuable, self._window))
        await self._all([self._go_on(turn, held.pop(turn.turn, None)) for turn in stopped])
        release = self._store.leases.release
        await self._all([persisted(partial(release, lease)) for lease in held.values()])
        for session in await persisted(self._store.work.expire_approvals):
            self._hub.changed(session)
        self._turns.wake()

    async def _all(self, work: list[Coroutine[None, None, None]]) -> None:
        """Each for itself: one that fails is tried again the next time."""
        for result in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("a turn could not be recovered", exc_info=result)

    async def _close(self, orphan: Orphan, held: dict[TurnId, Lease]) -> None:
        """Write down what is known of a turn that nobody runs any more. Its session stays held, so
        that nothing comes between if it may go on."""
        if self._turns.is_running(orphan.session):
            return
        name, holder = session_lease(orphan.session), new_holder("recovery")
        lease = await persisted(partial(self._store.leases.claim, name, holder))
        if lease is None:
            return
        turns = self._store.of(orphan.user).turns
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

    async def _go_on(self, turn: Orphan, lease: Lease | None) -> None:
        """With a turn that stopped short: in a crash or, without a lease, when Roost stopped."""
        if lease is None:
            await self._resume(turn)
            return
        mine = self._store.of(turn.user)
        session, found = await mine.sessions.get(turn.session), await mine.turns.get(turn.turn)
        self._turns.take(Claimed(lease, session, found), automatic=True)

    async def _give_up(self, turn: Orphan) -> None:
        """A subagent whose caller is gone: what it has done can be read, and it does no more."""
        if await self._turns.cancel(turn.user, turn.session, turn.turn):
            return
        try:
            await persisted(partial(self._store.of(turn.user).queue.remove, turn.turn))
            self._hub.changed(turn.session)
        except Conflict:
            log.info("a subagent's turn ended by itself", turn=turn.turn)

    async def _resume(self, turn: Orphan) -> None:
        if self._turns.is_running(turn.session):
            return
        try:
            await self._turns.resume(turn.user, turn.session, turn.turn, automatic=True)
            log.info("an interrupted turn goes on", session=turn.session, turn=turn.turn)
        except RoostError as error:
            log.warning("an interrupted turn can't go on", turn=turn.turn, error=str(error))
