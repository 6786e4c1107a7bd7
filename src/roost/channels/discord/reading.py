"""Reads Discord: what it tells as it happens, and from each chat's history what it told nobody.

Discord's gateway waits for no acknowledgement: what was sent to a process that died is not sent
again. So the last message that was kept is stored for each chat, with the message, and the chat is
read on from there: each time the connection was away, and before anything newer in it is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVarTuple

import discord
import structlog

from roost.channels.base import Inlet
from roost.channels.discord.client import told
from roost.channels.discord.inbound import Bot, Spot
from roost.core.errors import ChannelBusy, ChannelError
from roost.core.inbound import Inbound

log = structlog.stdlib.get_logger("roost.channels.discord")

BATCH = 100
"""Messages in one transaction; Discord's history comes in pages of as many."""
_ACKNOWLEDGED_WITHIN = 3.0
"""Seconds; Discord calls it failed after that."""
_Args = TypeVarTuple("_Args")
_Anywhere = (
    discord.abc.GuildChannel
    | discord.abc.PrivateChannel
    | discord.Thread
    | discord.PartialMessageable
)
_Spots = list[tuple[Spot, int | None]]
"""Chats of a guild with their last messages."""


class Reader:
    """Events come in by `hear`, and are kept in their order while `read` goes on."""

    def __init__(self, channel: str, inlet: Inlet) -> None:
        self._channel = channel
        self._inlet = inlet
        self._events: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._presses: asyncio.Queue[discord.Interaction] = asyncio.Queue()
        self._cursors: dict[str, str] = {}
        self._caught_up: set[str] = set()
        """Chats of which nothing is missing since the connection came up."""
        self._heard_in: dict[str, Spot] = {}
        self._left: dict[int, int] = {}
        """The last message that was kept of each guild before the connection came up."""
        self._fresh: list[Inbound] = []
        self._moved: dict[str, str] = {}

    def hear(self, client: discord.Client, event: str, args: tuple[object, ...]) -> None:
        match event, *args:
            case "connect" | "resumed", *_:
                self._inlet.connected(_me(client).name)
                self._later(self._connected, client, event)
            case "disconnect", *_:
                self._inlet.disconnected("Discord closed the connection")
                self._later(self._disconnected)
            case "message", discord.Message() as message:
                self._later(self._message, client, message)
            case "raw_message_edit", discord.RawMessageUpdateEvent() as update:
                self._later(self._edit, client, update.message)
            case "guild_available" | "guild_join", discord.Guild() as guild:
                # As it is now: what is said from here on comes as an event of its own.
                self._later(self._guild, client, _spots(guild))
            case "thread_create", discord.Thread() as thread:
                self._later(self._created, client, thread)
            case "guild_channel_create", discord.TextChannel() as channel:
                self._later(self._created, client, channel)
            case "interaction", discord.Interaction() as interaction:
                self._presses.put_nowait(interaction)
            case _:
                pass

    def _later(self, handle: Callable[[*_Args], Awaitable[None]], *args: *_Args) -> None:
        self._events.put_nowait(partial(handle, *args))

    async def read(self) -> None:
        self._cursors.update(await self._inlet.cursors())
        while True:
            handle = await self._events.get()
            await handle()
            if self._events.empty() or len(self._fresh) >= BATCH:
                await self._flush()

    async def _flush(self) -> None:
        fresh, moved = self._fresh, self._moved
        self._fresh, self._moved = [], {}
        if fresh or moved:
            await self._inlet.put(fresh, cursors=moved)

    async def _connected(self, client: discord.Client, event: str) -> None:
        """People's chats are read here, those of a guild once it is there. Of a connection that
        goes on Discord sends what was missed; what that had no room for is read all the same."""
        self._left = _newest(self._cursors)
        spots = {path: Spot(path) for path in self._cursors if path.startswith("dm:")}
        if event == "resumed":
            spots |= self._heard_in
        for spot in spots.values():
            await self._catch_up(client, spot)

    async def _disconnected(self) -> None:
        self._caught_up.clear()

    async def _message(self, client: discord.Client, message: discord.Message) -> None:
        spot = await self._spot(client, message.channel)
        await self._catch_up(client, spot)
        self._keep(client, message, spot)

    async def _edit(self, client: discord.Client, message: discord.Message) -> None:
        """Discord calls it an edit, too, when the preview of a link is there."""
        if message.edited_at is None:
            return
        spot = await self._spot(client, message.channel)
        inbound = Bot(self._channel, _me(client).id).message(message, spot, edited=True)
        if inbound is not None:
            self._fresh.append(inbound)

    async def _guild(self, client: discord.Client, spots: _Spots) -> None:
        for spot, last in spots:
            # A guild may have been away by itself.
            self._caught_up.discard(spot.path)
            if spot.path not in self._cursors:
                self._move(spot, self._beginning(spot, last))
            if last is not None and int(self._cursors[spot.path]) < last:
                await self._catch_up(client, spot)
                # Also where it may not be read, so that this is not asked again each time.
                self._move(spot, last)
            self._caught_up.add(spot.path)

    def _beginning(self, spot: Spot, last: int | None) -> int:
        """Where to read a chat of a guild from that was never seen: all of it, if it was made while
        Roost was away from the guild; else nothing."""
        left = self._left.get(spot.guild or 0, spot.id)
        return spot.id if spot.id > left or last is None else last

    async def _created(
        self, client: discord.Client, channel: discord.Thread | discord.TextChannel
    ) -> None:
        spot = await self._spot(client, channel)
        if spot.path not in self._cursors:
            self._move(spot, spot.id)

    async def _catch_up(self, client: discord.Client, spot: Spot) -> None:
        """Keep what was said after the last message that is kept, if that was not done yet."""
        while spot.path not in self._caught_up:
            try:
                if spot.path in self._cursors:
                    await self._read_on(client, spot)
                self._caught_up.add(spot.path)
            except ChannelBusy as busy:
                await asyncio.sleep(busy.seconds)
            except (discord.Forbidden, discord.NotFound) as error:
                log.info("a chat can't be read", chat=spot.path, why=str(error))
                self._caught_up.add(spot.path)

    async def _read_on(self, client: discord.Client, spot: Spot) -> None:
        chat = client.get_partial_messageable(spot.id, guild_id=spot.guild)
        after = discord.Object(int(self._cursors[spot.path]))
        async for message in chat.history(after=after, limit=None, oldest_first=True):
            self._keep(client, message, spot)
            if len(self._fresh) >= BATCH:
                await self._flush()

    def _keep(self, client: discord.Client, message: discord.Message, spot: Spot) -> None:
        self._heard_in[spot.path] = spot
        inbound = Bot(self._channel, _me(client).id).message(message, spot)
        if inbound is not None:
            self._fresh.append(inbound)
        self._move(spot, message.id)

    def _move(self, spot: Spot, message: int) -> None:
        if int(self._cursors.get(spot.path, -1)) < message:
            self._cursors[spot.path] = self._moved[spot.path] = str(message)

    async def read_presses(self, client: discord.Client) -> None:
        """What is pressed or chosen is kept before Discord is told that it was. Apart from the
        rest, as it has three seconds, however long a history takes to read."""
        while True:
            interaction = await self._presses.get()
            if interaction.channel is None:
                continue
            spot = await self._spot(client, interaction.channel)
            inbound = Bot(self._channel, _me(client).id).interaction(interaction, spot)
            if inbound is not None:
                await self._inlet.put([inbound])
                await self._acknowledge(interaction, inbound)

    async def _acknowledge(self, interaction: discord.Interaction, inbound: Inbound) -> None:
        try:
            async with asyncio.timeout(_ACKNOWLEDGED_WITHIN):
                with told(self._channel):
                    if inbound.press is not None:
                        await interaction.response.defer()
                    else:
                        await interaction.response.send_message(f"`{inbound.text}`", ephemeral=True)
        except (ChannelError, TimeoutError) as error:
            # Whoever pressed is told that it failed, though it is kept and will be done.
            log.info("a press was not acknowledged", why=str(error))

    async def _spot(self, client: discord.Client, channel: _Anywhere) -> Spot:
        """Of a guild that is not there yet the library knows not even what is a thread."""
        if isinstance(channel, discord.PartialMessageable) and channel.guild_id is not None:
            thread = Spot(f"guild:{channel.guild_id}:thread:{channel.id}")
            if thread.path in self._cursors:
                return thread
            return spot_of(await _fetched(client, channel))
        return spot_of(channel)


async def _fetched(client: discord.Client, channel: discord.PartialMessageable) -> _Anywhere:
    try:
        return await client.fetch_channel(channel.id)
    except (discord.Forbidden, discord.NotFound):
        return channel


def spot_of(channel: _Anywhere) -> Spot:
    match channel:
        case discord.PartialMessageable():
            guild = channel.guild_id
            return Spot(
                f"dm:{channel.id}" if guild is None else f"guild:{guild}:channel:{channel.id}"
            )
        case discord.abc.PrivateChannel():
            return Spot(f"dm:{channel.id}")
        case _:
            kind = "thread" if isinstance(channel, discord.Thread) else "channel"
            name = f"{channel.guild.name} #{channel.name}"
            return Spot(f"guild:{channel.guild.id}:{kind}:{channel.id}", name)


def _spots(guild: discord.Guild) -> _Spots:
    chats = (*guild.text_channels, *guild.voice_channels, *guild.stage_channels, *guild.threads)
    return [(spot_of(chat), chat.last_message_id) for chat in chats]


def _newest(cursors: dict[str, str]) -> dict[int, int]:
    newest: dict[int, int] = {}
    for path, last in cursors.items():
        guild = Spot(path).guild
        if guild is not None:
            newest[guild] = max(newest.get(guild, 0), int(last))
    return newest


def _me(client: discord.Client) -> discord.ClientUser:
    assert client.user is not None, "events come after the login"
    return client.user
