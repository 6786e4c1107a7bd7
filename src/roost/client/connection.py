"""Requests to the server of a data folder, which may stop and come back at any time."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from roost.client.place import Place
from roost.client.problems import error_of
from roost.core.errors import NotFound, NotSignedIn, ServerUnreachable, StoreClosed
from roost.core.keys import Key
from roost.core.messages import check_text

T = TypeVar("T")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Query = Mapping[str, str | int | bool | None]

SECONDS = 60.0
"""For an answer."""
LONG = 600.0
"""For one that a model or a large file has part in."""
PATIENCE = 30.0
"""For a server that is not there: it may be just about to start again."""

_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 45.0
"""A stream has a sign of life every quarter of a minute."""
_PAUSE = 0.2

_NOT_THERE = "it is not running any more. Start it again with `roost run`."
_LOST = "it went away before it answered. What was asked for may have been done."
_ANOTHER = "whoever answers there shows another certificate than the server started with."
STRANGE = "it says something that this Roost does not understand. Restart it: it may be another's."


class _Lost(Exception):
    """No answer came. `sent` is whether the server may have begun with it."""

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.why = why
        self.sent = sent


class Ask(NamedTuple):
    """One request. `again` says that it may be repeated when its answer is lost: it has the same
    effect then as once."""

    method: Method
    path: str
    query: Query | None = None
    body: object = None
    data: bytes | None = None
    again: bool = False
    seconds: float = SECONDS


def path(*segments: str) -> str:
    """Of an address below /api. What is no name of anything is not found, whatever it is."""
    for each in segments:
        if each in ("", ".", "..") or "\0" in each:
            raise NotFound("thing named", repr(each))
    return "/api/" + "/".join([quote(each, safe="") for each in segments])


class Connection:
    """`find` says where the server is now. Each request is a connection of its own: of one that was
    kept, nobody could tell whether the server took the request before it stopped."""

    def __init__(
        self,
        find: Callable[[], Place | None],
        session: aiohttp.ClientSession,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._find = find
        self._session = session
        self._patience = patience
        self._gone: Key | None = None

    def leave(self, place: Place) -> None:
        """A server that has said that it stops is not asked for anything any more, though it may
        still answer: the next one has another credential."""
        self._gone = place.token

    async def ask(self, asked: Ask, kind: type[T]) -> T:
        """The answer, as what it is."""
        return understood(await self.fetch(asked), kind)

    async def fetch(self, asked: Ask) -> bytes:
        """The answer as it comes. A server that is not there is waited for."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while True:
            try:
                return await self._once(asked)
            except _Lost as lost:
                if loop.time() >= end or (lost.sent and not asked.again):
                    raise ServerUnreachable(lost.why) from lost
            await asyncio.sleep(_PAUSE)

    async def _once(self, asked: Ask) -> bytes:
        timeout = aiohttp.ClientTimeout(total=asked.seconds, sock_connect=_CONNECT_SECONDS)
        async with self._open(asked, timeout) as (response, _):
            try:
                return await response.read()
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                raise _Lost(_LOST, sent=True) from error

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[aiohttp.ClientResponse, Place]]:
        """An answer that goes on, and whose it is. Who does not answer at once is unreachable."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENCE_SECONDS
        )
        async with contextlib.AsyncExitStack() as stack:
            try:
                opened = self._open(Ask("GET", path), timeout, headers)
                answered = await stack.enter_async_context(opened)
            except _Lost as lost:
                raise ServerUnreachable(lost.why) from lost
            yield answered

    @contextlib.asynccontextmanager
    async def _open(
        self, asked: Ask, limits: aiohttp.ClientTimeout, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[tuple[aiohttp.ClientResponse, Place]]:
        place = await asyncio.to_thread(self._find)
        if place is None or place.token == self._gone:
            raise _Lost(_NOT_THERE, sent=False)
        headers = {"Authorization": f"Bearer {place.token.reveal()}", **headers}
        check_text((asked.path, asked.query, asked.body), "input")
        data = asked.data
        if asked.body is not None:
            data = msgspec.json.encode(asked.body)
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            response = await self._session.request(
                asked.method,
                _url(place, asked),
                data=data,
                headers=headers,
                timeout=limits,
                allow_redirects=False,
                ssl=True if place.certificate is None else aiohttp.Fingerprint(place.certificate),
            )
        except aiohttp.ServerFingerprintMismatch as error:
            raise ServerUnreachable(_ANOTHER) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise _Lost(_NOT_THERE, sent=False) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _Lost(_LOST, sent=True) from error
        try:
            await _check(response)
            yield response, place
        finally:
            response.close()


async def _check(response: aiohttp.ClientResponse) -> None:
    if response.status < HTTPStatus.MULTIPLE_CHOICES:
        return
    try:
        error = error_of(response.status, await response.read())
    except (aiohttp.ClientError, OSError, TimeoutError) as failure:
        raise _Lost(_LOST, sent=True) from failure
    if isinstance(error, NotSignedIn):
        # Another one has just taken its place, with a credential of its own.
        raise _Lost(_NOT_THERE, sent=False)
    if isinstance(error, StoreClosed):
        raise _Lost(_LOST, sent=True)  # it is about to stop
    raise error


def _url(place: Place, asked: Ask) -> URL:
    given = {name: _text(value) for name, value in (asked.query or {}).items() if value is not None}
    url = URL(f"{place.url.origin()}{asked.path}", encoded=True)
    return url.with_query(given) if given else url


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def understood(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data or b"null", type=kind)
    except msgspec.MsgspecError as error:
        raise ServerUnreachable(STRANGE) from error


@contextlib.asynccontextmanager
async def connected(
    find: Callable[[], Place | None], *, patience: float = PATIENCE
) -> AsyncGenerator[Connection]:
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Connection(find, session, patience=patience)
