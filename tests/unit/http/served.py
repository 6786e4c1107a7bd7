"""A whole Roost served over HTTP, stopped, crashed and started again on the same port, and browsers
and programs that talk to it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import aiohttp
import msgspec
from yarl import URL

from roost.core.clock import SystemClock
from roost.core.config import Config, ServerConfig
from roost.core.events import Cursor, parse_cursor
from roost.core.ids import SessionId, UserId
from roost.http import stream
from roost.http.app import create_app
from roost.http.connection import PATIENCE
from roost.http.server import bind, serve
from roost.http.views import EventView
from roost.runtime.departures import Departures
from roost.runtime.identities import Identities
from roost.testing.models import ModelServer
from roost.tools.base import Tool
from roost.workspace.workspaces import Workspaces
from tests.engine import ECHO, Engine, config_for
from tests.ports import held, number

SECONDS = 60
HEARTBEAT = b":\n\n"


class Served:
    """`engine` is what is served; `url` stays the same from start to start."""

    def __init__(
        self,
        folder: Path,
        models: ModelServer,
        *,
        tools: Sequence[Tool] = (ECHO,),
        heartbeat: float = stream.HEARTBEAT,
        patience: float = PATIENCE,
        server: ServerConfig | None = None,
        config: Config | None = None,
        workspaces: Workspaces | None = None,
    ) -> None:
        config = config or config_for(folder, models)
        if server is not None:
            config = msgspec.structs.replace(config, server=server)
        self.engine = Engine(
            folder,
            models,
            clock=SystemClock(),
            tools=tools,
            config=config,
            workspaces=workspaces,
        )
        self._heartbeat = heartbeat
        self._patience = patience
        self.port = 0
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None

    @property
    def url(self) -> URL:
        return URL.build(scheme="http", host="127.0.0.1", port=self.port)

    async def start(self) -> None:
        await self.engine.start()
        departures = Departures(self.engine.parts)
        self.identities = Identities(self.engine.store, self.engine.clock, departures=departures)
        self._stop, ready = asyncio.Event(), asyncio.Event()
        listener = bind("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        app = create_app(
            self.engine.app,
            self.identities,
            self.engine.config.server,
            stop=self._stop,
            heartbeat=self._heartbeat,
        )
        serving = serve(
            app,
            listener,
            ready=ready.set,
            stop=self._stop,
            log_requests=False,
            patience=self._patience,
        )
        self._serving = asyncio.create_task(serving)
        async with asyncio.timeout(SECONDS):
            await ready.wait()

    async def stop(self) -> None:
        """As after SIGTERM."""
        self._stop.set()
        await self._ended()
        await self.engine.stop()

    async def crash(self) -> None:
        """As after `kill -9`: nothing more is written, and connections break."""
        await self.engine.store.close()
        self._stop.set()
        await self._ended()
        await self.engine.crash()

    async def _ended(self) -> None:
        if self._serving is not None:
            async with asyncio.timeout(SECONDS):
                await self._serving

    # Who talks to it.

    @asynccontextmanager
    async def browser(self, user: UserId | None = None) -> AsyncGenerator["Client"]:
        """One that is signed in, as the owner or as another user."""
        secret = await self.identities.link(user or self.engine.owner.id)
        async with self._client({"Origin": str(self.url.origin())}) as client:
            assert await client.post("/api/sign-in", {"secret": secret.reveal()}) == (204, None)
            yield client

    @asynccontextmanager
    async def program(self, *scopes: str, user: UserId | None = None) -> AsyncGenerator["Client"]:
        owner = user or self.engine.owner.id
        made = await self.identities.create_token(owner, name="test", scopes=scopes or ("chat",))
        headers = {"Authorization": f"Bearer {made.secret.reveal()}"}
        async with self._client(headers) as client:
            yield client

    @asynccontextmanager
    async def stranger(self) -> AsyncGenerator["Client"]:
        async with self._client({}) as client:
            yield client

    @asynccontextmanager
    async def _client(self, headers: Mapping[str, str]) -> AsyncGenerator["Client"]:
        async with connections(headers) as opened:
            yield Client(self, opened)


@asynccontextmanager
async def connections(headers: Mapping[str, str]) -> AsyncGenerator[aiohttp.ClientSession]:
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of a bare address too
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=SECONDS)
    async with aiohttp.ClientSession(headers=headers, cookie_jar=jar, timeout=timeout) as opened:
        yield opened


class Told(NamedTuple):
    """One server-sent event."""

    kind: str
    id: str | None
    data: bytes

    @property
    def view(self) -> EventView:
        return msgspec.json.decode(self.data, type=EventView)

    @property
    def cursor(self) -> Cursor:
        assert self.id is not None
        return parse_cursor(self.id)


class Address(Protocol):
    @property
    def url(self) -> URL: ...


class Client:
    def __init__(self, served: Address, connections: aiohttp.ClientSession) -> None:
        self.served = served
        self.connections = connections

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status, and the JSON of the answer if it has one."""
        url = self.served.url.join(URL(path))
        if body is not None:
            data = msgspec.json.encode(body)
            headers = {"Content-Type": "application/json", **(headers or {})}
        async with self.connections.request(method, url, data=data, headers=headers) as response:
            answer = await response.read()
            return response.status, msgspec.json.decode(answer) if answer else None

    async def get(self, path: str) -> Any:  # noqa: ANN401
        status, answer = await self.ask("GET", path)
        assert status == 200, answer
        return answer

    async def post(
        self, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        return await self.ask("POST", path, {} if body is None else body, headers=headers)

    async def session(self, **body: object) -> SessionId:
        status, opened = await self.post("/api/sessions", {"title": "Session", **body})
        assert status == 201, opened
        return SessionId(cast("str", opened["id"]))

    async def send(self, session: SessionId, text: str = "Hello", **more: object) -> dict[str, Any]:
        status, turn = await self.post(f"/api/sessions/{session}/turns", {"text": text, **more})
        assert status == 202, turn
        return turn

    @asynccontextmanager
    async def events(self, path: str, *, after: str | None = None) -> AsyncGenerator["EventReader"]:
        headers = {} if after is None else {"Last-Event-ID": after}
        url = self.served.url.join(URL(path))
        async with AsyncExitStack() as stack:
            response = await stack.enter_async_context(self.connections.get(url, headers=headers))
            assert response.status == 200, await response.text()
            assert response.content_type == "text/event-stream"
            yield EventReader(response)
            response.close()  # what is still to come is not read

    def watch(
        self, session: SessionId, *, after: str | None = None
    ) -> AbstractAsyncContextManager["EventReader"]:
        return self.events(f"/api/sessions/{session}/events", after=after)


class EventReader:
    """Reads whole events; what is cut off in the middle of one is lost, as in a browser."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self._buffer = b""

    def __aiter__(self) -> AsyncIterator[Told]:
        return self

    async def __anext__(self) -> Told:
        async with asyncio.timeout(SECONDS):
            while (told := self._take()) is None:
                chunk = await self.response.content.readany()
                if not chunk:
                    raise StopAsyncIteration
                self._buffer += chunk
        return told

    async def read(self, size: int) -> list[Told]:
        """The events within the next bytes, of which the last may be cut; fewer bytes if nothing
        happens any more."""
        async with asyncio.timeout(SECONDS):
            while len(self._buffer) < size and (chunk := await self.response.content.readany()):
                self._buffer += chunk
                if chunk == HEARTBEAT:
                    break
        self._buffer = self._buffer[:size]
        found: list[Told] = []
        while (told := self._take()) is not None:
            found.append(told)
        return found

    def _take(self) -> Told | None:
        while b"\n\n" in self._buffer:
            block, _, self._buffer = self._buffer.partition(b"\n\n")
            fields = dict(_field(line) for line in block.split(b"\n"))
            if b"data" in fields:
                id = fields.get(b"id")
                return Told(
                    fields[b"event"].decode(), None if id is None else id.decode(), fields[b"data"]
                )
        return None


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


@asynccontextmanager
async def started(served: Served) -> AsyncGenerator[Served]:
    with held() as holder:
        served.port = number(holder)
        await served.start()
        try:
            yield served
        finally:
            await served.stop()
