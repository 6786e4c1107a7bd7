"""Asks a model over HTTP, in any of the wire protocols, and gives back the stream of its answer."""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple

import aiohttp

from roost.core.errors import (
    ModelError,
    ModelStalled,
    ModelTransient,
    ModelUnreachable,
    RequestRefused,
    StreamCut,
)
from roost.llm import anthropic, openai_chat, openai_responses
from roost.llm.anthropic_reply import MessagesDecoder
from roost.llm.base import Decoder, Request, StreamEvent
from roost.llm.failures import failure
from roost.llm.openai_chat_reply import ChatDecoder
from roost.llm.openai_responses_reply import ResponsesDecoder
from roost.llm.profiles import Profile, WireName
from roost.llm.reading import Reading
from roost.llm.sse import check_size

CONNECT_SECONDS = 15.0
STALL_SECONDS = 120.0
"""Without a byte for so long, an attempt is over. Vendors send keep-alives while they think."""

_LINGER_SECONDS = 0.5
_ERROR_BODY = 1 << 16
_TROUBLE = (aiohttp.ClientError, OSError)
"""What a connection can raise; timeouts are among the second."""


class Wire(NamedTuple):
    """A protocol: where it is asked, how a request is written, how its stream is read."""

    path: str
    encode: Callable[[Request, Profile, str], bytes]
    decoder: Callable[[str, str], Decoder]


WIRES: dict[WireName, Wire] = {
    "openai-chat": Wire(openai_chat.PATH, openai_chat.encode, ChatDecoder),
    "openai-responses": Wire(openai_responses.PATH, openai_responses.encode, ResponsesDecoder),
    "anthropic": Wire(anthropic.PATH, anthropic.encode, MessagesDecoder),
}


class Endpoint(NamedTuple):
    """Where a provider is asked. `headers` carry the credential, so they are never shown."""

    provider: str
    base_url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Endpoint({self.provider!r}, {self.base_url!r})"


class HttpClient:
    """One provider's models. The connections are shared and not its own to close."""

    def __init__(
        self,
        connections: aiohttp.ClientSession,
        endpoint: Endpoint,
        profile: Callable[[str], Profile],
        *,
        stall: float = STALL_SECONDS,
    ) -> None:
        self._connections = connections
        self._endpoint = endpoint
        self._profile = profile
        self._stall = stall

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        profile = self._profile(request.model)
        wire = WIRES[profile.wire]
        provider = self._endpoint.provider
        response = await self._ask(wire.path, wire.encode(request, profile, provider))
        try:
            if response.status != 200:
                raise await self._failure(response, request.model)
            reading = Reading(provider, wire.decoder(provider, request.model))
            async with aclosing(self._events(response, reading)) as events:
                yield events
        finally:
            # Closed rather than given back: whatever is still to come, nobody waits for it.
            response.close()

    async def _ask(self, path: str, body: bytes) -> aiohttp.ClientResponse:
        try:
            return await self._connections.post(
                self._endpoint.base_url.rstrip("/") + path,
                # In pieces: long histories are megabytes, and are not written in one go.
                data=io.BytesIO(body),
                headers={"content-type": "application/json", **self._endpoint.headers},
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=CONNECT_SECONDS, sock_read=self._stall
                ),
                # A credential goes to the address it is for, and to no other.
                allow_redirects=False,
            )
        except _TROUBLE as error:
            raise self._explained(error, ModelUnreachable) from error
        except ValueError as error:
            said = "a password in its address can't be used together with a key. Keep one of them"
            raise RequestRefused(said, provider=self._endpoint.provider) from error

    async def _failure(self, response: aiohttp.ClientResponse, model: str) -> ModelError:
        body = b""
        with suppress(*_TROUBLE):  # the status alone says enough
            while len(body) < _ERROR_BODY and (chunk := await response.content.readany()):
                body += chunk
        after = response.headers.get("retry-after")
        error = failure(response.status, body, after, self._endpoint.provider, model)
        return without_secrets(error, self._endpoint.headers)

    async def _events(
        self, response: aiohttp.ClientResponse, reading: Reading
    ) -> AsyncGenerator[StreamEvent]:
        try:
            if response.content_type == "application/json":
                for event in reading.whole(await self._body(response)):
                    yield event
            else:
                while not reading.over and (chunk := await self._chunk(response)):
                    for event in reading.feed(chunk):
                        yield event
                if reading.over:
                    await _linger(response)
            for event in reading.end():
                yield event
        except ModelError as error:
            # One that comes with a status of success may name the key as well.
            without_secrets(error, self._endpoint.headers)
            raise

    async def _chunk(self, response: aiohttp.ClientResponse) -> bytes:
        """The bytes that are there, or the next ones to come; none at the end."""
        try:
            return await response.content.readany()
        except _TROUBLE as error:
            raise self._explained(error, StreamCut) from error

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while chunk := await self._chunk(response):
            chunks.append(chunk)
            size += len(chunk)
            check_size(size, self._endpoint.provider)
        return b"".join(chunks)

    def _explained(
        self, error: Exception, lost: type[ModelUnreachable | StreamCut]
    ) -> ModelTransient:
        """aiohttp's error as ours; `lost` is what a lost connection means at this point."""
        provider = self._endpoint.provider
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return ModelUnreachable("it does not answer", provider=provider)
        if isinstance(error, TimeoutError):
            return ModelStalled(provider=provider, seconds=round(self._stall))
        if isinstance(error, aiohttp.ClientPayloadError):  # its own words are for programmers
            return lost("the connection was closed before the end", provider=provider)
        return lost(str(error) or type(error).__name__, provider=provider)

    async def close(self) -> None:
        """Nothing of its own is held between requests."""


def without_secrets(error: ModelError, headers: Mapping[str, str]) -> ModelError:
    """The same error, which shows none of the credentials that its provider was sent: some say
    which key they do not take. They are looked for in what is shown, as in what came a key may be
    written with escapes."""
    said = str(error)
    for value in headers.values():
        if secret := value.removeprefix("Bearer "):
            said = said.replace(secret, "...")
    error.args = (said,)
    return error


async def _linger(response: aiohttp.ClientResponse) -> None:
    """After the last event, wait for the end of the body, so that the connection can be used again.
    It is usually there already; some servers leave it open."""
    with suppress(*_TROUBLE):
        async with asyncio.timeout(_LINGER_SECONDS):
            while await response.content.readany():
                pass
