"""A whole Roost with a channel: people write on a small platform, and get answers there."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from roost.channels.base import Channel, Limits, Options
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.clock import Clock, SystemClock
from roost.core.config import ChannelConfig
from roost.core.ids import SessionId
from roost.testing.models import ModelServer
from roost.tools.base import Tool
from tests.engine import ECHO, Engine, config_for
from tests.small_channel import LIMITS, SmallChannel, SmallPlatform


class Chat:
    """`platform` outlives Roost, which can be stopped, crashed and started again."""

    def __init__(
        self,
        folder: Path,
        server: ModelServer,
        *,
        clock: Clock | None = None,
        config: ChannelConfig = ChannelConfig(),  # noqa: B008 (frozen)
        limits: Limits = LIMITS,
        tools: tuple[Tool, ...] = (ECHO,),
    ) -> None:
        self.platform = SmallPlatform()
        self.server = server
        self._limits = limits
        whole = msgspec.structs.replace(config_for(folder, server), channels={"small": config})
        clock = clock or SystemClock()
        self.engine = Engine(folder, server, clock=clock, config=whole, tools=tools)
        self._stack = AsyncExitStack()
        self.channel = SmallChannel(self.platform, limits=limits)

    async def start(self) -> None:
        await self.engine.start()
        await self.host()

    async def host(self) -> None:
        self._stack = AsyncExitStack()
        registry = Registry({"small": self._make})
        await self._stack.enter_async_context(hosted(self.engine.app, registry))

    def _make(self, name: str, options: Options) -> Channel:
        self.channel = SmallChannel(self.platform, name=name, limits=self._limits)
        return self.channel

    async def unhost(self) -> None:
        """The channel stops; the rest of Roost goes on."""
        await self._stack.aclose()

    async def stop(self) -> None:
        await self._stack.aclose()
        await self.engine.stop()

    async def crash(self) -> None:
        """As after `kill -9`: from this moment on nothing more is written."""
        await self.engine.store.close()
        await self._stack.aclose()
        await self.engine.stop()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    # In few words.

    async def pair(self, sender: str = "42", *, name: str = "Ann") -> None:
        """They are the owner, as far as Roost knows."""
        owner = self.engine.owner.id
        await self.engine.store.pairings.put("small", sender, owner, by="test", name=name)

    async def session(self, route: str = "small:dm:42") -> SessionId:
        found = await self.engine.account.current(route)
        assert found is not None
        return found


@asynccontextmanager
async def chatting(chat: Chat) -> AsyncGenerator[Chat]:
    await chat.start()
    try:
        yield chat
    finally:
        await chat.stop()
