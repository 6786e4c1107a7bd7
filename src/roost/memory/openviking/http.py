"""One request to an OpenViking server: who asks, how long it may take, and what its errors mean."""

from collections.abc import Mapping
from typing import Generic, TypeVar

import aiohttp
import msgspec

from roost.core.errors import MemoryFailed

_BODY_LIMIT = 16 << 20
_WORDS_LIMIT = 300

T = TypeVar("T")


class _Envelope(msgspec.Struct, Generic[T], frozen=True):
    """What every answer of its API comes in."""

    result: T


class _Error(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: _Error


class Viking:
    """The server. Connections are opened at the first request and kept."""

    def __init__(self, base_url: str, api_key: str | None, *, account: str, timeout: float) -> None:
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._account = account
        self._timeout = timeout
        self._connections: aiohttp.ClientSession | None = None

    @property
    def has_key(self) -> bool:
        return bool(self._api_key)

    async def ask(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        user: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
    ) -> T | None:
        """The result of one call of the API on behalf of a user; None if there is no such thing."""
        answer = await self._exchange(method, path, user=user, query=query, body=body)
        return None if answer is None else _read(answer, _Envelope[kind]).result

    async def look(self, path: str, kind: type[T]) -> T:
        """What the server says about itself, which comes without an envelope."""
        answer = await self._exchange("GET", path)
        if answer is None:
            raise failed("it has no such page; is it an OpenViking server?")
        return _read(answer, kind)

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        user: str | None = None,
        query: Mapping[str, str] | None = None,
        body: object = None,
    ) -> bytes | None:
        try:
            async with self._opened().request(
                method,
                self._base_url + path,
                params=query,
                data=None if body is None else msgspec.json.encode(body),
                headers=self._headers(user),
                # A credential goes to the address it is for, and to no other.
                allow_redirects=False,
            ) as response:
                answer = await _body(response)
        except TimeoutError as error:
            raise failed(f"it did not answer within {self._timeout:g} seconds") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # Its own words may repeat the address, and that may hold a password.
            raise failed(f"it can't be reached ({type(error).__name__})") from error
        if response.status == 404:
            return None
        if response.status != 200:
            raise self._refused(response.status, answer)
        return answer

    def _opened(self) -> aiohttp.ClientSession:
        if self._connections is None:
            self._connections = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._connections

    def _headers(self, user: str | None) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        if self._api_key is not None:
            headers["x-api-key"] = self._api_key
        if user is not None:
            headers |= {"x-openviking-account": self._account, "x-openviking-user": user}
        return headers

    def _refused(self, status: int, answer: bytes) -> MemoryFailed:
        if status == 401:
            return failed("it does not accept the key")
        words = _words(answer)
        if self._api_key:
            words = words.replace(self._api_key, "...")
        return failed(f"it answered {status}" + (f" ({words[:_WORDS_LIMIT]})" if words else ""))

    async def close(self) -> None:
        if self._connections is not None:
            await self._connections.close()


def failed(detail: str) -> MemoryFailed:
    return MemoryFailed(detail, provider="openviking")


def _read(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise failed("it sent something that can't be read") from error


def _words(answer: bytes) -> str:
    """What it says about an error, in one line: its own message, or whatever came instead."""
    try:
        said = msgspec.json.decode(answer, type=_Refusal).error
        text = f"{said.code}: {said.message}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = answer.decode(errors="replace")
    return " ".join(text.split()).rstrip(".")


async def _body(response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > _BODY_LIMIT:
            raise failed(f"its answer is longer than {_BODY_LIMIT >> 20} MB")
    return bytes(answer)
