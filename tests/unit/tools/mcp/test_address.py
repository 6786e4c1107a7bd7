"""Servers of tools at an address: a real one on loopback, stopped and started again."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from roost.core.config import McpConfig
from roost.core.keys import Key
from roost.core.settings import BaseUrl
from roost.tools.base import ToolError
from tests.mcp_server import make
from tests.ports import held, number
from tests.unit.tools.calling import told
from tests.unit.tools.mcp.talking import SECONDS, answered, named, talking, until


class Guarded:
    """Lets in only those who know the word."""

    def __init__(self, app: ASGIApp, word: str) -> None:
        self._app = app
        self._word = word.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"x-word", self._word) not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)


@asynccontextmanager
async def served(port: int = 0, *, word: str | None = None) -> AsyncGenerator[int]:
    """The port that the birds are at."""
    app: ASGIApp = make().streamable_http_app()
    if word is not None:
        app = Guarded(app, word)
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", port)) as listening:
        running = asyncio.create_task(server.serve(sockets=[listening]))
        await until(lambda: server.started)
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await running


def at(port: int, **headers: str) -> McpConfig:
    return McpConfig(
        url=BaseUrl(f"http://127.0.0.1:{port}/mcp"),
        headers={name: Key(value) for name, value in headers.items()},
        timeout=timedelta(seconds=20),
    )


async def test_tools_at_an_address_are_called_with_the_headers_that_were_given(
    tmp_path: Path,
) -> None:
    async with served(word="owl") as port:
        async with talking(tmp_path, birds=at(port, **{"x-word": "owl"})) as servers:
            assert await told(named(servers, "mcp_birds_add"), a=1, b=2) == "3"
        async with talking(tmp_path, birds=at(port)) as servers:
            assert servers.tools() == ()


async def test_server_hears_of_a_cancelled_call(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with served() as port, talking(tmp_path, birds=at(port)) as servers:
        calling = asyncio.create_task(told(named(servers, "mcp_birds_hang"), mark=str(mark)))
        await until((tmp_path / "mark.began").exists)
        calling.cancel()
        await asyncio.wait([calling], timeout=SECONDS)
        assert calling.cancelled()
        await until(mark.exists)


async def test_new_tools_are_heard_of(tmp_path: Path) -> None:
    async with served() as port, talking(tmp_path, birds=at(port)) as servers:
        before = len(servers.tools())
        await told(named(servers, "mcp_birds_grow"))
        await until(lambda: len(servers.tools()) == before + 1)


async def test_server_that_was_started_anew_is_found_again(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        port = number(stack.enter_context(held()))
        async with served(port):
            servers = await stack.enter_async_context(talking(tmp_path, birds=at(port)))
            add = named(servers, "mcp_birds_add")
            assert await told(add, a=1, b=2) == "3"
        with pytest.raises(ToolError):
            await told(add, a=1, b=2)
        await stack.enter_async_context(served(port))
        assert await answered(lambda: told(add, a=1, b=2)) == "3"


async def test_server_that_comes_late_is_there_in_the_end(tmp_path: Path) -> None:
    with held() as holder:
        port = number(holder)
        async with talking(tmp_path, birds=at(port)) as servers:
            assert servers.tools() == ()
            async with served(port):
                await until(lambda: bool(servers.tools()))
                assert await told(named(servers, "mcp_birds_add"), a=1, b=2) == "3"
