"""A client of the server, as a page or a program is one, and one of the model for comparison."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
import msgspec

from bench.server.process import Server
from roost.core.events import Event, Streamed, TextDelta, TurnUpdated
from roost.core.ids import SessionId
from roost.llm.sse import EventReader

WORDS = "Tell me how this goes on, in about fifty words, and leave out what was said before. " * 2
_NEVER = aiohttp.ClientTimeout(total=None, sock_read=60)
_JSON = {"Content-Type": "application/json"}


class Seen(NamedTuple):
    """What an event says that is measured: new text, and whether a turn is over."""

    text: str = ""
    over: bool = False


class _Changed(msgspec.Struct, frozen=True):
    events: tuple[Event, ...]


class _Delta(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    delta: _Delta = _Delta()


class _Chunk(msgspec.Struct, frozen=True):
    choices: tuple[_Choice, ...] = ()


class _Made(msgspec.Struct, frozen=True):
    id: SessionId


class _Imported(msgspec.Struct, frozen=True):
    session: _Made


class _Token(msgspec.Struct, frozen=True):
    secret: str


_streamed = msgspec.json.Decoder(Streamed).decode
_changed = msgspec.json.Decoder(_Changed).decode
_chunk = msgspec.json.Decoder(_Chunk).decode


class Client:
    """Keeps its connections, as browsers do."""

    def __init__(self, connections: aiohttp.ClientSession) -> None:
        self._connections = connections

    async def session(self, model: str) -> SessionId:
        """Titled, so that no model is asked for a title."""
        body = {"title": "Bench", "model": f"bench/{model}"}
        return msgspec.json.decode(await self._post("/api/sessions", body), type=_Made).id

    async def take(self, document: bytes) -> SessionId:
        """A session that was exported."""
        made = await self._post("/api/import", msgspec.Raw(document))
        return msgspec.json.decode(made, type=_Imported).session.id

    async def branch(self, session: SessionId) -> SessionId:
        made = await self._post(f"/api/sessions/{session}/branch", {})
        return msgspec.json.decode(made, type=_Made).id

    async def send(self, session: SessionId, words: str = WORDS) -> None:
        await self._post(f"/api/sessions/{session}/turns", {"text": words})

    async def _post(self, path: str, body: object) -> bytes:
        sent = msgspec.json.encode(body)
        async with self._connections.post(path, data=sent, headers=_JSON) as response:
            answer = await response.read()
            assert response.ok, answer
            return answer

    @asynccontextmanager
    async def watch(self, session: SessionId) -> AsyncGenerator[AsyncIterator[Seen]]:
        """From when its snapshot came."""
        path = f"/api/sessions/{session}/events"
        async with self._connections.get(path, timeout=_NEVER) as response:
            assert response.ok, await response.read()
            events = _events(response)
            async for kind, _ in events:
                if kind == "snapshot":
                    break
            yield _seen(events)

    async def say(self, session: SessionId, events: AsyncIterator[Seen]) -> None:
        """A whole turn, watched to its end."""
        await self.send(session)
        async for seen in events:
            if seen.over:
                return


async def _events(response: aiohttp.ClientResponse) -> AsyncGenerator[tuple[str, bytes]]:
    reader = EventReader("the server")
    async for chunk in response.content.iter_any():
        for event in reader.feed(chunk):
            yield event


async def _seen(events: AsyncIterator[tuple[str, bytes]]) -> AsyncGenerator[Seen]:
    async for kind, data in events:
        if kind == "streamed":
            deltas = _streamed(data).deltas.deltas
            yield Seen("".join([each.text for each in deltas if isinstance(each, TextDelta)]))
        elif kind == "changed":
            yield Seen(over=_ends(_changed(data).events))


def _ends(events: tuple[Event, ...]) -> bool:
    """One that failed would count as a quick one."""
    turns = [each for each in events if isinstance(each, TurnUpdated)]
    for each in turns:
        assert each.state in ("queued", "running", "completed"), each.reason
    return any(each.state == "completed" for each in turns)


@asynccontextmanager
async def client_of(server: Server) -> AsyncGenerator[Client]:
    """With a token of its own, as a program has one."""
    token = await token_of(server)
    async with connected(server, token) as client:
        yield client


async def token_of(server: Server) -> str:
    async with _connections(server, server.token) as connections:
        body = msgspec.json.encode({"name": "bench", "scopes": ["chat"]})
        async with connections.post("/api/tokens", data=body, headers=_JSON) as response:
            assert response.ok, await response.read()
            return msgspec.json.decode(await response.read(), type=_Token).secret


@asynccontextmanager
async def connected(server: Server, token: str) -> AsyncGenerator[Client]:
    async with _connections(server, token) as connections:
        yield Client(connections)


def _connections(server: Server, token: str) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        server.url,
        headers={"Authorization": f"Bearer {token}"},
        connector=aiohttp.TCPConnector(limit=0),
    )


class Model:
    """The model without Roost."""

    def __init__(self, url: str, connections: aiohttp.ClientSession) -> None:
        self._url = url
        self._connections = connections

    async def texts(self, body: bytes) -> AsyncGenerator[str]:
        url = f"{self._url}/v1/chat/completions"
        async with self._connections.post(
            url, data=body, headers=_JSON, timeout=_NEVER
        ) as response:
            assert response.ok, await response.read()
            async for _, data in _events(response):
                for choice in () if data == b"[DONE]" else _chunk(data).choices:
                    if choice.delta.content:
                        yield choice.delta.content

    async def last_asked(self) -> bytes:
        """The latest request that it got, as it came."""
        async with self._connections.get(f"{self._url}/requests") as response:
            asked: list[dict[str, str]] = msgspec.json.decode(await response.read())
            return asked[-1]["body"].encode()


@asynccontextmanager
async def model_at(url: str) -> AsyncGenerator[Model]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as connections:
        yield Model(url, connections)
