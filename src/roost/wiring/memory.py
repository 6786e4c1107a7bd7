"""The long-term memory that the configuration chose."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import NoReturn

from roost.core.clock import Clock
from roost.core.config import Config
from roost.core.ids import UserId
from roost.memory import embeddings
from roost.memory.base import MemoryProvider
from roost.memory.builtin import NAME as BUILTIN
from roost.memory.builtin import Builtin, half_life
from roost.memory.openviking import from_options
from roost.memory.ports import FactStore, VectorStore
from roost.memory.registry import Factory, Options, Registry
from roost.runtime.building import Builder
from roost.runtime.inquiries import Inquiries
from roost.store.store import Store

_CLOSE_SECONDS = 5


def memory(config: Config, store: Store, asking: Builder, clock: Clock) -> MemoryProvider | None:
    """The memory that was chosen. Roost's own needs a model that can tell what is worth keeping:
    while there is only the tiny one, which can't, nothing is marked for it."""
    name = config.memory.provider
    if name == "none":
        return None
    own = partial(built_in, config, store, asking, clock)
    return _registry(own).load(name, config.memory.options)


async def check_memory(config: Config) -> None:
    """Raises what a start would say of the memory that was chosen, where there is no store."""
    name, options = config.memory.provider, config.memory.options
    if name == BUILTIN:
        half_life(options)
        embeddings.from_options(options, _unopened)
    elif name != "none":
        async with closed_after({name: _registry(_unopened).load(name, options)}):
            pass


def _registry(own: Factory) -> Registry:
    return Registry({BUILTIN: own, "openviking": from_options})


def _unopened(_: object) -> NoReturn:
    raise AssertionError("only what was chosen is looked at")


def built_in(
    config: Config, store: Store, asking: Builder, clock: Clock, options: Options
) -> Builtin:
    def facts_of(user: UserId) -> FactStore:
        return store.of(user).facts

    def vectors_of(user: UserId) -> VectorStore:
        return store.of(user).vectors

    return Builtin(
        facts_of,
        Inquiries(store, asking, limits=config.limits),
        clock=clock,
        half_life=half_life(options),
        meanings=embeddings.from_options(options, vectors_of),
    )


@contextlib.asynccontextmanager
async def closed_after(memories: Mapping[str, MemoryProvider]) -> AsyncGenerator[None]:
    """They are anyone's: one that does not close holds up nothing."""
    try:
        yield
    finally:
        if closing := [asyncio.create_task(each.close()) for each in memories.values()]:
            await asyncio.wait(closing, timeout=_CLOSE_SECONDS)
