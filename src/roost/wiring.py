"""Builds Roost out of its parts; the only file that names concrete classes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import aiohttp
import structlog
from starlette.applications import Starlette

from roost import __version__
from roost.core.clock import Clock, SystemClock
from roost.core.config import Config
from roost.core.errors import RoostError
from roost.core.ids import UserId
from roost.core.keys import Key
from roost.http.app import create_app
from roost.llm.clients import Clients
from roost.llm.prices import Prices
from roost.llm.providers import Providers
from roost.memory import embeddings
from roost.memory.base import MemoryProvider
from roost.memory.builtin import Builtin, half_life
from roost.memory.openviking import from_options
from roost.memory.ports import FactStore, VectorStore
from roost.memory.registry import Options, Registry
from roost.runtime.app import App
from roost.runtime.app import running as running_app
from roost.runtime.building import Builder
from roost.runtime.identities import Identities
from roost.runtime.inquiries import Inquiries
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.store import Store
from roost.store.upkeep import Retention, Upkeep
from roost.tools.base import Tool
from roost.tools.memory import MemoryTool
from roost.tools.toolsets import Toolsets

log = structlog.stdlib.get_logger("roost.upkeep")

_UPKEEP_SECONDS = 3600
_CLOSE_SECONDS = 5


class Roost(NamedTuple):
    config: Config
    store: SqliteStore
    app: App
    identities: Identities

    def web(self, stop: asyncio.Event) -> Starlette:
        """What is served over HTTP, until `stop` is set."""
        return create_app(self.app, self.identities, self.config.server, stop=stop)


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
        async with (
            models(config, keys, environ) as (providers, clients),
            _going_on(_keep_up(store.upkeep)),
        ):
            made_of = partial(
                Builder,
                store,
                providers,
                clients,
                Prices(config.models.prices),
                threshold=config.compaction.threshold / 100,
            )
            # What learns from sessions asks a model, and no tools: those come after it.
            memory = _memory(config, store, made_of(tools=Toolsets()), providers, clock)
            if isinstance(memory, Builtin):
                tools = (*tools, MemoryTool(memory, profile=config.memory.profile))
            memories = {} if memory is None else {str(config.memory.provider): memory}
            builder = made_of(tools=Toolsets(tools))
            identities = Identities(store, clock)
            async with (
                _closed_after(memories),
                running_app(store, builder, config, clock=clock, memories=memories) as app,
                _going_on(identities.run()),
            ):
                yield Roost(config, store, app, identities)
    finally:
        await store.close()


def _memory(
    config: Config, store: Store, asking: Builder, providers: Providers, clock: Clock
) -> MemoryProvider | None:
    """The memory that was chosen. Roost's own needs a model that can tell what is worth keeping:
    the tiny one can't, and then nothing is remembered."""

    def built_in(options: Options) -> Builtin:
        inquiries = Inquiries(store, asking, limits=config.limits)
        return Builtin(
            facts_of,
            inquiries,
            clock=clock,
            half_life=half_life(options),
            meanings=embeddings.from_options(options, vectors_of),
        )

    def facts_of(user: UserId) -> FactStore:
        return store.of(user).facts

    def vectors_of(user: UserId) -> VectorStore:
        return store.of(user).vectors

    name = config.memory.provider
    if name == "none" or (name == "builtin" and _only_tiny(providers)):
        return None
    registry = Registry({"builtin": built_in, "openviking": from_options})
    return registry.load(name, config.memory.options)


@contextlib.asynccontextmanager
async def _closed_after(memories: Mapping[str, MemoryProvider]) -> AsyncGenerator[None]:
    """They are anyone's: one that does not close holds up nothing."""
    try:
        yield
    finally:
        if closing := [asyncio.create_task(each.close()) for each in memories.values()]:
            await asyncio.wait(closing, timeout=_CLOSE_SECONDS)


def _only_tiny(providers: Providers) -> bool:
    try:
        return (providers.small() or providers.default()).profile.brief
    except RoostError:
        return True  # a model that is not set up right can't be asked either


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
async def _going_on(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """Beside the block, until that ends."""
    # Not a task group: that would wrap whatever error ends the block.
    task = asyncio.create_task(work)
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
