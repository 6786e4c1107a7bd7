"""Telegram: a bot of @BotFather's, in private chats, groups and topics."""

import asyncio
import hmac
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog
from telegram import Bot
from telegram.constants import ChatAction
from telegram.request import HTTPXRequest

from roost.channels.base import (
    COMMANDS,
    HookCall,
    HookReply,
    InboundFile,
    Inlet,
    Limits,
    Options,
    Piece,
    Rate,
)
from roost.channels.telegram.errors import connecting_as, told_as
from roost.channels.telegram.markup import units
from roost.channels.telegram.receiver import Hook, Polling
from roost.channels.telegram.sender import LONGEST, Target, change, send, target_of
from roost.core.errors import ChannelError, ChannelLost, ConfigError, Undeliverable

log = structlog.stdlib.get_logger("roost.channels.telegram")

LIMITS = Limits(
    text=LONGEST,
    chat=Rate(1, 1),
    group=Rate(20, 60),
    overall=Rate(30, 1),
    edit_every=2,
    file_in=20 << 20,
    file_out=50 << 20,
)
_API = "https://api.telegram.org"
_TOKEN = re.compile(r"(\d+):[\w-]+")
_OPTIONS = ("token", "webhook", "api")

# They log the address of every request, and the token is a part of it.
for _name in ("httpx", "httpcore", "telegram"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def telegram(name: str, options: Options) -> "TelegramChannel":
    """`token` is that of the bot. `webhook` is the address of `/hooks/NAME` as Telegram reaches it;
    without one, Telegram is asked for messages. `api` is another server of the Bot API."""
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise ConfigError(f"The channel {name} (Telegram) has no option {unknown[0]}.")
    if "token" not in options:
        raise ConfigError(f"The channel {name} (Telegram) needs the token that @BotFather gives.")
    if _TOKEN.fullmatch(options["token"].reveal()) is None:
        raise ConfigError(f"The token of {name} is none of Telegram's: 123456:ABC-DEF.")
    return TelegramChannel(name, options)


class TelegramChannel:
    """See `channels.base.Channel`."""

    def __init__(self, name: str, options: Options) -> None:
        self._name = name
        self._token = options["token"]
        self._webhook = options.get("webhook")
        self._api = options["api"].reveal().rstrip("/") if "api" in options else _API
        self._bot: Bot | None = None
        self._hook: Hook | None = None
        self._offered = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def run(self, inlet: Inlet) -> None:
        with connecting_as(self._name, self._token):
            async with self._connected() as bot:
                self._bot = bot
                try:
                    await self._offer_commands(bot)
                    await self._receive(bot, inlet)
                finally:
                    self._bot = self._hook = None

    async def hook(self, call: HookCall) -> HookReply:
        if self._hook is None:
            return HookReply(503, b"Not now.")
        return await self._hook.receive(call)

    async def check(self) -> str:
        with connecting_as(self._name, self._token):
            async with self._connected() as bot:
                return f"@{bot.username}"

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        with told_as(self._name, self._token):
            sent = await send(self._open(), self._target(to), piece)
        return str(sent.message_id)

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        with told_as(self._name, self._token):
            await change(self._open(), self._target(to), message, piece)

    async def typing(self, to: str) -> None:
        target = self._target(to)
        with told_as(self._name, self._token):
            await self._open().send_chat_action(
                target.chat, ChatAction.TYPING, message_thread_id=target.topic
            )

    async def fetch(self, file: InboundFile) -> bytes:
        with told_as(self._name, self._token):
            found = await self._open().get_file(file.ref)
            if (found.file_size or 0) > LIMITS.file_in:
                raise Undeliverable(self._name, f"{file.name} is too large")
            return bytes(await found.download_as_bytearray())

    def measure(self, markdown: str) -> int:
        """As it stands: rendering it again for every place where it might be cut takes seconds, and
        what is shown is shorter, except for some tables."""
        return units(markdown)

    def chat_of(self, to: str) -> str:
        return to.partition(":topic:")[0]

    async def _receive(self, bot: Bot, inlet: Inlet) -> None:
        if self._webhook is None:
            await Polling(bot, inlet, self._name).run()
            return
        # Of the token, so that it is the same after a restart and on every server.
        secret = hmac.digest(self._token.reveal().encode(), b"roost hook", "sha256").hex()
        self._hook = Hook(bot, inlet, self._name, secret=secret)
        await self._hook.register(self._webhook.reveal())
        await asyncio.Event().wait()

    async def _offer_commands(self, bot: Bot) -> None:
        """Typing them works without; so it does not keep anyone from talking."""
        if self._offered:
            return
        try:
            with told_as(self._name, self._token):
                await bot.set_my_commands([(command.name, command.says) for command in COMMANDS])
            self._offered = True
        except ChannelError as error:
            log.warning("the commands could not be offered", channel=self._name, why=str(error))

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Bot]:
        bot = Bot(
            self._token.reveal(),
            base_url=f"{self._api}/bot",
            base_file_url=f"{self._api}/file/bot",
            request=_request(),
            get_updates_request=_request(),
        )
        try:
            await bot.initialize()
            yield bot
        finally:
            await bot.shutdown()

    def _open(self) -> Bot:
        if self._bot is None:
            raise ChannelLost(self._name, "it is not connected")
        return self._bot

    def _target(self, to: str) -> Target:
        target = target_of(to)
        if target is None:
            raise Undeliverable(self._name, f"{to} is no chat of Telegram's")
        return target


def _request() -> HTTPXRequest:
    return HTTPXRequest(
        read_timeout=20,
        write_timeout=20,
        connect_timeout=10,
        pool_timeout=10,
        media_write_timeout=60,
    )
