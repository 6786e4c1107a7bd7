"""Builds Roost out of its parts; the only file that names concrete classes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import NamedTuple

import aiohttp
import structlog
from starlette.applications import Starlette

from roost import __version__
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.keys import Key
from roost.http.app import create_app
from roost.llm.clients import Clients
from roost.llm.prices import Prices
from roost.llm.providers import Providers
from roost.runtime.app import App
from roost.runtime.app import running as running_app
from roost.runtime.building import Builder
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.upkeep import Retention, Upkeep
from roost.tools.base import Tool, Toolbox

log = structlog.stdlib.get_logger("roost.upkeep")

_UPKEEP_SECONDS = 3600


class Roost(NamedTuple):
    store: SqliteStore
    app: App
    web: Starlette


@contextlib.asynccontextmanager
async def running(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    *,
    tools: Iterable[Tool] = (),
) -> AsyncGenerator[Roost]:
    """Everything between start and stop. Opening the store takes its lock, and may migrate it."""
    keep = config.retention
    clock = SystemClock()
    store = open_store(
        config.data,
        clock=clock,
        version=__version__,
        lease_ttl=config.leases.ttl.total_seconds(),
        retention=Retention(
            idempotency_keys=keep.idempotency_keys.total_seconds(),
            inbox=keep.inbox.total_seconds(),
            events=keep.events.total_seconds(),
        ),
    )
    try:
        async with models(config, keys, environ) as (providers, clients), _kept_up(store.upkeep):
            prices = Prices(config.models.prices)
            builder = Builder(
                store,
                providers,
                clients,
                prices,
                Toolbox(tools),
                threshold=config.compaction.threshold / 100,
            )
            async with running_app(store, builder, config, clock=clock, memories={}) as app:
                yield Roost(store, app, create_app(version=__version__))
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def models(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]
) -> AsyncGenerator[tuple[Providers, Clients]]:
    """The models that can be asked, for as long as the block lasts."""
    providers = Providers.of(config, keys, environ)
    async with (
        aiohttp.ClientSession(trust_env=True, connector=_unlimited()) as connections,
        aiohttp.ClientSession(connector=_unlimited()) as direct,
    ):
        clients = Clients(providers, connections, direct)
        try:
            yield providers, clients
        finally:
            await clients.close()


def _unlimited() -> aiohttp.TCPConnector:
    """By itself aiohttp holds a hundred connections, and the next session would wait (D8)."""
    return aiohttp.TCPConnector(limit=0)


@contextlib.asynccontextmanager
async def _kept_up(upkeep: Upkeep) -> AsyncGenerator[None]:
    # Not a task group: that would wrap whatever error ends the block.
    task = asyncio.create_task(_keep_up(upkeep))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _keep_up(upkeep: Upkeep) -> None:
    while True:
        try:
            swept = await upkeep.run()
            log.debug("upkeep done", keys=swept.keys, inbox=swept.inbox, events=swept.events)
        except Exception:
            log.exception("upkeep failed; it is tried again in an hour")
        await asyncio.sleep(_UPKEEP_SECONDS)
