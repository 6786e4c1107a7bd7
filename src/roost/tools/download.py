"""A page fetched for an agent: through the guard, bounded in size, time and redirects."""

import asyncio
import ssl
import zlib
from http.client import responses

import aiohttp
import msgspec
from yarl import URL

from roost.core.errors import AddressRefused
from roost.tools.base import ToolError
from roost.workspace.addresses import CONNECT_SECONDS, Guard, Spot, read_url

BYTES = 5_000_000
SECONDS = 30.0
REDIRECTS = 5

_MOVED = (301, 302, 303, 307, 308)
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en,*;q=0.5",
    "User-Agent": "Mozilla/5.0 (compatible; Roost)",
}


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """What an address gave. `url` is where the last redirect led; `cut` says that there was more
    than `body` has."""

    url: str
    status: int
    kind: str
    charset: str | None
    body: bytes
    cut: bool

    @property
    def answer(self) -> str:
        """`404 Not Found`"""
        return f"{self.status} {responses.get(self.status, '')}".rstrip()


class Downloads:
    """Fetches with GET. What goes wrong is a ToolError, for the model to read."""

    def __init__(
        self,
        guard: Guard,
        *,
        tls: ssl.SSLContext | None = None,
        limit: int = BYTES,
        seconds: float = SECONDS,
    ) -> None:
        self._guard = guard
        self._tls = tls
        self._limit = limit
        self._seconds = seconds

    async def get(self, address: str) -> Download:
        try:
            async with asyncio.timeout(self._seconds), self._connections() as connections:
                return await self._follow(connections, read_url(address))
        except AddressRefused as error:
            raise ToolError(str(error)) from error
        except TimeoutError as error:
            raise ToolError(f"{address} took longer than {self._seconds:g} seconds.") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise ToolError(f"{address} has no valid certificate for its name.") from error
        except zlib.error as error:
            raise ToolError(f"{address} sent something that can't be decompressed.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Their own words name the address that the name stands for, which helps nobody.
            raise ToolError(f"{address} can't be fetched ({type(error).__name__}).") from error

    def _connections(self) -> aiohttp.ClientSession:
        # A proxy of the environment would look names up by itself, behind the guard's back. Nothing
        # is kept between requests: neither connections nor cookies.
        connector = aiohttp.TCPConnector(ssl=self._tls or True, force_close=True)
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    async def _follow(self, connections: aiohttp.ClientSession, url: URL) -> Download:
        for _ in range(REDIRECTS + 1):
            async with await self._ask(connections, url) as response:
                where = response.headers.get("Location")
                if response.status not in _MOVED or where is None:
                    return await self._read(response, url)
                url = read_url(str(url.join(URL(where))))
        raise ToolError(f"It was redirected more than {REDIRECTS} times, last to {url}.")

    async def _ask(self, connections: aiohttp.ClientSession, url: URL) -> aiohttp.ClientResponse:
        assert url.raw_host is not None
        assert url.port is not None
        *others, last = await self._guard.spots(url.raw_host, url.port)
        for spot in others:
            try:
                return await self._ask_at(connections, url, spot)
            except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError):
                continue
        return await self._ask_at(connections, url, last)

    async def _ask_at(
        self, connections: aiohttp.ClientSession, url: URL, spot: Spot
    ) -> aiohttp.ClientResponse:
        """With the address in place of the name, so that there is nothing left to look up."""
        return await connections.get(
            url.with_host(spot.host).with_port(spot.port),
            headers=_HEADERS | {"Host": url.raw_authority},
            server_hostname=url.raw_host,
            allow_redirects=False,
        )

    async def _read(self, response: aiohttp.ClientResponse, url: URL) -> Download:
        body, cut = await _body(response, self._limit)
        return Download(
            url=str(url),
            status=response.status,
            kind=response.content_type if "Content-Type" in response.headers else "",
            charset=response.charset,
            body=body,
            cut=cut,
        )


async def _body(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes, and whether there are more. What is compressed is opened up to there,
    never as a whole: a thousandth of it may have been sent."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise ToolError("The page is compressed in a way that was not asked for.")
    opened = None if encoding in ("identity", "") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk if opened is None else opened.decompress(chunk, limit + 1 - len(body))
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False
