"""Lets the other servers know that this one is there, and takes over from those that are not."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from roost.core.errors import StoreClosed, StoreError
from roost.store.servers import KnownServer, Servers
from roost.store.signals import Signals

log = structlog.stdlib.get_logger("roost.servers")

SHORTEST = 5.0
"""Seconds: longer than a write is tried again for, or a slow database would look like a death."""
BEATS = 3
"""In the time after which a silent server is taken for dead."""


def silence_of(ttl: float) -> float:
    """Seconds without a word after which a server is dead, where leases live for `ttl`."""
    return max(ttl / 2, SHORTEST)


class Vacancy:
    """Wakes those who wait for something that another server holds."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def tell(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until there may be something, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


class Heartbeat:
    """Whoever waits for what servers leave behind is in `heirs`: they are called when one has
    fallen silent for `silence` seconds, or says that it goes."""

    def __init__(self, servers: Servers, signals: Signals, *, silence: float) -> None:
        self.heirs: list[Callable[[], None]] = []
        self._servers = servers
        self._signals = signals
        self._silence = silence
        self._period = silence / BEATS
        self._beating = asyncio.Lock()
        self._has_left = False
        self._beaten_at = float("-inf")
        self._steady_since = float("-inf")

    async def begin(self) -> None:
        """Before anything is taken up: others are to know who has it."""
        try:
            await self._beat()
        except StoreError as error:
            log.warning("other servers can't be told that this one is there", error=str(error))

    async def found_at(self, address: str) -> None:
        """Say where this server is reached, and not only with the next beat: whose files are here
        is told at once where that is."""
        self._servers.address = address
        await self.begin()

    async def run(self) -> None:
        """Until cancelled. What a burial waits for, a row of the dead or a free connection, may not
        hold up a beat: this server would be buried itself."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._again_and_again(self._beat))
            group.create_task(self._again_and_again(self._bury))

    async def _again_and_again(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(self._period)
            try:
                await work()
            except StoreClosed:
                return
            except StoreError as error:
                log.warning("what servers know of one another can't be written", error=str(error))
            except Exception:
                log.exception("a beat failed; it is tried again")

    async def listen(self) -> None:
        """Hear of servers that go, until cancelled."""
        async for told in self._signals.listen():
            if told.left:
                self._inherit()

    async def drain(self) -> bool:
        """Say that this server takes nothing up any more; whether another one does."""
        try:
            await self._servers.drain()
            known = await self._servers.all()
        except StoreError as error:
            log.warning("other servers can't be told that this one stops", error=str(error))
            return False
        self._signals.tell(left=True)
        return any(self._takes_over(each) for each in known)

    def _takes_over(self, server: KnownServer) -> bool:
        return not server.draining and server.silent < self._silence * 1000

    async def leave(self) -> None:
        """When all is let go of."""
        async with self._beating:
            self._has_left = True
            try:
                await self._servers.leave()
            except StoreError as error:
                log.warning("other servers find out by themselves", error=str(error))
        self._signals.tell(left=True)

    async def _beat(self) -> None:
        async with self._beating:
            if self._has_left:
                return
            await self._servers.beat()
        now = asyncio.get_running_loop().time()
        if self._is_silent():
            self._steady_since = now
        self._beaten_at = now

    def _is_silent(self) -> bool:
        return asyncio.get_running_loop().time() > self._beaten_at + 2 * self._period

    async def _bury(self) -> None:
        """Who was silent itself, asleep or without a database, has nothing to say about others:
        they may have been so for the same reason."""
        if self._is_silent() or self._beaten_at < self._steady_since + self._silence:
            return
        if gone := await self._servers.bury(self._silence):
            log.warning("servers fell silent; what they did is taken over", servers=gone)
            self._inherit()

    def _inherit(self) -> None:
        for heir in self.heirs:
            heir()
