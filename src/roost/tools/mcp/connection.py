"""A server that answers: its client, from the first word of the protocol to the last."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

import httpx2
import mcp_types as wire
import structlog
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from roost import __version__
from roost.core.config import McpConfig
from roost.tools.base import ToolError, ToolOutput
from roost.tools.mcp.launching import Launcher
from roost.tools.mcp.mending import Mended
from roost.tools.mcp.offers import Offer
from roost.tools.mcp.pipes import messages
from roost.tools.mcp.results import Keep, output_of

log = structlog.stdlib.get_logger("roost.mcp")

_PAGES = 50
_TOOLS = 200
"""The most tools of one server."""
_CONNECT = 15.0
_QUIET = 300.0
"""Seconds that a stream may be silent before it is opened anew."""

_GONE = frozenset(
    {
        (wire.CONNECTION_CLOSED, "Connection closed"),
        (wire.INVALID_REQUEST, "Session terminated"),  # it was started anew, and knows us no more
    }
)
"""What the client says of itself. Servers use the same numbers for errors of their tools."""

# It would log every request as news, and errors that come back here anyway.
for _name in ("httpx2", "httpcore2", "mcp", "client"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """`news` is set when the server is `lost`, or its tools have `changed`. `legacy` is for one
    that can't stand to be asked first how old it is; `last_words` is what it complained of."""

    def __init__(
        self, name: str, config: McpConfig, launcher: Launcher, *, legacy: bool = False
    ) -> None:
        self.news = asyncio.Event()
        self.lost = False
        self.changed = False
        self._name = name
        self._config = config
        self._launcher = launcher
        self.last_words = ""
        self._timeout = config.timeout.total_seconds()
        self._client = Client(
            self._transport(),
            mode="legacy" if legacy else "auto",
            read_timeout_seconds=self._timeout,
            message_handler=self._heard,
            client_info=wire.Implementation(name="roost", version=__version__),
            cache=None,
        )

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """It can be talked to while the block lasts. Raises `ConnectionError` if that fails."""
        try:
            async with self._client:
                listening = asyncio.create_task(self._listen())
                try:
                    yield
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])
        except Exception as error:
            raise ConnectionError(self.last_words or _plain(error)) from error

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncGenerator[TransportStreams]:
        way = self._program() if self._config.url is None else _address(self._config)
        async with way as (incoming, outgoing):
            yield Mended(self._name, incoming), outgoing

    @contextlib.asynccontextmanager
    async def _program(self) -> AsyncGenerator[TransportStreams]:
        async with self._launcher.running(self._name, self._config) as program:
            try:
                async with messages(program.child, self._lose) as streams:
                    yield streams
            finally:
                self.last_words = program.last_words

    async def offers(self) -> list[Offer]:
        """All its tools, page after page."""
        self.changed = False
        found: list[wire.Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= _TOOLS:
                break
        return [_offer(tool) for tool in found[:_TOOLS]]

    async def call(self, tool: str, arguments: Mapping[str, Any], keep: Keep) -> ToolOutput:
        """Cancelled, it tells the server so. Raises `ConnectionError` if the server is gone."""
        try:
            result = await self._client.call_tool(
                tool, dict(arguments), read_timeout_seconds=self._timeout
            )
        except MCPError as error:
            if (error.code, error.message) in _GONE:
                self._lose()
                raise ConnectionError(error.message) from error
            raise ToolError(self._words(error)) from error
        except (RuntimeError, ValidationError) as error:
            raise ToolError(f"The server's answer is not what it promised: {error}") from error
        return await output_of(result, keep)

    def _words(self, error: MCPError) -> str:
        if error.code == wire.REQUEST_TIMEOUT:
            return f"The server did not answer within {self._timeout:g} s."
        return f"The server refused: {error.message}"

    async def _listen(self) -> None:
        """Hear of changes as newer servers tell them; older ones tell them unasked."""
        if self._client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        try:
            async with self._client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._change()
        except (MCPError, RuntimeError, TimeoutError) as error:
            log.debug("a server does not tell of changes", server=self._name, error=str(error))

    async def _heard(self, message: wire.ServerNotification | Exception) -> None:
        if isinstance(message, wire.ToolListChangedNotification):
            self._change()

    def _change(self) -> None:
        self.changed = True
        self.news.set()

    def _lose(self) -> None:
        self.lost = True
        self.news.set()


@contextlib.asynccontextmanager
async def _address(config: McpConfig) -> AsyncGenerator[TransportStreams]:
    assert config.url is not None
    headers = {name: key.reveal() for name, key in config.headers.items()}
    timeout = httpx2.Timeout(_CONNECT, read=_QUIET)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
        streamable_http_client(str(config.url), http_client=http) as streams,
    ):
        yield streams


def _plain(error: BaseException) -> str:
    """The first of what happened at once, in words."""
    if isinstance(error, BaseExceptionGroup):
        return _plain(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return str(error) or type(error).__name__


def _offer(tool: wire.Tool) -> Offer:
    claims = tool.annotations
    return Offer(
        tool.name,
        tool.description or tool.title or "",
        tool.input_schema,
        read_only=claims is not None and claims.read_only_hint is True,
    )
