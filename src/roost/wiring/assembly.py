"""Roost, out of its parts, from start to stop."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from starlette.applications import Starlette

from roost.agent.execution import Guard
from roost.agent.masking import Mask
from roost.channels.base import Factory
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.keys import Key
from roost.http.app import create_app
from roost.llm.clients import Clients
from roost.llm.prices import Prices
from roost.llm.providers import Providers
from roost.memory.builtin import Builtin
from roost.runtime.app import App
from roost.runtime.app import running as running_app
from roost.runtime.building import Builder
from roost.runtime.departures import Departures
from roost.runtime.identities import Identities
from roost.runtime.tracing import traced
from roost.tools.base import Tool
from roost.tools.memory import MemoryTool
from roost.tools.toolsets import Toolsets
from roost.wiring.background import going_on, keep_up
from roost.wiring.connections import models
from roost.wiring.guarding import rules_of, secrets_of
from roost.wiring.hands import hands
from roost.wiring.memory import closed_after, memory
from roost.wiring.storing import OpenStore, opened_store


class Roost(NamedTuple):
    config: Config
    store: OpenStore
    app: App
    identities: Identities

    def web(self, stop: asyncio.Event) -> Starlette:
        """What is served over HTTP, until `stop` is set."""
        hooks = self.app.parts.switchboard.receive
        return create_app(self.app, self.identities, self.config.server, stop=stop, hooks=hooks)

    def draining(self, stop: asyncio.Event) -> contextlib.AbstractAsyncContextManager[None]:
        """From the moment that `stop` is set nothing is taken up that other servers can."""
        return going_on(self._drain_after(stop))

    async def _drain_after(self, stop: asyncio.Event) -> None:
        await stop.wait()
        await self.app.drain()


@contextlib.asynccontextmanager
async def running(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    *,
    tools: Iterable[Tool] = (),
    channels: Mapping[str, Factory] | None = None,
) -> AsyncGenerator[Roost]:
    """Everything between start and stop. Opening the store takes its lock, and may migrate it.
    Channels run where `channels` are given: kinds of them, besides those that are known."""
    clock = SystemClock()
    store = await opened_store(config, clock)
    try:
        async with (
            models(config, keys, environ) as (providers, clients),
            going_on(keep_up(store.upkeep)),
            traced(environ, clients.observers),
        ):
            made_of = _builders(config, store, providers, clients)
            # What learns from sessions asks a model, and no tools: those come after it.
            remembers = memory(config, store, made_of(tools=Toolsets()), clock)
            if isinstance(remembers, Builtin):
                tools = (*tools, MemoryTool(remembers, profile=config.memory.profile))
            memories = {} if remembers is None else {str(config.memory.provider): remembers}
            async with (
                closed_after(memories),
                hands(config, environ, store, clock, tools=tools) as acting,
                running_app(
                    store,
                    made_of(tools=acting.tools),
                    config,
                    clock=clock,
                    memories=memories,
                    workspaces=acting.workspaces,
                ) as app,
            ):
                acting.subagents.attach(app)
                acting.schedules.attach(app)
                identities = Identities(store, clock, departures=Departures(app.parts))
                async with going_on(identities.run()), _hosted(app, channels):
                    yield Roost(config, store, app, identities)
    finally:
        await store.close()


def _builders(
    config: Config, store: OpenStore, providers: Providers, clients: Clients
) -> partial[Builder]:
    """What is alike in all of them: they differ in their tools."""
    return partial(
        Builder,
        store,
        providers,
        clients,
        Prices(config.models.prices),
        threshold=config.compaction.threshold / 100,
        guard=Guard(rules_of(config.approvals), Mask(secrets_of(config, providers))),
    )


def _hosted(
    app: App, kinds: Mapping[str, Factory] | None
) -> contextlib.AbstractAsyncContextManager[object]:
    return contextlib.nullcontext() if kinds is None else hosted(app, Registry(kinds))
