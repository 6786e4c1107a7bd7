"""Anything else: a program that posts signed messages, and is called back or asks for answers."""

import asyncio
import base64
import io
import itertools
import secrets
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

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
from roost.channels.webhook.wire import (
    ID,
    Refused,
    Sent,
    check_signature,
    read_message,
    signed_headers,
    to_send,
)
from roost.core.errors import ChannelBusy, ChannelLost, ChannelRefused, ConfigError, Undeliverable

LIMITS = Limits(
    text=30_000,
    chat=Rate(20, 1.0),
    overall=Rate(100, 1.0),
    edit_every=None,
    file_in=4 << 20,
    file_out=16 << 20,
)
_SHORTEST_SECRET = 16
_CALL_SECONDS = 30
_LONGEST_WAIT = 20.0
"""How long a request may wait for messages."""
_HELD = 60.0
"""How long a message waits to be asked for before it goes back to the outbox for a second."""
_PAGE = 50
_USUAL_WAIT, _MOST_WAIT = 30.0, 3600.0


class WebhookOptions(msgspec.Struct, frozen=True):
    """With a `callback` answers are posted there; without, they are asked for."""

    secret: str
    callback: str = ""


class _Page(msgspec.Struct, frozen=True):
    messages: Sequence[Sent]
    cursor: str


class _Taken(msgspec.Struct, frozen=True):
    """What a program may answer to a message: its own id of it."""

    id: str | None = None


class Pickup:
    """Messages that wait to be asked for. Asking with the cursor of an answer says that this answer
    was received; until then its messages are handed out again. They are durable in the outbox."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = itertools.count(1)
        self._run = secrets.token_hex(4)
        self._waiting: dict[int, tuple[Sent, asyncio.Event]] = {}
        self._more = asyncio.Event()

    async def leave(self, message: Sent) -> None:
        """Until it was taken."""
        number, taken = next(self._numbers), asyncio.Event()
        self._waiting[number] = message, taken
        self._more.set()
        try:
            async with asyncio.timeout(_HELD):
                await taken.wait()
        except TimeoutError:
            raise ChannelBusy(self._name, 1.0) from None
        finally:
            self._waiting.pop(number, None)

    async def ask(self, cursor: str, *, wait: float) -> _Page:
        """What waits, oldest first, once there is something or the time is over."""
        self._take(cursor)
        if not self._waiting and wait:
            self._more.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._more.wait()
            except TimeoutError:
                pass
        numbers = [*self._waiting][:_PAGE]
        messages = [self._waiting[number][0] for number in numbers]
        return _Page(messages, f"{self._run}-{numbers[-1]}" if numbers else cursor)

    def _take(self, cursor: str) -> None:
        """Those up to the cursor, if it is of this run: numbers begin anew with each."""
        run, _, last = cursor.partition("-")
        if run != self._run or not (last.isascii() and last.isdigit() and len(last) < 18):
            return
        for number in [number for number in self._waiting if number <= int(last)]:
            _, taken = self._waiting.pop(number)
            taken.set()


class WebhookChannel:
    """See `channels.base.Channel`."""

    def __init__(self, name: str, options: WebhookOptions) -> None:
        self._name = name
        self._options = options
        self._inlet: Inlet | None = None
        self._session: aiohttp.ClientSession | None = None
        self._pickup = Pickup(name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def run(self, inlet: Inlet) -> None:
        timeout = aiohttp.ClientTimeout(total=_CALL_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            self._session, self._inlet = session, inlet
            try:
                inlet.connected(self._name)
                await asyncio.Event().wait()
            finally:
                self._session = self._inlet = None

    async def hook(self, call: HookCall) -> HookReply:
        signed = call.query.encode() if call.method == "GET" else call.body
        try:
            check_signature(self._options.secret, call.headers, signed)
            if self._inlet is None:
                raise Refused(503, "The channel is not running.")
            if call.method == "GET":
                return await self._asked(call.query)
            return await self._told(self._inlet, call.body)
        except Refused as refused:
            return _said(refused.status, str(refused))

    async def _told(self, inlet: Inlet, body: bytes) -> HookReply:
        inbound = read_message(self._name, body)
        await inlet.put([inbound])
        return _json(202, {"id": inbound.id})

    async def _asked(self, query: str) -> HookReply:
        if self._options.callback:
            raise Refused(409, "Answers of this channel are posted to its callback.")
        given = dict(parse_qsl(query))
        try:
            # In this order what is no number at all is none.
            wait = min(_LONGEST_WAIT, max(0.0, float(given.get("wait", 0))))
        except ValueError:
            raise Refused(400, "wait is a number of seconds.") from None
        return _json(200, await self._pickup.ask(given.get("cursor", ""), wait=wait))

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        if self._session is None:
            raise ChannelLost(self._name, "it is not running")
        message = to_send(to, piece, key=key)
        if not self._options.callback:
            await self._pickup.leave(message)
            return key
        return await self._post(self._session, message)

    async def _post(self, session: aiohttp.ClientSession, message: Sent) -> str:
        body = msgspec.json.encode(message)
        headers = {"Content-Type": "application/json", ID: message.id}
        headers |= signed_headers(self._options.secret, body)
        try:
            async with session.post(
                self._options.callback,
                data=io.BytesIO(body),
                headers=headers,
                allow_redirects=False,
            ) as answer:
                self._look_at(answer)
                return _id_in(await answer.content.read(1000)) or message.id
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ChannelLost(self._name, str(error) or type(error).__name__) from error

    def _look_at(self, answer: aiohttp.ClientResponse) -> None:
        status, after = answer.status, answer.headers.get("Retry-After", "")
        if 200 <= status < 300:
            return
        if status == 429 or (status == 503 and after):
            given = after.isascii() and after.isdigit() and len(after) < 10
            raise ChannelBusy(self._name, min(int(after), _MOST_WAIT) if given else _USUAL_WAIT)
        said = f"the callback answered {status}"
        if status >= 500 or status in (404, 408, 425):
            raise ChannelLost(self._name, said)
        if status in (401, 403) or status < 400:
            raise ChannelRefused(self._name, said)
        raise Undeliverable(self._name, said)

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        raise Undeliverable(self._name, "what was sent stays as it is")

    async def typing(self, to: str) -> None:
        pass

    async def fetch(self, file: InboundFile) -> bytes:
        return base64.b64decode(file.ref)

    def measure(self, markdown: str) -> int:
        return len(markdown)

    def chat_of(self, to: str) -> str:
        return to


def _id_in(body: bytes) -> str | None:
    """A program need not answer anything that can be read."""
    try:
        return msgspec.json.decode(body, type=_Taken).id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _said(status: int, detail: str) -> HookReply:
    return _json(status, {"status": status, "detail": detail})


def _json(status: int, value: object) -> HookReply:
    return HookReply(status, msgspec.json.encode(value), "application/json")


def webhook(name: str, options: Options) -> Channel:
    """The factory: see `channels.base.Factory`."""
    values = {key: option.reveal() for key, option in options.items()}
    try:
        given = msgspec.convert(values, WebhookOptions)
    except msgspec.ValidationError:
        raise ConfigError(f"The channel {name} needs a secret to sign with.") from None
    if len(given.secret) < _SHORTEST_SECRET:
        said = f"a secret of at least {_SHORTEST_SECRET} characters"
        raise ConfigError(f"The channel {name} needs {said}.")
    address = urlsplit(given.callback)
    if given.callback and not (address.scheme in ("http", "https") and address.hostname):
        raise ConfigError(f"The callback of the channel {name} is no http address.")
    return WebhookChannel(name, given)
