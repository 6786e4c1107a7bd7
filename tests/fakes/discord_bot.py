"""Roost's channel, run against the fake Discord."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from roost.channels.discord.channel import DiscordChannel, discord_channel
from roost.core.errors import ChannelLost
from roost.core.keys import Key
from tests.fakes.discord import FakeDiscord
from tests.fakes.discord_server import led_to
from tests.fakes.inlet import MemoryInlet


@asynccontextmanager
async def running(fake: FakeDiscord, inlet: MemoryInlet) -> AsyncGenerator[DiscordChannel]:
    """Connected, until the end of the block. What ended it earlier is raised there."""
    channel = discord_channel("discord", {"token": Key(fake.token)})
    before = fake.gateway.identified
    with led_to(fake.url):
        task = asyncio.create_task(channel.run(inlet))
        ready = asyncio.create_task(fake.until(lambda: fake.gateway.identified > before))
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        try:
            if task.done():
                task.result()
            yield channel
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def restarted(
    fake: FakeDiscord, inlet: MemoryInlet
) -> AsyncGenerator[Callable[[], Awaitable[None]]]:
    """Run anew whenever it is lost, and whenever the block says so."""
    task = asyncio.create_task(asyncio.sleep(0))

    async def run() -> None:
        while True:
            with suppress(ChannelLost):
                await discord_channel("discord", {"token": Key(fake.token)}).run(inlet)

    async def restart() -> None:
        nonlocal task
        task.cancel()
        await asyncio.wait([task])
        task = asyncio.create_task(run())

    with led_to(fake.url):
        await restart()
        await fake.until(lambda: fake.gateway.connected)
        try:
            yield restart
        finally:
            task.cancel()
            await asyncio.wait([task])
