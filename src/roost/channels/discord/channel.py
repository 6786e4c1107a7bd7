"""Discord: direct messages, mentions in servers, threads, slash commands and buttons."""

import base64
import hashlib
import io
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import discord
import structlog

from roost.channels.base import Inlet, Limits, Options, Piece, Rate
from roost.channels.discord.client import (
    FAULTS,
    RoostClient,
    as_channel_error,
    closed,
    connected,
    register_commands,
    told,
    wants_less,
)
from roost.channels.discord.inbound import attachments
from roost.channels.discord.markdown import to_discord
from roost.channels.discord.reading import Reader
from roost.core.errors import (
    ChannelError,
    ChannelLost,
    ChannelRefused,
    ConfigError,
    Undeliverable,
)
from roost.core.inbound import InboundFile
from roost.core.keys import Key
from roost.core.outbound import Button

log = structlog.stdlib.get_logger("roost.channels.discord")

LIMITS = Limits(
    text=2000,
    chat=Rate(5, 5),
    overall=Rate(45, 1),
    edit_every=1.5,
    file_in=25 << 20,
    file_out=10 << 20,
    keyed=True,
)
_FAR_TOO_LONG = 5 * LIMITS.text
_LABEL = 80
_BUTTONS_IN_ROW = 5


def discord_channel(name: str, options: Options) -> "DiscordChannel":
    if unknown := sorted(set(options) - {"token"}):
        raise ConfigError(f"The channel {name} (Discord) has no option {unknown[0]}.")
    if "token" not in options:
        raise ConfigError(f"The channel {name} needs the token of a Discord bot.")
    return DiscordChannel(name, options["token"])


class DiscordChannel:
    """See `channels.base.Channel`. An address ends with the id of a Discord channel, which a thread
    is, too."""

    def __init__(self, name: str, token: Key) -> None:
        self._name = name
        self._token = token
        self._client: discord.Client | None = None
        self._all_messages = True
        self._offered = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def run(self, inlet: Inlet) -> None:
        try:
            await self._session(inlet)
        except ChannelRefused as refused:
            if not self._all_messages or not wants_less(refused.__cause__):
                raise
            log.warning(
                "Discord only passes on direct messages and mentions: the bot's setting "
                "'Message Content Intent' is off",
                channel=self._name,
            )
            self._all_messages = False
            await self._session(inlet)

    async def check(self) -> str:
        client = RoostClient(self._name, _deaf, all_messages=False)
        try:
            await client.login(self._token.reveal())
            return "" if client.user is None else client.user.name
        except FAULTS as error:
            raise self._ended(error) from error
        finally:
            await closed(client)

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        options: dict[str, Any] = {"nonce": _nonce(key)}
        if piece.reply_to is not None:
            options["reference"] = discord.MessageReference(
                message_id=int(piece.reply_to), channel_id=_id(to), fail_if_not_exists=False
            )
        if piece.file is not None:
            options["file"] = discord.File(io.BytesIO(piece.file.data), piece.file.name)
        if piece.buttons:
            options["view"] = _view(piece.buttons)
        if piece.text:
            options["content"] = to_discord(piece.text)
        with self._at(to) as chat:
            # Without previews: an address that a page talked the model into would be fetched, with
            # whatever it carries, before anyone has seen it.
            sent: discord.Message = await chat.send(suppress_embeds=True, **options)
        return str(sent.id)

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        view = _view(piece.buttons) if piece.buttons else None
        with self._at(to) as chat:
            sent = chat.get_partial_message(int(message))
            await sent.edit(content=to_discord(piece.text), view=view)

    async def typing(self, to: str) -> None:
        with self._at(to) as chat:
            await chat.typing()

    async def fetch(self, file: InboundFile) -> bytes:
        chat_id, message_id, number = file.ref.split("/")
        with self._at(chat_id) as chat:
            message = await chat.fetch_message(int(message_id))
            for attachment in attachments(message):
                if attachment.id == int(number):
                    return await attachment.read()
        raise Undeliverable(self._name, f"the file {file.name} is gone")

    def measure(self, markdown: str) -> int:
        """In UTF-16, as the longer of the two ways in which Discord's programs count."""
        if len(markdown) > _FAR_TOO_LONG:
            return len(markdown)  # no need to know it better, and it would take a while
        return len(to_discord(markdown).encode("utf-16-le")) // 2

    def chat_of(self, to: str) -> str:
        return to

    async def _session(self, inlet: Inlet) -> None:
        reader = Reader(self._name, inlet)
        client = RoostClient(self._name, reader.hear, all_messages=self._all_messages)
        try:
            await client.login(self._token.reveal())
            await self._offer_commands(client)
            self._client = client
            await connected(client, reader.read(), reader.read_presses(client))
            raise ChannelLost(self._name, "Discord closed the connection")
        except FAULTS as error:
            raise self._ended(error) from error
        finally:
            self._client = None
            await closed(client)

    async def _offer_commands(self, client: discord.Client) -> None:
        """Typing them works without; so it does not keep anyone from talking."""
        if self._offered:
            return
        try:
            with told(self._name):
                await register_commands(client)
            self._offered = True
        except ChannelError as error:
            log.warning("the commands could not be registered", channel=self._name, why=str(error))

    def _ended(self, error: Exception) -> ChannelError:
        """The exception with which `run` ends."""
        known = as_channel_error(self._name, error)
        if isinstance(known, Undeliverable):
            return ChannelLost(self._name, str(known))
        return known

    @contextmanager
    def _at(self, to: str) -> Generator[discord.PartialMessageable]:
        if self._client is None or self._client.is_closed():
            raise ChannelLost(self._name, "it is not connected")
        with told(self._name):
            yield self._client.get_partial_messageable(_id(to))


def _id(to: str) -> int:
    return int(to.rsplit(":", 1)[-1])


def _nonce(key: str) -> str:
    """Discord takes 25 characters, and shows a message with a nonce that it knows only once."""
    return base64.b32encode(hashlib.sha256(key.encode()).digest())[:25].decode()


def _view(buttons: tuple[Button, ...]) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for number, button in enumerate(buttons):
        label = button.label if len(button.label) <= _LABEL else button.label[: _LABEL - 1] + "…"
        view.add_item(
            discord.ui.Button(label=label, custom_id=button.data, row=number // _BUTTONS_IN_ROW)
        )
    # The library would keep each view for as long as it runs, to call something at a press.
    view.stop()
    return view


def _deaf(_client: discord.Client, _event: str, _args: tuple[object, ...]) -> None:
    pass
