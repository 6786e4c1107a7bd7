"""discord.py as Roost uses it: events in order, no waiting inside, its errors as ours."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import discord

from roost.channels.base import COMMANDS, Command
from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    ChannelLost,
    ChannelRefused,
    Undeliverable,
)

# Below that it logs what people say.
logging.getLogger("discord").setLevel(logging.WARNING)

Hears = Callable[[discord.Client, str, tuple[object, ...]], None]

FAULTS = (ChannelError, discord.DiscordException, aiohttp.ClientError, OSError, RuntimeError)
"""What calls of the library's end with. A RuntimeError is aiohttp's, once its session is closed."""
_TOO_MUCH_ASKED = 4014
_REFUSALS = (4004, 4010, 4011, 4012, 4013, _TOO_MUCH_ASKED)
"""Close codes of the gateway after which connecting again would end the same way."""
_GOODBYE = 2.0
_GUESS = 5.0
"""Seconds, where a 429 does not say how many."""


class RoostClient(discord.Client):
    """Hands events on as they come. Keeps no messages and nobody's profile."""

    def __init__(self, channel: str, hears: Hears, *, all_messages: bool) -> None:
        # Said once a process, at each start, of what Roost does not do.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=discord.Intents(
                guilds=True,
                guild_messages=True,
                dm_messages=True,
                message_content=all_messages,
            ),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            http_trace=_trace(channel),
        )
        self._hears = hears

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """At once, and not each event in a task of its own, which would lose their order."""
        self._hears(self, event, args)

    async def settled(self) -> None:
        """The library forgets a task that waits for guilds after a connection came up."""
        waiting = cast(
            "asyncio.Task[None] | None",
            self._connection._ready_task,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
        )
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait([waiting])


def _trace(channel: str) -> aiohttp.TraceConfig:
    """The library would wait for the end of a rate limit, and try again after a 5xx, for up to half
    a minute and with nobody told. The outbox does both, and does not forget it in a restart."""

    async def on_end(
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        ended: aiohttp.TraceRequestEndParams,
    ) -> None:
        response = ended.response
        if response.status != 429 and response.status < 500:
            return
        response.close()
        if response.status == 429:
            raise ChannelBusy(channel, _seconds(response.headers.get("Retry-After", "")))
        raise ChannelLost(channel, f"Discord answered {response.status}")

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(on_end)
    return trace


def _seconds(header: str) -> float:
    try:
        return max(0.0, float(header))
    except ValueError:
        return _GUESS


@contextmanager
def told(channel: str) -> Generator[None]:
    """Raise what went wrong in a call as what Roost knows."""
    try:
        yield
    except FAULTS as error:
        raise as_channel_error(channel, error) from error


def as_channel_error(channel: str, error: Exception) -> ChannelError:
    match error:
        case ChannelError():
            return error
        case discord.RateLimited():
            return ChannelBusy(channel, error.retry_after)
        case discord.LoginFailure():
            return ChannelRefused(channel, str(error))
        case discord.ConnectionClosed() if error.code in _REFUSALS:
            return ChannelRefused(channel, f"the gateway closed with {error.code}")
        case discord.HTTPException() if error.status == 401:
            return ChannelRefused(channel, "the token is not taken")
        case discord.HTTPException() if 400 <= error.status < 500:
            return Undeliverable(channel, error.text or f"Discord answered {error.status}")
        case _:
            return ChannelLost(channel, str(error) or type(error).__name__)


async def register_commands(client: discord.Client) -> None:
    """Offer the commands in Discord's own list. Whatever was there before is replaced."""
    assert client.application_id is not None
    await client.http.bulk_upsert_global_commands(
        client.application_id, payload=[_registered(command) for command in COMMANDS]
    )


def _registered(command: Command) -> dict[str, Any]:
    options = [{"type": 3, "name": command.argument, "description": command.argument}]
    return {
        "type": 1,
        "name": command.name,
        "description": command.says,
        "options": options if command.argument else [],
        # In servers and in direct messages, for bots that were added to a server.
        "contexts": [0, 1],
        "integration_types": [0],
    }


async def connected(client: RoostClient, *work: Coroutine[None, None, None]) -> None:
    """Stay connected and do all the work, until one of it ends; then none of it. Not a task group:
    before Python 3.13 that forgets to be cancelled if something fails just then."""
    # A session that was cut off is gone on with all the same. For anything else the library would
    # wait up to 17 minutes between two tries.
    connection = client.connect(reconnect=False)
    tasks = [asyncio.create_task(each) for each in (connection, *work)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        # The library may miss that it is cancelled, but not that it is closed.
        await closed(client)
        await asyncio.wait(tasks)
    for task in done:
        task.result()


async def closed(client: RoostClient) -> None:
    """Discord is given a moment to say good-bye; a line that is dead is not waited for."""
    try:
        async with asyncio.timeout(_GOODBYE):
            await client.close()
    except TimeoutError:
        await client.http.close()
    await client.settled()


def wants_less(error: BaseException | None) -> bool:
    """Whether Discord refused because the bot asked to read what it may not."""
    return isinstance(error, discord.ConnectionClosed) and error.code == _TOO_MUCH_ASKED
