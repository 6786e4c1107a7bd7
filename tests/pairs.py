"""Two engines on one PostgreSQL, and the line by which the second hears the first."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

from roost.core.clock import SystemClock
from roost.core.config import ChannelConfig, CompactionConfig, Config
from roost.core.ids import SessionId, UserId
from roost.core.settings import Count
from roost.runtime.account import Account
from roost.testing.models import ModelServer
from roost.workspace.workspaces import Workspaces
from tests.cutting import cutting, nothing
from tests.engine import SECONDS, Engine, config_for, said, started
from tests.store_driver import beside, databases, directs

Words = Literal["heard", "lost"]
"""Whether the second hears the first."""
NEVER = 3600.0


@asynccontextmanager
async def paired(
    folder: Path, server: ModelServer, words: Words
) -> AsyncGenerator[tuple[Engine, Engine]]:
    """`folder` is the first one's; the second has one beside it."""
    way, elsewhere = folder.parent / "line", folder.parent / "elsewhere"
    way.mkdir()
    config = small_window(config_for(folder, server))
    async with AsyncExitStack() as stack:
        here = Engine(folder, server, clock=SystemClock(), config=config)
        await stack.enter_async_context(started(here))
        line = await stack.enter_async_context(cutting(databases[folder], way))
        directs[elsewhere] = line.address(databases[folder])
        rooms = Workspaces(
            None,
            beside(folder, elsewhere) / "workspaces",
            config.workspaces,
            clock=SystemClock(),
            is_admin=_is_admin,
        )
        there = Engine(elsewhere, server, clock=SystemClock(), config=config, workspaces=rooms)
        await stack.enter_async_context(started(there))
        if words == "lost":
            line.answers = nothing
            stack.callback(line.cut_all)  # else it waits for a goodbye
        yield here, there
    del databases[elsewhere], directs[elsewhere]


def small_window(config: Config) -> Config:
    """With a channel, and so little room that sessions are soon compacted."""
    test = msgspec.structs.replace(config.providers["test"], context=Count(4000))
    return msgspec.structs.replace(
        config,
        channels={"small": ChannelConfig()},
        providers={**config.providers, "test": test},
        compaction=CompactionConfig(idle=timedelta(milliseconds=50)),
    )


async def _is_admin(user: UserId) -> bool:
    return False


async def seen(account: Account, session: SessionId, words: str) -> None:
    """Wait until a watcher has been shown these words."""
    shown = ""
    async with asyncio.timeout(SECONDS), account.watch(session) as events:
        while words not in shown:
            shown += said(await anext(events))
