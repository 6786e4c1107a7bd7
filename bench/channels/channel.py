"""The channel that talks to the platform outside."""

import asyncio
import time

import aiohttp
import msgspec

from bench.channels.outside import BATCH, CHAT, OVERALL, Call, Update
from roost.channels.base import Inbound, InboundFile, Inlet, Limits, Options, Piece, Rate
from roost.core.errors import ChannelLost, Undeliverable
from roost.core.inbound import Place, Sender

NAME = "outside"
LIMITS = Limits(
    text=4000,
    chat=Rate(*CHAT),
    overall=Rate(*OVERALL),
    edit_every=None,
    file_in=0,
    file_out=0,
)


class OutsideChannel:
    """See `channels.base.Channel`. The option `url` is where the platform is."""

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.limits = name, LIMITS
        self._url = options["url"].reveal()
        self._session: aiohttp.ClientSession | None = None

    async def run(self, inlet: Inlet) -> None:
        async with aiohttp.ClientSession() as self._session:
            after = int((await inlet.cursors()).get("after", "0"))
            inlet.connected("outside")
            while found := await self._updates(self._session, after):
                after = found[-1].number
                await inlet.put([_inbound(each) for each in found], cursors={"after": str(after)})
                if len(found) < BATCH:
                    break
            await asyncio.Event().wait()

    async def _updates(self, session: aiohttp.ClientSession, after: int) -> list[Update]:
        async with session.get(f"{self._url}/updates", params={"after": after}) as response:
            return msgspec.json.decode(await response.read(), type=list[Update])

    async def deliver(self, to: str, piece: Piece, *, key: str) -> str:
        if self._session is None:
            raise ChannelLost(self.name, "not connected")
        call = Call(int(to.rpartition(":")[2]), piece.text, time.monotonic())
        body = msgspec.json.encode(call)
        async with self._session.post(f"{self._url}/send", data=body) as response:
            return (await response.read()).decode()

    async def edit(self, to: str, message: str, piece: Piece) -> None:
        raise Undeliverable(self.name, "what was sent stays as it is")

    async def typing(self, to: str) -> None:
        return None

    async def fetch(self, file: InboundFile) -> bytes:
        raise Undeliverable(self.name, "there are no files here")

    def measure(self, markdown: str) -> int:
        return len(markdown)

    def chat_of(self, to: str) -> str:
        return to


def _inbound(update: Update) -> Inbound:
    chat = str(update.chat)
    return Inbound(
        id=str(update.number),
        message=f"m{update.number}",
        sender=Sender(chat, f"Person {chat}"),
        place=Place(f"{NAME}:dm:{chat}"),
        text=update.text,
    )
