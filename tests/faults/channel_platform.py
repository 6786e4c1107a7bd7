"""A messaging platform over HTTP that outlives Roost: it delivers again, limits, fails and forgets
to answer; and the channel that talks to it."""

import asyncio
import random
from collections import defaultdict

import aiohttp
import msgspec
from aiohttp import web

from roost.channels.base import Inbound, InboundFile, Inlet, Limits, Options, Piece, Rate
from roost.core.errors import ChannelBusy, ChannelLost
from roost.core.inbound import Place, Sender

NAME = "post"
SECONDS = 5.0


class Update(msgspec.Struct, frozen=True):
    number: int
    chat: int
    text: str


class Sent(msgspec.Struct):
    """`text` is what it says now."""

    to: str
    text: str
    key: str


class Platform:
    """`keyed`: a message that comes again with its key is not posted twice. `moods` is how often,
    of 1, a call meets trouble."""

    def __init__(self, seed: int, *, keyed: bool, moods: float) -> None:
        self.keyed = keyed
        self.moods = moods
        self.updates: list[Update] = []
        self.posts: list[Sent] = []
        self.confirmed: set[str] = set()
        """Keys that Roost is known to have recorded as confirmed."""
        self.repeated: list[str] = []
        """Those that it sent again all the same."""
        self.touched: defaultdict[str, int] = defaultdict(int)
        self._read = 0
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._fresh = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def __aenter__(self) -> "Platform":
        app = web.Application()
        app.add_routes(
            [
                web.get("/updates", self._updates),
                web.post("/send", self._send),
                web.post("/edit", self._edit),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def say(self, chat: int, text: str) -> None:
        self.updates.append(Update(len(self.updates) + 1, chat, text))
        self._fresh.set()

    async def _updates(self, request: web.Request) -> web.Response:
        """What comes after `after`, which is thereby acknowledged; some that came before now and
        then, as platforms do."""
        after = int(request.query["after"])
        self._read = max(self._read, after)
        if after >= len(self.updates):
            self._fresh.clear()
            try:
                async with asyncio.timeout(0.5):
                    await self._fresh.wait()
            except TimeoutError:
                pass
        if self._random.random() < self.moods:
            after = max(0, after - 3)
        return web.Response(body=msgspec.json.encode(self.updates[after : after + 5]))

    async def _send(self, request: web.Request) -> web.Response:
        sent = msgspec.json.decode(await request.read(), type=Sent)
        chance = self._random.random()
        if chance < self.moods / 4:
            return web.Response(status=429, headers={"Retry-After": "0.1"})
        if chance < self.moods / 2:
            return web.Response(status=502)
        if sent.key in self.confirmed:
            self.repeated.append(sent.key)
        number = self._posted(sent) if self.keyed else None
        if number is None:
            self.posts.append(sent)
            number = len(self.posts)
        if chance < self.moods:
            assert request.transport is not None
            request.transport.abort()  # it is there, and nobody hears of it
        return web.Response(body=str(number).encode())

    def _posted(self, sent: Sent) -> int | None:
        keys = [each.key for each in self.posts]
        return keys.index(sent.key) + 1 if sent.key in keys else None

    async def _edit(self, request: web.Request) -> web.Response:
        number = int(request.query["message"])
        self.posts[number - 1].text = (await request.read()).decode()
        return web.Response()


class PostChannel:
    """See `channels.base.Channel`. The option `url` is where the platform is, `edits` whether what
    was sent can be changed."""

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self._url = options["url"].reveal()
        edits = options["edits"].reveal() == "yes"
        self.limits = Limits(
            text=4000,
            chat=Rate(100, 1),
            overall=Rate(1000, 1),
            edit_every=0.05 if edits else None,
            file_in=0,
            file_out=0,
            keyed=True,
        )
        self._session: aiohttp.ClientSession | None = None

    async def run(self, inlet: Inlet) -> None:
        async with aiohttp.ClientSession() as session:
            self._session = session
            try:
                await self._receive(inlet, session)
            except (aiohttp.ClientError, TimeoutError) as error:
                raise ChannelLost(self.name, str(error)) from error
            finally:
                self._session = None

    async def _receive(self, inlet: Inlet, session: aiohttp.ClientSession) -> None:
        after = int((await inlet.cursors()).get("after", "0"))
        inlet.connected("poster")
        while True:
            async with session.get(f"{self._url}/updates", params={"after": after}) as response:
                found = msgspec.json.decode(await response.read(), type=list[Update])
            if found:
                after = max(after, found[-1].number)
                await inlet.put([_inbound(each) for each in found], cursors={"after": str(after)})

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        body = msgspec.json.encode(Sent(to, piece.text, key))
        return (await self._post("/send", body)).decode()

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        await self._post(f"/edit?message={message}", piece.text.encode())

    async def _post(self, path: str, body: bytes) -> bytes:
        if self._session is None:
            raise ChannelLost(self.name, "not connected")
        try:
            async with self._session.post(self._url + path, data=body) as response:
                if response.status == 429:
                    raise ChannelBusy(self.name, float(response.headers["Retry-After"]))
                if response.status >= 500:
                    raise ChannelLost(self.name, str(response.status))
                return await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ChannelLost(self.name, str(error)) from error

    async def typing(self, to: str) -> None:
        return None

    async def fetch(self, file: InboundFile) -> bytes:
        raise ChannelLost(self.name, "there are no files here")

    def measure(self, markdown: str) -> int:
        return len(markdown)

    def chat_of(self, to: str) -> str:
        return to


def _inbound(update: Update) -> Inbound:
    return Inbound(
        id=str(update.number),
        message=f"m{update.number}",
        sender=Sender(str(update.chat), f"Person {update.chat}"),
        place=Place(f"{NAME}:dm:{update.chat}"),
        text=update.text,
    )
