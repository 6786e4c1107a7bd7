"""A channel that runs while a test does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from roost.channels.base import Channel, Inlet
from roost.core.errors import ChannelError


@asynccontextmanager
async def running(channel: Channel, inlet: Inlet) -> AsyncGenerator[asyncio.Task[None]]:
    task = asyncio.create_task(channel.run(inlet))
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, ChannelError):
            await task
