"""A channel that is stopped, or that lost its connection, leaves nothing behind: the libraries'
tasks and threads go with it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest

from roost.channels.base import Channel
from roost.channels.discord.channel import discord_channel
from roost.channels.slack.channel import slack
from roost.channels.telegram.channel import telegram
from roost.core.errors import ChannelError
from roost.core.keys import Key
from tests.fakes.discord_server import led_to, served
from tests.fakes.slack import APP_TOKEN, TOKEN, fake_slack
from tests.fakes.telegram import TOKEN as BOT_TOKEN
from tests.fakes.telegram import fake_telegram
from tests.fakes.telegram_calls import CUT
from tests.fakes.telegram_scene import ToldInlet

Break = Callable[[], Awaitable[object]]
Platform = Callable[[], AbstractAsyncContextManager[tuple[Channel, Break]]]


@asynccontextmanager
async def on_telegram() -> AsyncGenerator[tuple[Channel, Break]]:
    async with fake_telegram() as fake:

        async def cut() -> None:
            fake.meet("getUpdates", CUT)
            await fake.say("the question under way is answered, the next is cut")

        yield telegram("telegram", {"token": Key(BOT_TOKEN), "api": Key(fake.url)}), cut


@asynccontextmanager
async def on_discord() -> AsyncGenerator[tuple[Channel, Break]]:
    async with served() as fake:

        async def close() -> None:
            """A socket that is cut is opened again by the library; not one that is refused."""
            await fake.until(lambda: fake.gateway.connected)
            fake.gateway.open = False
            await fake.gateway.drop()

        with led_to(fake.url):
            yield discord_channel("discord", {"token": Key(fake.token)}), close


@asynccontextmanager
async def on_slack() -> AsyncGenerator[tuple[Channel, Break]]:
    async with fake_slack() as fake:
        given = {"token": TOKEN, "app_token": APP_TOKEN, "api": fake.api}
        yield slack("slack", {name: Key(value) for name, value in given.items()}), fake.drop


PLATFORMS = pytest.mark.parametrize("platform", [on_telegram, on_discord, on_slack])


@PLATFORMS
async def test_stopped_channel_leaves_no_task_and_no_thread(platform: Platform) -> None:
    async with platform() as (channel, _), leaving_nothing():
        running = await _connected(channel)
        running.cancel()
        with suppress(asyncio.CancelledError, ChannelError):
            await running


@PLATFORMS
async def test_lost_channel_leaves_no_task_and_no_thread(platform: Platform) -> None:
    async with platform() as (channel, break_it), leaving_nothing():
        running = await _connected(channel)
        await break_it()
        async with asyncio.timeout(60):
            with pytest.raises(ChannelError):
                await running


async def _connected(channel: Channel) -> asyncio.Task[None]:
    inlet = ToldInlet()
    running = asyncio.create_task(channel.run(inlet))
    async with asyncio.timeout(60):
        await inlet.up.wait()
    return running


@asynccontextmanager
async def leaving_nothing() -> AsyncGenerator[None]:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    yield
    assert _of_the_library(tasks) == []
    for thread in set(threading.enumerate()) - threads:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()


def _of_the_library(before: set[asyncio.Task[object]]) -> list[str]:
    """Tasks that began since, without those of the platform's server."""
    fresh = asyncio.all_tasks() - before
    names = [repr(task) for task in fresh if task is not asyncio.current_task()]
    return [name for name in names if "web_protocol" not in name and "tests/fakes" not in name]
