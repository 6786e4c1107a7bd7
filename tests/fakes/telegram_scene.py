"""A bot at work in a Telegram of the test's own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from roost.channels.base import Inbound
from roost.channels.telegram.channel import TelegramChannel, telegram
from roost.core.keys import Key
from tests.fakes.inlet import MemoryInlet
from tests.fakes.telegram import TOKEN, FakeTelegram


class ToldInlet(MemoryInlet):
    """Tells when there is a connection."""

    def __init__(self) -> None:
        super().__init__()
        self.up = asyncio.Event()

    def connected(self, bot: str) -> None:
        super().connected(bot)
        self.up.set()


class Scene:
    def __init__(self, fake: FakeTelegram, inlet: MemoryInlet, channel: TelegramChannel) -> None:
        self.fake = fake
        self.inlet = inlet
        self.channel = channel
        self.running = asyncio.create_task(channel.run(inlet))

    async def until_over(self) -> None:
        """The connection ends by itself."""
        await asyncio.wait_for(asyncio.wait({self.running}), timeout=60)

    async def heard(self, text: str | None = None, **more: object) -> Inbound:
        """What becomes of something that is said."""
        count = len(self.inlet.kept)
        await self.fake.say(text, **more)
        return (await self.inlet.until_kept(count + 1))[-1]

    async def ignored(self, text: str | None = None, **more: object) -> None:
        """Something is said, and only what is said after it is heard."""
        count = len(self.inlet.kept)
        await self.fake.say(text, **more)
        assert (await self.heard("and this?")).text == "and this?"
        assert len(self.inlet.kept) == count + 1


def made(fake: FakeTelegram, **options: str) -> TelegramChannel:
    given = {"token": TOKEN, "api": fake.url, **options}
    return telegram("telegram", {name: Key(value) for name, value in given.items()})


@asynccontextmanager
async def at_work(
    fake: FakeTelegram, inlet: ToldInlet | None = None, **options: str
) -> AsyncGenerator[Scene]:
    """Connected. What the channel raises is raised when the block is left."""
    inlet = inlet or ToldInlet()
    inlet.up.clear()
    scene = Scene(fake, inlet, made(fake, **options))
    try:
        await _first_of(scene.running, asyncio.create_task(inlet.up.wait()))
        yield scene
    finally:
        scene.running.cancel()
        with suppress(asyncio.CancelledError):
            await scene.running


async def _first_of(running: asyncio.Task[None], up: asyncio.Task[Literal[True]]) -> None:
    async with asyncio.timeout(60):
        await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED)
    up.cancel()
