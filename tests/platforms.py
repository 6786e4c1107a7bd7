"""A whole Roost on a messaging platform, by its real library, and how far it has come there."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

import msgspec

from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.config import ChannelConfig
from roost.core.keys import Key
from roost.core.messages import plain_text
from roost.core.turns import Turn
from tests.engine import ASKS, Engine, FunctionTool, eventually, started

T = TypeVar("T")


async def _do(arguments: str, context: object) -> str:
    return "done"


WORK = FunctionTool("work", _do, asks=ASKS)


@asynccontextmanager
async def connected(
    engine: Engine, kind: str, options: Mapping[str, str], *, allow: str
) -> AsyncGenerator[Engine]:
    """With one bot, and one person who may talk to it."""
    given = {name: Key(value) for name, value in options.items()}
    channels = {kind: ChannelConfig(allow=(allow,), options=given)}
    engine.config = msgspec.structs.replace(engine.config, channels=channels)
    async with started(engine), hosted(engine.app, Registry()):
        yield engine


async def turns_on(engine: Engine, route: str) -> Sequence[Turn]:
    session = await engine.account.current(route)
    return () if session is None else await engine.account.turns(session)


async def said(engine: Engine, route: str) -> list[str]:
    return [plain_text(turn.parts) for turn in await turns_on(engine, route)]


async def answered(engine: Engine, route: str, count: int = 1) -> None:
    """So many turns have ended, and nothing waits to be sent."""

    async def is_done() -> bool:
        ended = [turn for turn in await turns_on(engine, route) if turn.state == "completed"]
        return len(ended) == count and await engine.store.outbox.next(route) is None

    await eventually(is_done)


class Watched(Protocol):
    """A platform that tells of what happens on it."""

    async def until(self, _holds: Callable[[], object], /) -> None: ...


async def first(platform: Watched, found: Callable[[], Sequence[T]]) -> T:
    """The first of them, once there is one."""
    await platform.until(found)
    return found()[0]
