"""Runs channels: each under a lease of its own, connected again whenever it is lost."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from functools import partial

import structlog

from roost.channels.admission import Admission
from roost.channels.base import Channel, Hooked, Inbound
from roost.channels.inbox import Inbox
from roost.channels.outbox import Outbox
from roost.channels.pace import Pace
from roost.channels.progress import Progress
from roost.channels.registry import Registry
from roost.channels.router import Router
from roost.core.config import ChannelConfig
from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    ChannelLost,
    ChannelRefused,
    ConfigError,
    StoreClosed,
    StoreError,
)
from roost.core.inbound import HookCall, HookReply
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.runtime.switchboard import Switchboard
from roost.store.leases import Lease

log = structlog.stdlib.get_logger("roost.channels")

BACKOFF = 60.0
"""The most seconds between two tries to connect."""
REFUSED = 300.0
"""Seconds after which a token that was refused is tried again: somebody may have mended it."""


class Host:
    """One channel, from its lease to its connection."""

    def __init__(self, app: App, channel: Channel, config: ChannelConfig) -> None:
        self._app = app
        self._channel = channel
        self._board: Switchboard = app.parts.switchboard
        self._pace = Pace(channel.limits)
        admission = Admission(app, channel.name, config)
        self._outbox = Outbox(app, channel, self._pace, admission)
        router = Router(app, channel, config, admission)
        told, connected = self._outbox.wake, self._outbox.connected
        self._inbox = Inbox(app, channel.name, router, told=told, connected=connected)
        self._lease_ttl = app.config.leases.ttl.total_seconds()

    async def run(self) -> None:
        """Until cancelled: wait for the lease, hold it, work under it."""
        leases, name = self._app.parts.store.leases, f"channel:{self._channel.name}"
        holder = leases.new_holder("channel")
        while True:
            lease = await persisted(partial(leases.claim, name, holder))
            if lease is None:
                held = await leases.holder(name)
                who = None if held is None else held.holder
                self._board.say(self._channel.name, "elsewhere", detail=who)
                await self._app.parts.vacancy.wait(self._lease_ttl / 3)
                continue
            try:
                await self._hold(lease)
            finally:
                with contextlib.suppress(StoreError):  # it lapses, then
                    await leases.release(lease)

    async def _hold(self, lease: Lease) -> None:
        """All that goes on in a channel, until one of it ends: as when the lease is lost."""
        progress = Progress(self._app, self._channel, self._outbox, self._pace)
        observers = self._app.parts.builder.observers
        observers.add(progress.happened)
        try:
            await _together(
                self._renew(lease), self._inbox.run(), self._outbox.run(), self._connect()
            )
        finally:
            observers.remove(progress.happened)
            await progress.stop()

    async def _renew(self, lease: Lease) -> None:
        renew = partial(self._app.parts.store.leases.renew, lease)
        while await persisted(renew):  # noqa: ASYNC110 (the time is all it waits for)
            await asyncio.sleep(self._lease_ttl / 3)
        log.warning("a channel was taken over", channel=self._channel.name)

    async def _connect(self) -> None:
        tries, loop = 0, asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._board.say(self._channel.name, "connecting")
            try:
                await self._channel.run(self)
                error: ChannelError = ChannelLost(self._channel.name, "it ended")
            except ChannelError as lost:
                error = lost
            except StoreClosed:
                return
            except asyncio.CancelledError:
                error = ChannelLost(self._channel.name, "a library gave it up")
            except Exception as unexpected:
                log.exception("a channel failed", channel=self._channel.name)
                error = ChannelLost(self._channel.name, str(unexpected))
            # Libraries cancel what was not to end, and swallow that something was.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError
            tries = 1 if loop.time() - began > BACKOFF else tries + 1
            await self._rest(error, tries)

    async def _rest(self, error: ChannelError, tries: int) -> None:
        self._outbox.connected.clear()
        refused = isinstance(error, ChannelRefused)
        wait = REFUSED if refused else min(2.0 ** min(tries - 1, 10), BACKOFF)
        if isinstance(error, ChannelBusy):
            wait = max(wait, error.seconds)
        self._board.say(self._channel.name, "refused" if refused else "lost", detail=str(error))
        await asyncio.sleep(wait)

    # The channel's inlet.

    async def put(
        self, inbounds: Sequence[Inbound], *, cursors: Mapping[str, str] | None = None
    ) -> None:
        await self._inbox.put(inbounds, cursors=cursors)

    async def cursors(self) -> Mapping[str, str]:
        return await self._inbox.cursors()

    def connected(self, bot: str) -> None:
        self._board.say(self._channel.name, "connected", bot=bot)
        self._outbox.connected.set()
        self._outbox.wake()

    def disconnected(self, why: str) -> None:
        self._outbox.connected.clear()
        self._board.say(self._channel.name, "lost", detail=why)


class Hosting:
    """All channels that are wanted, as the switchboard says; those that change are begun anew."""

    def __init__(self, app: App, registry: Registry) -> None:
        self._app = app
        self._registry = registry
        self._board = app.parts.switchboard
        self._running: dict[str, tuple[ChannelConfig, Channel, asyncio.Task[None]]] = {}
        self._look = asyncio.Event()

    async def run(self) -> None:
        self._board.kinds = self._registry.kinds
        self._board.changed = self._look.set
        self._board.hook = self._hook
        self._look.set()
        try:
            while True:
                await self._look.wait()
                self._look.clear()
                try:
                    await self._reconcile(self._board.wanted())
                except Exception:
                    log.exception("channels could not be begun or ended; trying again")
                    await asyncio.sleep(1)
                    self._look.set()
        finally:
            await self._reconcile({})

    async def _reconcile(self, wanted: Mapping[str, ChannelConfig]) -> None:
        for name, (config, _, task) in list(self._running.items()):
            if wanted.get(name) != config:
                task.cancel()
                await asyncio.wait([task])
                del self._running[name]
                self._board.say(name, "off")
        for name, config in wanted.items():
            if name not in self._running:
                await self._begin(name, config)

    async def _begin(self, name: str, config: ChannelConfig) -> None:
        kind = config.kind or name
        try:
            # Its library is large: others go on while it is imported.
            await asyncio.to_thread(self._registry.load, kind)
            channel = self._registry.make(kind, name, config.options)
        except ConfigError as error:
            log.error("a channel can't be started", channel=name, error=str(error))
            self._board.say(name, "wrong", detail=str(error))
            return
        task = asyncio.create_task(self._see_through(name, Host(self._app, channel, config)))
        self._running[name] = config, channel, task

    async def _see_through(self, name: str, host: Host) -> None:
        while True:
            try:
                await host.run()
            except StoreClosed:
                return
            except Exception:
                log.exception("a channel's host failed; trying again", channel=name)
                await asyncio.sleep(1)

    async def _hook(self, name: str, call: HookCall) -> HookReply | None:
        """What a platform calls over HTTP; None if there is no such channel, or it takes none."""
        running = self._running.get(name)
        if running is None or not isinstance(running[1], Hooked):
            return None
        return await running[1].hook(call)


async def _together(*work: Coroutine[None, None, None]) -> None:
    """All of it, until one ends or fails; then none of it."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()


@contextlib.asynccontextmanager
async def hosted(app: App, registry: Registry) -> AsyncGenerator[Hosting]:
    """Channels that run beside the block, and are stopped before it ends."""
    hosting = Hosting(app, registry)
    task = asyncio.create_task(hosting.run())
    try:
        yield hosting
    finally:
        task.cancel()
        await asyncio.wait([task])
