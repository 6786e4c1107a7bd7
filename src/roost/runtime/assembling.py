"""Puts the application together: who knows whom, before anything of it runs."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from roost.agent.loop import Agent
from roost.core.clock import Clock
from roost.core.config import Config, MemoryConfig
from roost.core.ids import SessionId, UserId
from roost.memory.base import MemoryProvider, Scope
from roost.memory.builtin import Builtin
from roost.runtime.agents import Agents
from roost.runtime.building import Builder
from roost.runtime.catalogue import Catalogue
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.compactions import Compactions
from roost.runtime.contacts import Contacts
from roost.runtime.delivery import Delivery
from roost.runtime.echo import Echo
from roost.runtime.feed import Feeds
from roost.runtime.heartbeat import Heartbeat, Vacancy, silence_of
from roost.runtime.hub import Hub
from roost.runtime.memory_commits import MemoryCommits, PostponedCommits
from roost.runtime.metrics import Metrics
from roost.runtime.models import Models
from roost.runtime.naming import Naming
from roost.runtime.parts import Memories, Parts
from roost.runtime.recall import Recall
from roost.runtime.recovery import Recovery
from roost.runtime.remote_streams import RemoteStreams
from roost.runtime.rounds import Rounds
from roost.runtime.scheduler import Scheduler
from roost.runtime.switchboard import Switchboard
from roost.runtime.turn_run import Engine
from roost.runtime.turns import Turns
from roost.runtime.workspace_care import WorkspaceCare
from roost.store.store import Store
from roost.workspace.workspaces import Workspaces


class Assembled(NamedTuple):
    """`parts` is what everyone uses; the rest is set going, and stopped, by whoever runs it."""

    parts: Parts
    naming: Naming
    recovery: Recovery
    recall: Recall
    care: WorkspaceCare | None
    scheduler: Scheduler
    echo: Echo | None
    heartbeat: Heartbeat | None


def assembled(
    store: Store,
    builder: Builder,
    config: Config,
    *,
    clock: Clock,
    memories: Mapping[str, MemoryProvider],
    workspaces: Workspaces | None,
    at_rest: bool,
) -> Assembled:
    elsewhere = None if store.signals is None else RemoteStreams(store.streams)
    hub, metrics = Hub(store, elsewhere=elsewhere), Metrics()
    builder.observers.add(metrics.happened)
    memory = _commits(store, config.memory, memories, clock, at_rest=at_rest)
    recall = Recall(memories, partial(_scope, config.memory, memories, builder))
    engine = _engine(store, hub, builder, config, clock, recall, evicted=memory.evicted)
    turns = Turns(engine)
    naming = Naming(store, hub, builder)
    idle, limits = config.compaction.idle.total_seconds(), config.limits
    compactions = Compactions(
        store, hub, turns, builder, clock=clock, idle=idle, limits=limits, rounds=engine.rounds
    )
    turns.observers += [naming.finished, compactions.finished]
    window = 0.0 if at_rest else config.recovery.auto_continue.total_seconds()
    models = Models(builder.providers, builder.clients, builder.prices)
    parts = Parts(
        store,
        hub,
        engine.checkpoints,
        turns,
        engine.agents,
        builder,
        compactions,
        memory,
        workspaces,
        Feeds(store, hub),
        Memories(memories, config.memory.provider, config.memory.profile),
        _catalogue(store, builder, engine.agents, models),
        models,
        metrics,
        limits,
        asyncio.Event(),
        engine.delivery,
        Switchboard(store, config.channels, clock=clock, hide=builder.hide),
        Contacts(store, engine.delivery),
        Vacancy(),
    )
    recovery = Recovery(store, hub, turns, None if at_rest else engine.delivery, window=window)
    care, scheduler = _care(parts), Scheduler(parts)
    echo, heartbeat = _joined(parts, recovery, config, at_rest=at_rest)
    return Assembled(parts, naming, recovery, recall, care, scheduler, echo, heartbeat)


def _care(parts: Parts) -> WorkspaceCare | None:
    if parts.workspaces is None:
        return None
    care = WorkspaceCare(parts.workspaces, parts.store, parts.turns, parts.hub)
    parts.turns.observers.append(care.finished)
    return care


def _joined(
    parts: Parts, recovery: Recovery, config: Config, *, at_rest: bool
) -> tuple[Echo | None, Heartbeat | None]:
    """What hears the other servers, and what tells them that this one is there."""
    signals = parts.store.signals
    echo = None if signals is None else Echo(signals, parts)
    heartbeat = None if at_rest else _heartbeat(parts.store, config)
    if heartbeat is not None:
        heirs = [recovery.wake, parts.turns.wake, parts.vacancy.tell, parts.alarm.set]
        heartbeat.heirs += heirs
    return echo, heartbeat


def _heartbeat(store: Store, config: Config) -> Heartbeat | None:
    if store.servers is None or store.signals is None:
        return None
    silence = silence_of(config.leases.ttl.total_seconds())
    return Heartbeat(store.servers, store.signals, silence=silence)


def _catalogue(store: Store, builder: Builder, agents: Agents[Agent], models: Models) -> Catalogue:
    def changed() -> None:
        agents.renew()
        models.forget()

    return Catalogue(store, builder.providers, hide=builder.hide, changed=changed)


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
        Delivery(elsewhere=store.signals is not None),
        Rounds(),
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
