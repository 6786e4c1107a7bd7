"""The browser's proxy, spoken to byte by byte."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from roost.workspace import proxy as browser_proxy
from roost.workspace.proxy import CONNECTIONS, Pass, Proxy
from tests.network import PUBLIC, Network, Site, served
from tests.ports import held, number

DEADLINE = 60.0


@pytest.fixture
def network() -> Network:
    network = Network()
    network.name("example.com", [PUBLIC])
    network.name("reports.example", [PUBLIC])
    return network


@pytest.fixture
async def proxy(network: Network) -> AsyncGenerator[Proxy]:
    proxy = Proxy(network.guard, without=frozenset(["reports.example"]))
    await proxy.open()
    yield proxy
    await proxy.close()


@pytest.fixture
async def site(network: Network) -> AsyncGenerator[Site]:
    site = Site()
    async with served(site) as port:
        network.put(PUBLIC, port)
        yield site


class Line:
    """A connection to the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, proxy: Proxy) -> "Line":
        return cls(*await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2])))

    def ask(self, first: str, ticket: Pass | None, *headers: str, body: bytes = b"") -> None:
        lines = [f"{first} HTTP/1.1", *headers]
        if ticket is not None:
            lines.append(f"Proxy-Authorization: Basic {ticket.written.decode()}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def rest(self) -> bytes:
        async with asyncio.timeout(DEADLINE):
            return await self.reader.read()

    async def until(self, end: bytes) -> bytes:
        async with asyncio.timeout(DEADLINE):
            return await self.reader.readuntil(end)

    def close(self) -> None:
        self.writer.close()


async def asked(proxy: Proxy, first: str, ticket: Pass | None, *headers: str) -> bytes:
    line = await Line.to(proxy)
    line.ask(first, ticket, *headers)
    answer = await line.rest()
    line.close()
    return answer


async def test_a_plain_request_is_passed_on_without_a_trace(proxy: Proxy, site: Site) -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.raw_path, dict(request.headers)))
        return web.Response(text="here")

    site.pages["/a"] = answer
    ticket = proxy.admit()
    got = await asked(
        *(proxy, "GET http://example.com/a?b=%20\\", ticket),
        *("Host: example.com", "Proxy-Connection: keep-alive", "Connection: keep-alive", "X: y"),
    )
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert got.endswith(b"\r\n\r\nhere")
    assert b"Connection: close\r\n" in got
    ((path, headers),) = seen
    assert path == "/a?b=%20\\"
    assert headers == {"Host": "example.com", "X": "y", "Connection": "close"}
    assert ticket.tasks == set(), "it counts no longer"


async def test_exactly_the_body_of_a_request_is_passed_on(proxy: Proxy, network: Network) -> None:
    """What comes after it would be for another host."""
    got = asyncio.Queue[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.put_nowait(await reader.readuntil(b"\r\n\r\n"))
        got.put_nowait(await reader.readexactly(3))
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Fine\r\nKeep-Alive: 5\r\n\r\n")
        got.put_nowait(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        network.put(PUBLIC, server.sockets[0].getsockname()[1])
        line = await Line.to(proxy)
        more = b"abcGET http://other.example/ HTTP/1.1\r\nCookie: secret\r\n\r\n"
        line.ask("POST http://example.com/", proxy.admit(), "Content-Length: 3", body=more)
        assert await line.until(b"\r\n\r\n") == b"HTTP/1.1 204 Fine\r\nConnection: close\r\n\r\n"
        line.close()
        async with asyncio.timeout(DEADLINE):
            assert (await got.get()).startswith(b"POST / HTTP/1.1\r\n")
            assert await got.get() == b"abc"
            assert await got.get() == b""


async def test_a_tunnel_carries_both_ways_until_both_are_done(
    proxy: Proxy, network: Network
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"heard " + await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        network.put(PUBLIC, server.sockets[0].getsockname()[1])
        line = await Line.to(proxy)
        line.ask("CONNECT example.com:443", proxy.admit())
        assert await line.until(b"\r\n\r\n") == b"HTTP/1.1 200 Connected\r\n\r\n"
        line.writer.write(b"\x16\x03\x01")
        line.writer.write_eof()
        assert await line.rest() == b"heard \x16\x03\x01"
        line.close()


@pytest.mark.parametrize("first", ["CONNECT example.com:443", "GET http://example.com/"])
async def test_nobody_gets_through_without_a_pass(proxy: Proxy, site: Site, first: str) -> None:
    ticket = proxy.admit()
    assert (await asked(proxy, first, None)).startswith(b"HTTP/1.1 407 ")
    assert (await asked(proxy, first, Pass())).startswith(b"HTTP/1.1 407 ")
    assert (await asked(proxy, first, None, f"Proxy-Authorization: {ticket.name}")).startswith(
        b"HTTP/1.1 407 "
    )
    proxy.dismiss(ticket)
    assert (await asked(proxy, first, ticket)).startswith(b"HTTP/1.1 407 ")
    assert site.asked == []


REFUSED = {
    "CONNECT 127.0.0.1:443": "127.0.0.1",
    "CONNECT [::1]:8443": "[::1]:8443",
    "CONNECT localhost:80": "localhost:80",
    "CONNECT example.com:25": "example.com:25",
    "CONNECT reports.example:443": "reports.example",
    "GET http://169.254.169.254/latest": "169.254.169.254",
    "GET http://a@127.0.0.1/": "127.0.0.1",
    "GET http://nowhere.example/": "nowhere.example",
}


@pytest.mark.parametrize("first", REFUSED)
async def test_what_the_guard_refuses_is_remembered(
    proxy: Proxy, network: Network, first: str
) -> None:
    ticket = proxy.admit()
    assert (await asked(proxy, first, ticket)).startswith(b"HTTP/1.1 403 ")
    assert "can't be reached from here" in ticket.refused[REFUSED[first]]
    assert network.dialled == []


async def test_what_does_not_answer(proxy: Proxy, network: Network) -> None:
    ticket = proxy.admit()
    with held() as nobody:
        network.put(PUBLIC, number(nobody))
        assert (await asked(proxy, "CONNECT example.com:443", ticket)).startswith(b"HTTP/1.1 502 ")
    assert ticket.refused == {"example.com": "example.com does not answer."}


@pytest.mark.parametrize(
    ("first", "headers"),
    [
        ("GET https://example.com/", []),
        ("GET /path", []),
        ("GET ftp://example.com/", []),
        ("POST http://example.com/", ["Transfer-Encoding: chunked"]),
    ],
)
async def test_what_a_browser_does_not_ask(proxy: Proxy, first: str, headers: list[str]) -> None:
    assert (await asked(proxy, first, proxy.admit(), *headers)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("length", ["-1", "+3", "3, 3", "three"])
async def test_body_of_no_length_is_passed_on_to_nobody(
    proxy: Proxy, site: Site, length: str
) -> None:
    line = await Line.to(proxy)
    line.ask("POST http://example.com/", proxy.admit(), f"Content-Length: {length}", body=b"abcd")
    line.writer.write_eof()
    assert await line.rest() == b""
    line.close()
    assert site.asked == []


@pytest.mark.parametrize("bad", [b"\r\n\r\n", b"GET\r\n\r\n", b"x" * 300_000, b"\x16\x03\x01"])
async def test_what_is_no_request_ends_the_connection(proxy: Proxy, bad: bytes) -> None:
    line = await Line.to(proxy)
    line.writer.write(bad)
    line.writer.write_eof()
    with suppress(ConnectionError):  # it may be closed before all of this was sent
        assert b"200" not in await line.rest()
    line.close()
    assert (await asked(proxy, "GET /", proxy.admit())).startswith(b"HTTP/1.1 400 ")


async def test_a_request_without_end_is_not_read_to_its_end(proxy: Proxy) -> None:
    line = await Line.to(proxy)
    line.writer.write(b"GET http://example.com/ HTTP/1.1\r\n" + b"X: y\r\n" * 100_000)
    with suppress(ConnectionError):  # it may be closed before all of this was sent
        assert await line.rest() == b""
    line.close()


async def test_who_asks_for_nothing_is_not_waited_for(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_proxy, "HEAD_SECONDS", 0.1)
    line = await Line.to(proxy)
    line.writer.write(b"CONNECT example.com:443 HTTP/1.1\r\n")
    assert await line.rest() == b""
    line.close()


@asynccontextmanager
async def echo(proxy: Proxy, network: Network) -> AsyncGenerator[Line]:
    """A tunnel to a host that says what it hears."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        network.put(PUBLIC, server.sockets[0].getsockname()[1])
        line = await Line.to(proxy)
        line.ask("CONNECT example.com:443", proxy.admit())
        assert await line.until(b"\r\n\r\n") == b"HTTP/1.1 200 Connected\r\n\r\n"
        yield line
        line.close()


async def test_a_tunnel_that_nothing_goes_through_is_closed(
    proxy: Proxy, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_proxy, "IDLE_SECONDS", 0.1)
    async with echo(proxy, network) as line:
        assert await line.rest() == b""


async def test_a_tunnel_lasts_for_as_long_as_it_is_used(
    proxy: Proxy, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_proxy, "IDLE_SECONDS", 1.0)
    async with echo(proxy, network) as line:
        for _ in range(6):
            await asyncio.sleep(0.25)
            line.writer.write(b"x")
            assert await line.until(b"x") == b"x"


async def test_a_pass_that_is_over_ends_its_connections(proxy: Proxy, network: Network) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        network.put(PUBLIC, server.sockets[0].getsockname()[1])
        ticket, other = proxy.admit(), proxy.admit()
        lines = [await Line.to(proxy) for _ in range(2)]
        for line, its in zip(lines, (ticket, other), strict=True):
            line.ask("CONNECT example.com:443", its)
            await line.until(b"\r\n\r\n")
        proxy.dismiss(ticket)
        assert await lines[0].rest() == b""
        assert len(other.tasks) == 1
        for line in lines:
            line.close()


async def test_connections_are_counted(proxy: Proxy) -> None:
    ticket = proxy.admit()
    nothing = asyncio.get_running_loop().create_future()

    async def wait() -> None:
        await nothing

    ticket.tasks.update([asyncio.create_task(wait()) for _ in range(CONNECTIONS)])
    assert (await asked(proxy, "CONNECT example.com:443", ticket)).startswith(b"HTTP/1.1 503 ")
    proxy.dismiss(ticket)


def test_only_the_last_refusals_are_remembered() -> None:
    ticket = Pass()
    for each in range(100):
        ticket.remember(f"{each}.example", "no")
    assert len(ticket.refused) == 50
    assert "99.example" in ticket.refused
