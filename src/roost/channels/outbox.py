"""Sends what is in the outbox: in order for each route, at the platform's pace, until confirmed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakValueDictionary

import structlog

from roost.channels.admission import Admission, address_of
from roost.channels.base import Attachment, Channel, Piece
from roost.channels.composing import composed
from roost.channels.lanes import Lanes
from roost.channels.pace import Pace
from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    RoostError,
    StoreClosed,
    StoreError,
    Undeliverable,
)
from roost.core.ids import TurnId
from roost.core.messages import FilePart, ImagePart
from roost.core.outbound import StoredPiece, decode_outbound
from roost.runtime.app import App
from roost.runtime.persistence import persisted
from roost.store.outbox import UNKNOWN, Entry, Numbered
from roost.testing.faults import reach

log = structlog.stdlib.get_logger("roost.channels")

GROUP = 64
WIDTH = 32
LOOK = 30.0
"""Seconds between two looks at a quiet outbox: what was put off is due, or a word was lost."""
GIVE_UP = 7 * 86_400_000
"""Milliseconds for which the same is tried."""
_LONGEST_WAIT = 300.0
_NOT_LET_IN = "whoever is there was blocked or disabled, or is not paired with this user any more"
_SHARE = 4
"""Looking over all routes takes a fifth of the time at most, however many there are."""
_LONGEST_BREATH = 0.25


class Outbox:
    def __init__(self, app: App, channel: Channel, pace: Pace, admission: Admission) -> None:
        self._app = app
        self._channel = channel
        self._pace = pace
        self.admission = admission
        self._store = app.parts.store.outbox
        self._wake = asyncio.Event()
        self._lanes = Lanes(WIDTH, self._wake.set)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._prefix = f"{channel.name}:"
        self.connected = asyncio.Event()
        """While it is not set, nothing is tried."""

    def wake(self) -> None:
        """There may be more to send."""
        self._wake.set()

    def wrote(self, route: str | None) -> None:
        if route is None or route.startswith(self._prefix):
            self._wake.set()

    @asynccontextmanager
    async def alone(self, route: str) -> AsyncGenerator[None]:
        """Nothing is sent to the route meanwhile, but by whoever has it."""
        lock = self._locks.get(route)
        if lock is None:
            lock = self._locks[route] = asyncio.Lock()
        async with lock:
            yield

    async def run(self) -> None:
        """Send what waits, from before the start too, until cancelled."""
        loop = asyncio.get_running_loop()
        self._app.parts.delivery.listeners.append(self.wrote)
        try:
            async with self._lanes:
                while True:
                    await self.connected.wait()
                    self._wake.clear()
                    began = loop.time()
                    wait = await self._looked()
                    await asyncio.sleep(min(_SHARE * (loop.time() - began), _LONGEST_BREATH))
                    await _first(self._wake, wait)
        except StoreClosed:
            return
        finally:
            self._app.parts.delivery.listeners.remove(self.wrote)

    async def _looked(self) -> float:
        try:
            return await self._look()
        except StoreClosed:
            raise
        except Exception:
            log.exception("an outbox could not be read; trying again", name=self._channel.name)
            return 1.0

    async def _look(self) -> float:
        """Begin with every route whose first entry is due; how long until the next one is."""
        after, wait = "", LOOK
        while True:
            found = await self._store.routes(self._channel.name, after=after, limit=GROUP)
            for each in found:
                if each.route in self._lanes:
                    continue
                if rest := max(each.wait / 1000, self._pace.rest(self._chat(each.route))):
                    wait = min(wait, rest)
                else:
                    await self._lanes.start(each.route, partial(self._empty, each.route))
            if len(found) < GROUP:
                return wait
            after = found[-1].route

    def _chat(self, route: str) -> str:
        return self._channel.chat_of(address_of(route))

    async def _empty(self, route: str) -> None:
        """Send what waits on one route, in order. While its chat takes no more, others have the
        lane."""
        try:
            async with self.alone(route):
                while self.connected.is_set():
                    entry = await self._store.next(route)
                    if entry is None or entry.wait or not await self._send(entry):
                        return
        except StoreClosed:
            return
        except Exception:
            log.exception("an outbox could not be emptied; trying again", route=route)
            await asyncio.sleep(1)

    async def _send(self, entry: Entry) -> bool:
        """Whether it is over: sent, or never to be."""
        chat = self._chat(entry.route)
        try:
            if not await self.admission.reaches(entry.user, entry.route):
                raise Undeliverable(self._channel.name, _NOT_LET_IN)
            for each in await self._pieces(entry):
                if each.external is not None:
                    continue
                if self._pace.rest(chat):
                    return False
                await self._send_piece(entry, each)
        except ChannelBusy as busy:
            self._pace.pause(chat, busy.seconds)
            await self._put_off(entry, busy, busy.seconds, counts=False)
            return False
        except Undeliverable as error:
            await self._fail(entry, str(error))
            return True
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 (it is logged, and tried again)
            return await self._trouble(entry, error)
        return True

    async def _pieces(self, entry: Entry) -> list[Numbered]:
        """What it is sent as: settled, durably, before the first of it goes."""
        found = await self._store.pieces(entry.id)
        if found:
            return [*found]
        limit = self._channel.limits.text
        pieces = composed(decode_outbound(entry.body), self._channel.measure, limit)
        return [*await persisted(partial(self._store.split, entry.id, pieces))]

    async def _send_piece(self, entry: Entry, each: Numbered) -> None:
        piece, turn = await self._filled(entry, each.piece), each.piece.turn
        shown = None if turn is None else await self._store.shown(turn, entry.route)
        if turn is not None and shown == UNKNOWN:
            # Where the platform takes keys, this finds what was shown, if it is there.
            shown = await self._deliver(entry, piece, key=progress_key(turn))
        if shown is None or not await self._in_place(entry, shown, piece):
            shown = await self._deliver(entry, piece, key=f"{entry.id}.{each.number}")
        reach("channel.deliver.after")
        await persisted(partial(self._store.sent, entry, each.number, shown))
        reach("channel.confirm.after")

    async def _deliver(self, entry: Entry, piece: Piece, *, key: str) -> str:
        await self._pace.turn(self._chat(entry.route))
        reach("channel.deliver.before")
        return await self._channel.deliver(address_of(entry.route), piece, key=key)

    async def _in_place(self, entry: Entry, shown: str, piece: Piece) -> bool:
        """An answer takes the place of what showed how far it had come, if that is still there."""
        await self._pace.turn(self._chat(entry.route))
        reach("channel.deliver.before")
        try:
            await self._channel.edit(address_of(entry.route), shown, piece)
        except Undeliverable as error:
            log.info("what was shown of a turn is gone", route=entry.route, error=str(error))
            return False
        return True

    async def _filled(self, entry: Entry, stored: StoredPiece) -> Piece:
        if stored.file is None:
            return Piece(stored.text, buttons=stored.buttons, reply_to=stored.reply_to)
        name = stored.file.name or "picture"
        file = await self._file(entry, stored.file, name)
        if file is None:
            return Piece(f"*({name} can't be sent here.)*")
        return Piece(file=file, reply_to=stored.reply_to)

    async def _file(self, entry: Entry, part: ImagePart | FilePart, name: str) -> Attachment | None:
        files = self._app.of(entry.user).files
        try:
            if (await files.get(part.blob)).size > self._channel.limits.file_out:
                return None
            data = b"".join([chunk async for chunk in files.read(part.blob)])
        except StoreError:
            raise
        except RoostError as error:
            log.warning("a file can't be sent", route=entry.route, error=str(error))
            return None
        return Attachment(name, part.media_type, data)

    # What goes wrong.

    async def _trouble(self, entry: Entry, error: Exception) -> bool:
        """It may pass; but not for ever."""
        if not isinstance(error, ChannelError):
            log.error("a message could not be sent", entry=entry.id, exc_info=error)
        if entry.age > GIVE_UP:
            await self._fail(entry, str(error))
            return True
        await self._put_off(entry, error, min(2.0 ** min(entry.tries, 10), _LONGEST_WAIT))
        return False

    async def _put_off(
        self, entry: Entry, error: Exception, seconds: float, *, counts: bool = True
    ) -> None:
        log.info("a message is sent later", entry=entry.id, seconds=seconds, error=str(error))
        write = self._store.put_off
        await persisted(partial(write, entry.id, seconds, str(error), counts=counts))

    async def _fail(self, entry: Entry, error: str) -> None:
        await persisted(partial(self._store.failed, entry.id, error))
        log.error("a message can't be delivered", route=entry.route, entry=entry.id, error=error)


def progress_key(turn: TurnId) -> str:
    """Of the message that shows how far an answer has come."""
    return f"progress_{turn}"


async def _first(event: asyncio.Event, seconds: float) -> None:
    """Until the event is set, or so much time has passed."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait([waiting], timeout=seconds)
    finally:
        waiting.cancel()
