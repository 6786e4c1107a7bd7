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
from roost.runtime.parts import Parts
from roost.runtime.people import owner_of
from roost.runtime.shutdown import shut_down
from roost.store.store import Store
from roost.workspace.workspaces import Workspaces


class App:
    """`of` gives what one user can do. `started_at` is in milliseconds."""

    def __init__(self, parts: Parts, config: Config, *, started_at: int) -> None:
        self.parts = parts
        self.config = config
        self.started_at = started_at
        self.doctor = Doctor(config, parts.models, parts.catalogue.providers)

    def of(self, user: UserId) -> Account:
        return Account(self.parts, user)

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
    work = [parts.checkpoints.run(), parts.agents.run()]
    if not at_rest:
        work += [engine.recovery.run(), parts.memory.run()]
        work += [] if engine.care is None else [engine.care.run()]
    loops = [asyncio.create_task(each) for each in work]
    try:
        await engine.recovery.begin()
        if not at_rest:
            loops.append(asyncio.create_task(parts.turns.run()))
        yield App(parts, config, started_at=clock.now())
    finally:
        grace = config.server.grace.total_seconds()
        await shut_down(parts, engine.naming, loops, grace=grace)
        await parts.memory.drain(config.memory.grace.total_seconds())
        await engine.recall.close()
