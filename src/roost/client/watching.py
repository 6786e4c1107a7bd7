"""A session's events, each once, however often the connection or the server goes away."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator

import aiohttp
import msgspec

from roost.client.connection import PATIENCE, STRANGE, Connection, path
from roost.client.place import Place
from roost.client.wire import SentEnd, SentEvent, event
from roost.core.errors import NotFound, ServerUnreachable, StoreError
from roost.core.events import Cursor, Noticed, SessionEvent
from roost.core.ids import SessionId
from roost.llm.sse import EventReader

AWAY = "The server stopped. Nothing is lost: this goes on when it is back."
BACK = "The server is back."

_KINDS = frozenset({"snapshot", "changed", "streamed", "rewound", "noticed", "end"})
"""What a newer server tells besides is for others."""
_SOON, _LATE = 0.1, 2.0

_decode = msgspec.json.Decoder(SentEvent).decode


class Follower:
    """An iterator over what a server tells, that comes back with the last event's id whenever the
    stream ends. What it says of the server itself comes as `Noticed`, too. Who has been away for
    `absence` seconds is not waited for any longer; without a number, for ever."""

    def __init__(
        self,
        connection: Connection,
        session: SessionId,
        cursor: Cursor | None,
        *,
        absence: float | None,
    ) -> None:
        self._connection = connection
        self._session = session
        self._cursor = cursor
        self._absence = absence
        self._stack = contextlib.AsyncExitStack()
        self._response: aiohttp.ClientResponse | None = None
        self._place: Place | None = None
        self._reader = EventReader("the server")
        self._told: deque[SessionEvent] = deque()
        self._over = False
        self._away_since: float | None = None
        self._pause = _SOON
        self._barren = False
        """Whether nothing was told since the last time it connected."""

    async def begin(self) -> None:
        """The first time: a server that does not come within a little while is an error."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while True:
            try:
                return await self.connect()
            except ServerUnreachable:
                if loop.time() >= end:
                    raise
            await asyncio.sleep(self._pause)

    async def connect(self) -> None:
        headers = {} if self._cursor is None else {"Last-Event-ID": str(self._cursor)}
        opened = self._connection.stream(path("sessions", self._session, "events"), headers)
        self._response, self._place = await self._stack.enter_async_context(opened)
        self._reader = EventReader("the server")
        self._barren = True

    async def close(self) -> None:
        self._response = None
        await self._stack.aclose()

    def __aiter__(self) -> AsyncIterator[SessionEvent]:
        return self

    async def __anext__(self) -> SessionEvent:
        while not self._told:
            if self._over:
                raise StopAsyncIteration
            if self._response is None:
                await self._come_back()
            else:
                await self._read(self._response)
        return self._told.popleft()

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        try:
            chunk = await response.content.readany()
        except (aiohttp.ClientError, OSError, TimeoutError):
            chunk = b""
        for kind, data in self._reader.feed(chunk):
            if kind in _KINDS:
                self._take(data)
        if not chunk or self._away_since is not None:
            await self.close()

    def _take(self, data: bytes) -> None:
        try:
            sent = _decode(data)
        except msgspec.MsgspecError as error:
            raise ServerUnreachable(STRANGE) from error
        self._barren, self._pause = False, _SOON
        if not isinstance(sent, SentEnd):
            self._cursor = sent.cursor
            self._told.append(event(sent))
        elif sent.reason == "gone":
            self._over = True
        elif sent.reason == "stops" and self._place is not None:
            self._connection.leave(self._place)
            self._leaves()

    async def _come_back(self) -> None:
        try:
            if self._barren:
                await self._rest()
            await self.connect()
        except NotFound:
            self._over = True
        except (ServerUnreachable, StoreError) as error:
            await self._wait(error)
        else:
            if self._away_since is not None:
                self._away_since = None
                self._notice(BACK)

    async def _wait(self, error: ServerUnreachable | StoreError) -> None:
        self._leaves()
        assert self._away_since is not None
        away = asyncio.get_running_loop().time() - self._away_since
        if self._absence is not None and away > self._absence:
            raise error
        if not self._told:  # what there is to say comes first
            await self._rest()

    async def _rest(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(self._pause * 1.5, _LATE)

    def _leaves(self) -> None:
        if self._away_since is None:
            self._away_since = asyncio.get_running_loop().time()
            self._notice(AWAY)

    def _notice(self, text: str) -> None:
        self._told.append(Noticed(self._cursor or Cursor(0, 0), text))


@contextlib.asynccontextmanager
async def watching(
    connection: Connection,
    session: SessionId,
    cursor: Cursor | None = None,
    *,
    absence: float | None = None,
) -> AsyncGenerator[AsyncIterator[SessionEvent]]:
    follower = Follower(connection, session, cursor, absence=absence)
    try:
        await follower.begin()
        yield follower
    finally:
        await follower.close()
