"""Roost, running: what belongs to no user in particular, and the way to those that do."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from roost.agent.loop import Agent
from roost.core.clock import Clock
from roost.core.config import Config, MemoryConfig
from roost.core.ids import SessionId, UserId
from roost.core.users import User
from roost.memory.base import MemoryProvider, Scope
from roost.memory.builtin import Builtin
from roost.runtime.account import Account
from roost.runtime.agents import Agents
from roost.runtime.building import Builder
from roost.runtime.catalogue import Catalogue
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.compactions import Compactions
from roost.runtime.feed import Feeds
from roost.runtime.hub import Hub
from roost.runtime.memory_commits import MemoryCommits, PostponedCommits
from roost.runtime.metrics import Metrics
from roost.runtime.models import Models
from roost.runtime.naming import Naming
from roost.runtime.parts import Memories, Parts
from roost.runtime.people import owner_of
from roost.runtime.recall import Recall
from roost.runtime.recovery import Recovery
from roost.runtime.shutdown import shut_down
from roost.runtime.turn_run import Engine
from roost.runtime.turns import Turns
from roost.runtime.workspace_care import WorkspaceCare
from roost.store.store import Store
from roost.workspace.workspaces import Workspaces


class App:
    """`of` gives what one user can do."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

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
    hub = Hub(store)
    metrics = Metrics()
    builder.observers.add(metrics.happened)
    memory = _commits(store, config.memory, memories, clock, at_rest=at_rest)
    recall = Recall(memories, partial(_scope, config.memory, memories, builder))
    engine = _engine(store, hub, builder, config, clock, recall, evicted=memory.evicted)
    turns = Turns(engine)
    naming = Naming(store, hub, builder)
    idle = config.compaction.idle.total_seconds()
    limits = config.limits
    compactions = Compactions(store, hub, turns, builder, clock=clock, idle=idle, limits=limits)
    turns.observers += [naming.finished, compactions.finished]
    window = 0.0 if at_rest else config.recovery.auto_continue.total_seconds()
    recovery = Recovery(store, hub, turns, window=window)
    checkpoints, agents = engine.checkpoints, engine.agents
    models = Models(builder.providers, builder.clients, builder.prices)

    def providers_changed() -> None:
        agents.renew()
        models.forget()

    catalogue = Catalogue(store, builder.providers, hide=builder.hide, changed=providers_changed)
    await catalogue.load()
    parts = Parts(
        store,
        hub,
        checkpoints,
        turns,
        agents,
        builder,
        compactions,
        memory,
        workspaces,
        Feeds(store, hub),
        Memories(memories, config.memory.provider, config.memory.profile),
        catalogue,
        models,
        metrics,
    )
    work = [checkpoints.run(), agents.run()]
    if not at_rest:
        work += [recovery.run(), memory.run()]
    if workspaces is not None and not at_rest:
        care = WorkspaceCare(workspaces, store, turns, hub)
        turns.observers.append(care.finished)
        work.append(care.run())
    loops = [asyncio.create_task(each) for each in work]
    try:
        await recovery.begin()
        if not at_rest:
            loops.append(asyncio.create_task(turns.run()))
        yield App(parts)
    finally:
        grace = config.server.grace.total_seconds()
        await shut_down(parts, naming, loops, grace=grace)
        await memory.drain(config.memory.grace.total_seconds())
        await recall.close()


def _commits(
    store: Store,
    config: MemoryConfig,
    memories: Mapping[str, MemoryProvider],
    clock: Clock,
    *,
    at_rest: bool,
) -> MemoryCommits:
    kind = PostponedCommits if at_rest else MemoryCommits
    return kind(
        store,
        memories,
        clock=clock,
        idle=config.idle_commit.total_seconds(),
        call_limit=config.timeout.total_seconds(),
    )


def _engine(
    store: Store,
    hub: Hub,
    builder: Builder,
    config: Config,
    clock: Clock,
    recall: Recall,
    *,
    evicted: Callable[[SessionId], None],
) -> Engine:
    return Engine(
        store,
        hub,
        Checkpoints(store.work, renew=config.leases.ttl.total_seconds() / 3),
        Agents[Agent](
            limit=config.agents.max,
            idle_ttl=config.agents.idle_ttl.total_seconds(),
            clock=clock,
            evicted=evicted,
        ),
        builder,
        clock,
        config.limits,
        config.approvals.ttl.total_seconds(),
        recall,
    )


def _scope(
    config: MemoryConfig, memories: Mapping[str, MemoryProvider], builder: Builder, user: UserId
) -> Scope | None:
    """Where a user's turns are remembered; None is nowhere. Roost's own memory learns by a model,
    and the tiny one can't: until there is another, nothing is to be learned from."""
    if config.provider not in memories:
        return None
    if isinstance(memories[config.provider], Builtin) and builder.is_tiny():
        return None
    return Scope(config.provider, config.profile, user)
