"""Tells other servers what happened by NOTIFY, and hears what they tell by LISTEN."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

import msgspec
import structlog

from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.store.postgres.connect import CONNECT_TIMEOUT, Connection, connect
from roost.store.signals import Told

log = structlog.get_logger()

CHANNEL = "roost"
TOGETHER = 0.02
"""Seconds in which what is to be told comes together: a NOTIFY takes a lock of the whole server."""
LONGEST = 7_900
"""Bytes that a NOTIFY carries."""
LOOK = 5.0
"""Seconds after which all is looked at in any case, should a word have been lost."""
POLL = 1.0
"""The same, where nothing can be heard."""
RETRY = 1.0
ANSWER = 5.0
"""Seconds in which whoever is listened to says that it is still there."""


class _Word(msgspec.Struct, frozen=True, array_like=True):
    server: str
    told: Told


_decode = msgspec.json.Decoder(_Word).decode


class _Gathered:
    """What is to be told, until it is."""

    def __init__(self) -> None:
        self.changed: set[SessionId] = set()
        self.streamed: set[SessionId] = set()
        self.routes: set[str] = set()
        self.people = False
        self.settings = False
        self.left = False

    def words(self, server: str) -> list[str]:
        told = Told(
            tuple(self.changed),
            tuple(self.streamed),
            tuple(self.routes),
            people=self.people,
            settings=self.settings,
            left=self.left,
        )
        return _words(server, told)


def _words(server: str, told: Told) -> list[str]:
    """Names that are too many for one word are told in several; those that are too long by
    themselves are everything."""
    text = msgspec.json.encode(_Word(server, told))
    if len(text) <= LONGEST:
        return [text.decode()]
    if max(len(told.changed), len(told.streamed), len(told.routes)) == 1:
        everything = msgspec.structs.replace(
            told, changed=(), streamed=(), routes=(), everything=True
        )
        return _words(server, everything)
    first = msgspec.structs.replace(
        told,
        changed=told.changed[::2],
        streamed=told.streamed[::2],
        routes=told.routes[::2],
    )
    rest = Told(told.changed[1::2], told.streamed[1::2], told.routes[1::2])
    return [*_words(server, first), *_words(server, rest)]


class PostgresSignals:
    """`address` is of a connection that stays the same from one transaction to the next; without
    one nothing is heard, and all is looked at again and again. `send` sends each by a NOTIFY."""

    def __init__(
        self,
        address: StoreAddress | None,
        server: str,
        send: Callable[[Sequence[str]], Awaitable[None]],
    ) -> None:
        self._address = address
        self._server = server
        self._send = send
        self._gathered = _Gathered()
        self._something = asyncio.Event()
        self._sending = asyncio.Lock()
        self._telling = asyncio.create_task(self._tell_all(), name="roost-signals")
        self._hearing: asyncio.Task[None] | None = None
        self._listeners: set[asyncio.Queue[Told]] = set()

    def tell(
        self,
        *,
        changed: SessionId | None = None,
        streamed: SessionId | None = None,
        route: str | None = None,
        people: bool = False,
        settings: bool = False,
        left: bool = False,
    ) -> None:
        gathered = self._gathered
        if changed is not None:
            gathered.changed.add(changed)
        if streamed is not None:
            gathered.streamed.add(streamed)
        if route is not None:
            gathered.routes.add(route)
        gathered.people |= people
        gathered.settings |= settings
        gathered.left |= left
        self._something.set()

    async def listen(self) -> AsyncIterator[Told]:
        heard: asyncio.Queue[Told] = asyncio.Queue()
        self._listeners.add(heard)
        if self._hearing is None and self._address is not None:
            self._hearing = asyncio.create_task(self._hear(self._address), name="roost-hearing")
        loop = asyncio.get_running_loop()
        look = loop.time()
        try:
            while True:
                # Not around the yield: what is done with a word must not be cut short by this.
                try:
                    async with asyncio.timeout_at(look):
                        told = await heard.get()
                except TimeoutError:
                    told = Told(everything=True)
                if told.everything:
                    look = loop.time() + (POLL if self._address is None else LOOK)
                yield told
        finally:
            self._listeners.discard(heard)

    async def close(self) -> None:
        """The last words are said: those of a server that leaves are waited for."""
        await self._tell_now()
        tasks = [each for each in (self._telling, self._hearing) if each is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def _tell_all(self) -> None:
        while True:
            await self._something.wait()
            await asyncio.sleep(TOGETHER)
            await self._tell_now()

    async def _tell_now(self) -> None:
        async with self._sending:
            if not self._something.is_set():
                return
            self._something.clear()
            gathered, self._gathered = self._gathered, _Gathered()
            try:
                await self._send(gathered.words(self._server))
            except Exception as error:  # noqa: BLE001 (others look by themselves after a while)
                log.warning("other servers could not be told", error=str(error))

    async def _hear(self, address: StoreAddress) -> None:
        """Until cancelled; whenever it begins to hear again, something may have been missed."""
        while True:
            try:
                connection = await connect(address, cached=False, limit=ANSWER)
                lost = asyncio.Event()
                connection.add_termination_listener(lambda _, lost=lost: lost.set())
                try:
                    await connection.add_listener(CHANNEL, self._receive)
                    self._pass_on(Told(everything=True))
                    await _until_lost(connection, lost)
                except TimeoutError:
                    connection.terminate()  # it would not hear a farewell
                    raise
                finally:
                    await _hang_up(connection)
            except Exception as error:  # noqa: BLE001 (it is tried again)
                log.warning("other servers can't be heard; trying again", error=str(error))
            await asyncio.sleep(RETRY)

    def _receive(self, connection: object, pid: int, channel: Literal["roost"], text: str) -> None:
        try:
            word = _decode(text)
        except msgspec.MsgspecError:  # of a newer Roost
            self._pass_on(Told(everything=True))
            return
        if word.server != self._server:
            self._pass_on(word.told)

    def _pass_on(self, told: Told) -> None:
        for heard in self._listeners:
            heard.put_nowait(told)


async def _until_lost(connection: Connection, lost: asyncio.Event) -> None:
    """Nobody says so if what stands between has forgotten the connection: so it is asked."""
    while True:
        try:
            async with asyncio.timeout(LOOK):
                await lost.wait()
                return
        except TimeoutError:
            await connection.execute("SELECT 1")


async def _hang_up(connection: Connection) -> None:
    with contextlib.suppress(Exception):
        await connection.close(timeout=CONNECT_TIMEOUT)
