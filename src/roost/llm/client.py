"""Asks a model over HTTP, in any of the wire protocols, and gives back the stream of its answer."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import aiohttp

from roost.core.errors import ModelStalled, ModelUnreachable, StreamCut
from roost.core.messages import ToolCallPart
from roost.llm import anthropic, openai_chat, openai_responses
from roost.llm.base import Decoder, Request, StreamEvent, ToolCallDone
from roost.llm.failures import failure
from roost.llm.profiles import Profile, WireName
from roost.llm.sse import EventReader

CONNECT_SECONDS = 15.0
STALL_SECONDS = 120.0
"""Without a byte for so long, an attempt is over. Vendors send keep-alives while they think."""

_ERROR_BODY = 1 << 16


class Wire(NamedTuple):
    """A protocol: where it is asked, how a request is written, how its stream is read."""

    path: str
    encode: Callable[[Request, Profile, str], bytes]
    decoder: Callable[[str, str], Decoder]


WIRES: dict[WireName, Wire] = {
    "openai-chat": Wire(openai_chat.PATH, openai_chat.encode, openai_chat.ChatDecoder),
    "openai-responses": Wire(
        openai_responses.PATH, openai_responses.encode, openai_responses.ResponsesDecoder
    ),
    "anthropic": Wire(anthropic.PATH, anthropic.encode, anthropic.MessagesDecoder),
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
        with self._explained(ModelUnreachable):
            response = await self._ask(wire.path, wire.encode(request, profile, provider))
            try:
                if response.status != 200:
                    raise failure(
                        response.status,
                        await response.content.read(_ERROR_BODY),
                        response.headers.get("retry-after"),
                        provider,
                        request.model,
                    )
            except BaseException:
                response.close()
                raise
        try:
            yield self._events(response, wire.decoder(provider, request.model))
        finally:
            # Closed rather than given back: whatever is still to come, nobody waits for it.
            response.close()

    async def _ask(self, path: str, body: bytes) -> aiohttp.ClientResponse:
        return await self._connections.post(
            self._endpoint.base_url.rstrip("/") + path,
            data=body,
            headers={"content-type": "application/json", **self._endpoint.headers},
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=self._stall
            ),
            # A credential goes to the address it is for, and to no other.
            allow_redirects=False,
        )

    @contextmanager
    def _explained(self, lost: type[ModelUnreachable | StreamCut]) -> Generator[None]:
        """aiohttp's errors as ours; `lost` is what a lost connection means at this point."""
        provider = self._endpoint.provider
        try:
            yield
        except aiohttp.ConnectionTimeoutError as error:
            raise ModelUnreachable("it does not answer", provider=provider) from error
        except TimeoutError as error:
            raise ModelStalled(provider=provider, seconds=round(self._stall)) from error
        except (aiohttp.ClientError, OSError) as error:
            raise lost(str(error) or type(error).__name__, provider=provider) from error

    async def _events(
        self, response: aiohttp.ClientResponse, decoder: Decoder
    ) -> AsyncGenerator[StreamEvent]:
        if response.content_type == "application/json":
            # It was asked to stream and did not: the whole answer has the shape of a chunk.
            with self._explained(StreamCut):
                whole = await response.read()
            for event in decoder.feed("", whole):
                yield event
        else:
            reader = EventReader(self._endpoint.provider)
            while chunk := await self._chunk(response):
                for name, data in reader.feed(chunk):
                    for event in decoder.feed(name, data):
                        yield event
            for name, data in reader.end():
                for event in decoder.feed(name, data):
                    yield event
            reader.check_something_came()
        finished = decoder.end()
        for part in finished.parts:
            if isinstance(part, ToolCallPart):
                yield ToolCallDone(part)
        yield finished

    async def _chunk(self, response: aiohttp.ClientResponse) -> bytes:
        """The bytes that are there, or the next ones to come; none at the end."""
        with self._explained(StreamCut):
            return await response.content.readany()

    async def close(self) -> None:
        """Nothing of its own is held between requests."""
