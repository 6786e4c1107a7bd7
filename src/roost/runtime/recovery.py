"""Takes up what a crash left behind: at the start, and while running."""

import asyncio
from functools import partial

import structlog

from roost.core.errors import RoostError
from roost.runtime.closing import closing
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.turns import Turns, new_holder
from roost.store.leases import session_lease
from roost.store.store import Store
from roost.store.work import Orphan

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

    async def run(self) -> None:
        """Look again and again: others may crash, and leases lapse."""
        while True:
            try:
                await self.recover()
            except Exception:
                log.exception("recovery failed; it is tried again")
            await asyncio.sleep(PERIOD)

    async def recover(self) -> None:
        for orphan in await self._store.work.orphans():
            if not self._turns.is_running(orphan.session):
                await self._close(orphan)
        for turn in await self._store.work.continuable(self._window):
            await self._continue(turn)
        for session in await self._store.work.expire_approvals():
            self._hub.changed(session)
        self._turns.wake()

    async def _close(self, orphan: Orphan) -> None:
        """Write down what is known of a turn that nobody runs any more."""
        name, holder = session_lease(orphan.session), new_holder("recovery")
        lease = await persisted(partial(self._store.leases.claim, name, holder))
        if lease is None:
            return
        turns = self._store.of(orphan.user).turns
        stored = await turns.deltas(orphan.turn)
        calls = await turns.tool_calls(orphan.turn)
        deltas = [delta for run in stored for delta in run.deltas]
        end = closing("interrupted", REASON, deltas, calls, running="unknown")
        await persisted(partial(turns.end, orphan.session, lease.token, orphan.turn, end))
        self._hub.changed(orphan.session)
        log.warning("a turn was interrupted by a crash", session=orphan.session, turn=orphan.turn)

    async def _continue(self, turn: Orphan) -> None:
        try:
            await self._turns.resume(turn.user, turn.session, turn.turn, automatic=True)
            log.info("an interrupted turn goes on", session=turn.session, turn=turn.turn)
        except RoostError as error:
            log.warning("an interrupted turn can't go on", turn=turn.turn, error=str(error))
