"""Slack: by its socket mode, or by HTTP with signatures."""

import asyncio
import math
import time
from collections.abc import Mapping, Sequence

import aiohttp
import msgspec

from roost.channels.base import (
    Channel,
    HookCall,
    HookReply,
    InboundFile,
    Inlet,
    Limits,
    Options,
    Piece,
    Rate,
)
from roost.channels.slack.calls import CALL_SECONDS, SlackCalls
from roost.channels.slack.events import Address, Bot, address_of
from roost.channels.slack.markup import to_mrkdwn
from roost.channels.slack.receiver import Receiver
from roost.channels.slack.socket import listening
from roost.core.errors import ChannelError, ChannelLost, ChannelRefused, ConfigError, Undeliverable

API = "https://slack.com/api/"

LIMITS = Limits(
    text=3000,  # what a block takes
    chat=Rate(1, 1.0),
    overall=Rate(20, 1.0),
    edit_every=3.0,
    file_in=32 << 20,
    file_out=32 << 20,
    keyed=True,
)
_LABEL = 75
_LOOK_BACK = 24 * 3600.0
"""How old a message can be whose answer was lost, in seconds."""
_MOST_LOOKED_AT = 10_000
_AWAY = 60.0
"""Seconds after which Slack may have given up on what nobody acknowledged."""


class SlackOptions(msgspec.Struct, frozen=True, kw_only=True):
    """With an app token it is the socket mode, with a signing secret HTTP."""

    token: str
    app_token: str = ""
    signing_secret: str = ""
    api: str = API


class _Live(msgspec.Struct, frozen=True):
    calls: SlackCalls
    receiver: Receiver


class SlackChannel:
    """See `channels.base.Channel`. A message carries Roost's key of it in its metadata: where an
    earlier try may have got through, that is looked for before it is sent."""

    def __init__(self, name: str, options: SlackOptions) -> None:
        self._name = name
        self._options = options
        self._live: _Live | None = None
        self._since = time.time()
        self._left = -math.inf
        self._listened = False
        self._looked_at: dict[str, None] = {}
        self._doubtful: set[str] = set()
        self._shows_status = True

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def run(self, inlet: Inlet) -> None:
        given = self._options
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            calls = SlackCalls(self._name, given.token, given.api, session)
            bot = await calls.identify()
            receiver = Receiver(inlet, calls, bot, given.signing_secret)
            if time.monotonic() - self._left > _AWAY:
                await receiver.look_back()
            catching_up = asyncio.create_task(receiver.catch_up())
            self._listened = False
            self._live = _Live(calls, receiver)
            try:
                await self._listen(inlet, self._live, bot)
            finally:
                self._live = None
                # What it was to catch up on is looked for again, if it got nowhere.
                whole = self._listened and catching_up.done()
                self._left = time.monotonic() if whole else -math.inf
                await receiver.close()
                catching_up.cancel()
                await asyncio.wait([catching_up])

    async def _listen(self, inlet: Inlet, live: _Live, bot: Bot) -> None:
        app_token = self._options.app_token
        if not app_token:
            self._connected(inlet, bot)
            await asyncio.Event().wait()
        async with listening(self._name, live.receiver.app, live.calls, app_token) as socket:
            self._connected(inlet, bot)
            await socket.until_lost()

    def _connected(self, inlet: Inlet, bot: Bot) -> None:
        self._listened = True
        inlet.connected(bot.name)

    async def check(self) -> str:
        given = self._options
        calls = SlackCalls(self._name, given.token, given.api)
        bot = await calls.identify()
        if given.app_token:
            await calls.socket(given.app_token)
        return bot.name

    async def hook(self, call: HookCall) -> HookReply:
        if self._options.app_token or not self._options.signing_secret:
            return HookReply(404, b"This channel does not listen here.")
        if self._live is None:
            return HookReply(503, b"The channel is not connected.")
        return await self._live.receiver.hook(call)

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        calls, address = self._calls(), address_of(to)
        if piece.file is not None:
            return await calls.upload(address, piece.file)
        if found := await self._sent_before(calls, to, address, key):
            return found
        self._doubtful.add(key)
        try:
            sent = await self._post(calls, address, piece, key)
        except ChannelLost:
            raise
        except ChannelError:
            self._doubtful.discard(key)
            raise
        self._doubtful.discard(key)
        return sent

    async def _post(self, calls: SlackCalls, address: Address, piece: Piece, key: str) -> str:
        text = to_mrkdwn(piece.text)
        try:
            return await calls.post(address, text, _blocks(text, piece), key=key)
        except Undeliverable as error:
            if not piece.buttons or "invalid_blocks" not in str(error):
                raise
            return await calls.post(address, text, (), key=key)

    async def _sent_before(
        self, calls: SlackCalls, to: str, address: Address, key: str
    ) -> str | None:
        """The message of an earlier try, of this process or of one before it. A thread that is
        younger than this process holds nothing of an earlier one."""
        young = address.thread is not None and float(address.thread) > self._since
        if key not in self._doubtful and (young or to in self._looked_at):
            return None
        try:
            sent = await calls.sent(address, since=time.time() - _LOOK_BACK)
        except ChannelRefused:
            # Without the right to read there, what is left is to send it at least once.
            sent = {}
        if len(self._looked_at) >= _MOST_LOOKED_AT:
            self._looked_at.clear()
        self._looked_at[to] = None
        return sent.get(key)

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        text = to_mrkdwn(piece.text)
        await self._calls().update(address_of(to), message, text, _blocks(text, piece))

    async def typing(self, to: str) -> None:
        """Slack shows this in threads only, and to apps that may."""
        address = address_of(to)
        if address.thread is None or not self._shows_status:
            return
        try:
            await self._calls().show_status(address, "is writing…")
        except (ChannelRefused, Undeliverable):
            self._shows_status = False

    async def fetch(self, file: InboundFile) -> bytes:
        return await self._calls().fetch(file.ref, limit=LIMITS.file_in)

    def measure(self, markdown: str) -> int:
        return len(to_mrkdwn(markdown).encode("utf-16-le")) // 2

    def chat_of(self, to: str) -> str:
        return to.partition(":thread:")[0]

    def _calls(self) -> SlackCalls:
        if self._live is None:
            raise ChannelLost(self._name, "it is not connected")
        return self._live.calls


def _blocks(text: str, piece: Piece) -> Sequence[Mapping[str, object]]:
    """Buttons need blocks; text alone does without."""
    if not piece.buttons:
        return ()
    buttons = [
        {
            "type": "button",
            "action_id": f"press_{number}",
            "value": button.data,
            "text": {"type": "plain_text", "text": button.label[:_LABEL]},
        }
        for number, button in enumerate(piece.buttons)
    ]
    said = {"type": "mrkdwn", "text": text or " ", "verbatim": True}
    return (
        {"type": "section", "text": said},
        *(
            {"type": "actions", "elements": buttons[first : first + 25]}
            for first in range(0, len(buttons), 25)
        ),
    )


def slack(name: str, options: Options) -> Channel:
    """The factory: see `channels.base.Factory`."""
    if unknown := sorted(set(options) - set(SlackOptions.__struct_fields__)):
        raise ConfigError(f"The channel {name} (Slack) has no option {unknown[0]}.")
    values = {key: option.reveal() for key, option in options.items()}
    try:
        given = msgspec.convert(values, SlackOptions)
    except msgspec.ValidationError:
        raise ConfigError(f"The channel {name} needs a token: the bot's, xoxb-…") from None
    if not given.token.startswith("xox"):
        raise ConfigError(f"The channel {name} needs the bot's token, which begins with xoxb-.")
    if not (given.app_token or given.signing_secret):
        said = "an app_token (xapp-…, for the socket mode) or a signing_secret (for HTTP)"
        raise ConfigError(f"The channel {name} needs {said}.")
    return SlackChannel(name, given)
