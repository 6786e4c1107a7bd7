"""The browser's one way out: a proxy on loopback that asks the guard about every connection."""

import asyncio
import base64
import hmac
import re
import secrets
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import NamedTuple

import structlog

from roost.core.errors import AddressRefused
from roost.workspace.addresses import Guard, read_url

log = structlog.stdlib.get_logger("roost.workspace")

HEAD_BYTES = 1 << 18
HEAD_SECONDS = 60.0
IDLE_SECONDS = 300.0
CONNECTIONS = 256
"""At most so many at once, for each pass."""

_CHUNK = 1 << 16
_REMEMBERED = 50
_HOP = re.compile(rb"(proxy-.*|connection|keep-alive|te|trailer|upgrade)$", re.IGNORECASE)
_TARGET = re.compile(rb"http://([^/?#]+)(.*)", re.IGNORECASE)
_NEEDS_PASS = b'HTTP/1.1 407 No pass\r\nProxy-Authenticate: Basic realm="roost"\r\n'

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pass:
    """Lets one browser context through; nobody else on this machine knows its password. `refused`
    says why a host could not be reached, the last ones."""

    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        self.password = secrets.token_hex(16)
        self.refused: dict[str, str] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def written(self) -> bytes:
        return base64.b64encode(f"{self.name}:{self.password}".encode())

    def remember(self, host: str, why: str) -> None:
        self.refused.pop(host, None)
        self.refused[host] = why
        while len(self.refused) > _REMEMBERED:
            del self.refused[next(iter(self.refused))]


class _Head(NamedTuple):
    """The first lines of a request or a response."""

    first: bytes
    headers: Sequence[tuple[bytes, bytes]]

    def get(self, name: bytes) -> bytes:
        return next((value for key, value in self.headers if key.lower() == name), b"")

    def sent_on(self, first: bytes) -> bytes:
        """As it goes on to the other side, which hears nothing of the proxy and ends with it."""
        kept = [b"%s: %s" % header for header in self.headers if not _HOP.match(header[0])]
        return b"\r\n".join([first, *kept, b"Connection: close", b"", b""])


class Proxy:
    """Takes CONNECT and plain requests for http:// addresses, one for each connection. Nobody
    gets to the hosts of `without`."""

    def __init__(self, guard: Guard, *, without: frozenset[str] = frozenset()) -> None:
        self._guard = guard
        self._without = without
        self._passes: dict[bytes, Pass] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def admit(self) -> Pass:
        made = Pass()
        self._passes[made.written] = made
        return made

    def dismiss(self, old: Pass) -> None:
        """No more connections with this pass; those that there are end."""
        self._passes.pop(old.written, None)
        for task in old.tasks:
            task.cancel()

    async def close(self) -> None:
        self._passes.clear()
        if self._server is not None:
            self._server.close()
        tasks = list(self._serving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._answer((reader, writer), task)
        except (OSError, EOFError, asyncio.LimitOverrunError, ValueError):
            pass  # one side went away, or wrote no HTTP
        except Exception:
            log.exception("the browser's proxy failed")
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer(self, client: Stream, task: asyncio.Task[None]) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await _read_head(client[0])
        bearer = self._bearer(head)
        if bearer is None:
            return await _say(client[1], _NEEDS_PASS, "This proxy is not for you.")
        if len(bearer.tasks) >= CONNECTIONS:
            return await _say(client[1], b"HTTP/1.1 503 Busy\r\n", "Too many connections.")
        bearer.tasks.add(task)
        try:
            return await self._pass_on(client, head, bearer)
        finally:
            bearer.tasks.discard(task)

    def _bearer(self, head: _Head) -> Pass | None:
        given = head.get(b"proxy-authorization").removeprefix(b"Basic ").strip()
        # Every one is compared, in the same time, whatever was given.
        found = [it for written, it in self._passes.items() if hmac.compare_digest(written, given)]
        return found[0] if found else None

    async def _pass_on(self, client: Stream, head: _Head, bearer: Pass) -> None:
        method, target, _ = head.first.split(b" ", 2)
        plain = None if method == b"CONNECT" else _TARGET.fullmatch(target)
        if method != b"CONNECT" and (plain is None or head.get(b"transfer-encoding")):
            return await _say(client[1], b"HTTP/1.1 400 Bad request\r\n", "That is not for here.")
        place = target if plain is None else plain[1]
        try:
            server = await self._connect(place.decode("ascii"))
        except AddressRefused as error:
            bearer.remember(_host(place), str(error))
            return await _say(client[1], b"HTTP/1.1 403 Refused\r\n", str(error))
        except OSError:
            said = f"{_host(place)} does not answer."
            bearer.remember(_host(place), said)
            return await _say(client[1], b"HTTP/1.1 502 No answer\r\n", said)
        try:
            if plain is None:
                return await _tunnel(client, server)
            path = plain[2] if plain[2].startswith(b"/") else b"/" + plain[2]
            return await _exchange(client, server, head, b"%s %s HTTP/1.1" % (method, path))
        finally:
            server[1].close()

    async def _connect(self, place: str) -> Stream:
        url = read_url(f"http://{place}")
        assert url.raw_host is not None
        assert url.port is not None
        if url.raw_host in self._without:
            raise AddressRefused("it is of no use here.", address=url.raw_host)
        return await self._guard.connect(url.raw_host, url.port)


def _host(place: bytes) -> str:
    return place.decode("ascii", "replace").rpartition("@")[2].lower().removesuffix(":443")


async def _read_head(reader: asyncio.StreamReader) -> _Head:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    headers = [line.partition(b":") for line in lines]
    return _Head(first, [(name.strip(), value.strip()) for name, _, value in headers])


async def _say(writer: asyncio.StreamWriter, first: bytes, words: str) -> None:
    body = words.encode()
    writer.write(
        first + b"Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    async with asyncio.timeout(HEAD_SECONDS):
        await writer.drain()


async def _tunnel(client: Stream, server: Stream) -> None:
    client[1].write(b"HTTP/1.1 200 Connected\r\n\r\n")
    async with asyncio.timeout(IDLE_SECONDS) as idle:
        there = _copy(client[0], server[1], idle, ends=True)
        back = _copy(server[0], client[1], idle, ends=True)
        await _until(asyncio.FIRST_EXCEPTION, there, back)


async def _exchange(client: Stream, server: Stream, head: _Head, first: bytes) -> None:
    """One request, with exactly its body, and its answer. What a browser sent after it would be for
    another host."""
    length = head.get(b"content-length") or b"0"
    if not length.isdigit():
        raise ValueError("a body has a length")
    server[1].write(head.sent_on(first))

    async def send(idle: asyncio.Timeout) -> None:
        await _copy(client[0], server[1], idle, count=int(length))
        while await client[0].read(_CHUNK):
            pass

    async def answer(idle: asyncio.Timeout) -> None:
        while (got := await _read_head(server[0])).first.partition(b" ")[2].startswith(b"1"):
            pass
        client[1].write(got.sent_on(got.first))
        await _copy(server[0], client[1], idle)

    async with asyncio.timeout(IDLE_SECONDS) as idle:
        await _until(asyncio.FIRST_COMPLETED, send(idle), answer(idle))


async def _copy(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    idle: asyncio.Timeout,
    *,
    count: int | None = None,
    ends: bool = False,
) -> None:
    """Up to `count` bytes. If it `ends`, the other side learns that nothing more comes."""
    while count != 0 and (data := await reader.read(min(count or _CHUNK, _CHUNK))):
        writer.write(data)
        await writer.drain()
        idle.reschedule(asyncio.get_running_loop().time() + IDLE_SECONDS)
        count = None if count is None else count - len(data)
    if ends and writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()


async def _until(enough: str, *sides: Awaitable[None]) -> None:
    """As `asyncio.wait` has it; then the others end too."""
    tasks = [asyncio.ensure_future(side) for side in sides]
    try:
        done, _ = await asyncio.wait(tasks, return_when=enough)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
