"""Takes in what a channel receives, and hands it on: durable first, in order, once."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog

from roost.channels.base import Inbound
from roost.channels.lanes import Lanes
from roost.channels.router import Router
from roost.core.errors import ChannelBusy, ChannelLost, StoreClosed
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.inbox import Handled, Waiting
from roost.testing.faults import reach

log = structlog.stdlib.get_logger("roost.channels")

GROUP = 64
WIDTH = 16
"""Addresses whose messages are handled at the same time; more only wait longer for the store."""
TRIES = 8
"""A little over two minutes."""
_LOST = "Roost could not take in your message. Send it again; if it fails again, the log says why."
_LONGEST_WAIT = 60.0


class Inbox:
    """The inlet of one channel, and what empties it. `told` is called when the outbox has more;
    while it is not `connected`, nothing that failed counts as a try."""

    def __init__(
        self,
        app: App,
        channel: str,
        router: Router,
        *,
        told: Callable[[], None],
        connected: asyncio.Event,
    ) -> None:
        self._connected = connected
        self._store = app.parts.store.inbox
        self._channel = channel
        self._router = router
        self._told = told
        self._wake = asyncio.Event()
        self._tries: Counter[str] = Counter()
        self._lanes = Lanes(WIDTH, self._wake.set)

    async def put(
        self, inbounds: Sequence[Inbound], *, cursors: Mapping[str, str] | None = None
    ) -> None:
        """See `Inlet.put`."""
        reach("channel.store.before")
        write = partial(self._store.put, self._channel, inbounds, cursors or {})
        await persisted(write)
        reach("channel.store.after")
        self._wake.set()

    async def cursors(self) -> Mapping[str, str]:
        return await persisted(partial(self._store.cursors, self._channel))

    async def run(self) -> None:
        """Handle what waits, from before the start too, until cancelled."""
        self._wake.set()
        async with self._lanes:
            while True:
                await self._wake.wait()
                self._wake.clear()
                try:
                    await self._look()
                except StoreClosed:
                    return
                except Exception:
                    log.exception("an inbox could not be read; trying again", name=self._channel)
                    await asyncio.sleep(1)
                    self._wake.set()

    async def _look(self) -> None:
        after = ""
        while True:
            found = await self._store.addresses(self._channel, after=after, limit=GROUP)
            for address in found:
                if address not in self._lanes:
                    await self._lanes.start(address, partial(self._empty, address))
            if len(found) < GROUP:
                return
            after = found[-1]

    async def _empty(self, address: str) -> None:
        """Handle what waits at one address, in order. What that is is read here: what was read
        before the lane was free may have been handled in it."""
        try:
            while (waiting := await self._store.next(self._channel, address)) is not None:
                await self._handle(waiting)
        except StoreClosed:
            return
        except Exception:
            # What it is about may pass; the others at this address wait with it.
            log.exception("a message could not be handled; trying again", address=address)
            await asyncio.sleep(1)

    async def _handle(self, waiting: Waiting) -> None:
        id = waiting.inbound.id
        reach("channel.handle.before")
        try:
            how = await self._router.handle(waiting)
        except StoreClosed:
            raise
        except Exception as error:  # noqa: BLE001 (it is logged, and tried again)
            how = await self._put_off(waiting, error)
        if how is None:
            return
        reach("channel.handle.after")
        await persisted(partial(self._store.handled, self._channel, id, how))
        reach("channel.handled.after")
        self._tries.pop(id, None)
        if how.tell:
            self._told()

    async def _put_off(self, waiting: Waiting, error: Exception) -> Handled | None:
        """Try again in a while, with nothing lost; what fails again and again is given up, and its
        sender told."""
        id = waiting.inbound.id
        if isinstance(error, ChannelLost) and not self._connected.is_set():
            await self._connected.wait()
            return None
        self._tries[id] += 1
        tries = self._tries[id]
        if tries < TRIES:
            log.warning("a message waits to be handled", id=id, tries=tries, exc_info=error)
            wait = error.seconds if isinstance(error, ChannelBusy) else min(2.0**tries, 30)
            await asyncio.sleep(min(wait, _LONGEST_WAIT))
            return None
        log.error("a message was given up", channel=self._channel, id=id, exc_info=error)
        return await self._router.given_up(waiting, _LOST)
