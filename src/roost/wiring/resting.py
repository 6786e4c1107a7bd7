"""Roost on a data folder where nothing goes on, to look at what there is and put it in order."""

import contextlib
from collections.abc import AsyncGenerator, Mapping

from roost.channels.registry import Registry
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.keys import Key
from roost.llm.prices import Prices
from roost.memory.base import MemoryProvider
from roost.memory.builtin import NAME as BUILTIN
from roost.runtime.app import running as running_app
from roost.runtime.building import Builder
from roost.runtime.departures import Departures
from roost.runtime.identities import Identities
from roost.store.folder import WORKSPACES
from roost.tools.toolsets import Toolsets
from roost.wiring.assembly import Roost
from roost.wiring.connections import models
from roost.wiring.memory import built_in, closed_after
from roost.wiring.storing import opened_store
from roost.workspace.workspaces import Workspaces


@contextlib.asynccontextmanager
async def resting(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]
) -> AsyncGenerator[Roost]:
    """No turn goes on, no tool is there and nothing is remembered: what would is left to the next
    start. Nobody else may have the folder meanwhile."""
    clock = SystemClock()
    store = await opened_store(config, clock)
    try:
        async with models(config, keys, environ) as (providers, clients):
            prices, threshold = Prices(config.models.prices), config.compaction.threshold / 100
            builder = Builder(store, providers, clients, prices, Toolsets(), threshold=threshold)
            memories: dict[str, MemoryProvider] = {}
            if config.memory.provider == BUILTIN:
                # Also where no model could learn from what is said: what is known can be read.
                own = built_in(config, store, builder, clock, config.memory.options)
                memories[BUILTIN] = own
            workspaces = Workspaces(
                None,
                config.data / WORKSPACES,
                config.workspaces,
                clock=clock,
                is_admin=_nobody,
                agents_idle=config.agents.idle_ttl,
            )
            async with (
                closed_after(memories),
                running_app(
                    store,
                    builder,
                    config,
                    clock=clock,
                    memories=memories,
                    workspaces=workspaces,
                    at_rest=True,
                ) as app,
            ):
                app.parts.switchboard.kinds = Registry().kinds
                identities = Identities(store, clock, departures=Departures(app.parts))
                yield Roost(config, store, app, identities)
    finally:
        await store.close()


async def _nobody(_: object) -> bool:
    return False
