"""Roost, running: what belongs to no user in particular, and the way to those that do."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from roost.core.clock import Clock
from roost.core.config import Config
from roost.core.ids import UserId
from roost.core.users import User
from roost.memory.base import MemoryProvider
from roost.runtime.account import Account
from roost.runtime.assembling import assembled
from roost.runtime.building import Builder
from roost.runtime.checks import Doctor
from roost.runtime.heartbeat import Heartbeat
from roost.runtime.parts import Parts
from roost.runtime.people import owner_of
from roost.runtime.shutdown import shut_down
from roost.store.store import Store
from roost.workspace.workspaces import Workspaces


class App:
    """`of` gives what one user can do. `started_at` is in milliseconds."""

    def __init__(
        self,
        parts: Parts,
        config: Config,
        *,
        started_at: int,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self._heartbeat = heartbeat
        self.parts = parts
        self.config = config
        self.started_at = started_at
        self.doctor = Doctor(config, parts.models, parts.catalogue.providers, parts.switchboard)

    def of(self, user: UserId) -> Account:
        return Account(self.parts, user)

    async def found_at(self, address: str) -> None:
        """Tell other servers where this one is reached."""
        if self._heartbeat is not None:
            await self._heartbeat.found_at(address)

    async def drain(self) -> None:
        """Take up nothing more if there are other servers, which do. What runs goes on."""
        if self._heartbeat is not None and await self._heartbeat.drain():
            self.parts.turns.hands_over = bool(self.config.recovery.auto_continue)
            self.parts.turns.resting = True

    async def owner(self) -> User:
        """Whoever runs this Roost: the first user, made when first asked for."""
        return await owner_of(self.parts.store)


@asynccontextmanager
async def running(
    store: Store,
    builder: Builder,
    config: Config,
    *,
    clock: Clock,
    memories: Mapping[str, MemoryProvider],
    workspaces: Workspaces | None = None,
    at_rest: bool = False,
) -> AsyncGenerator[App]:
    """Everything that lives, for as long as the block lasts. `memories` are the providers by name;
    they stay open until then, and so do workspaces. `at_rest` nothing goes on by itself: turns that
    were cut short, messages that wait and what is to be remembered are left to the next start."""
    engine = assembled(
        store,
        builder,
        config,
        clock=clock,
        memories=memories,
        workspaces=workspaces,
        at_rest=at_rest,
    )
    parts = engine.parts
    await parts.catalogue.load()
    await parts.switchboard.load()
    work = [parts.checkpoints.run(), parts.agents.run()]
    if not at_rest:
        work += [engine.recovery.run(), parts.memory.run()]
        work += [] if engine.care is None else [engine.care.run()]
        work += [] if engine.echo is None else [engine.echo.run()]
    heartbeat = engine.heartbeat
    if heartbeat is not None:
        await heartbeat.begin()
        work += [heartbeat.run(), heartbeat.listen()]
    app = App(parts, config, started_at=clock.now(), heartbeat=heartbeat)
    loops = [asyncio.create_task(each) for each in work]
    try:
        await engine.recovery.begin()
        if not at_rest:
            loops.append(asyncio.create_task(parts.turns.run()))
            loops.append(asyncio.create_task(engine.scheduler.run()))
        yield app
    finally:
        grace = config.server.grace.total_seconds()
        await app.drain()
        await shut_down(parts, engine.naming, loops, grace=grace, heartbeat=heartbeat)
        await parts.memory.drain(config.memory.grace.total_seconds())
        await engine.recall.close()
