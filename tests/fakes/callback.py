"""A program that Roost calls back, on loopback: it keeps what it was sent, and answers as told."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from aiohttp import web


class Reply(msgspec.Struct, frozen=True):
    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = {}


class Call(msgspec.Struct, frozen=True):
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return msgspec.json.decode(self.body, type=dict[str, Any])


class Program:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.replies: deque[Reply | None] = deque()
        """What the next calls get; None is a connection that breaks."""
        self.address = ""

    async def take(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.calls.append(Call(headers, await request.read()))
        reply = self.replies.popleft() if self.replies else Reply()
        if reply is None:
            assert request.transport is not None
            request.transport.close()
            reply = Reply()
        return web.Response(text=reply.body, status=reply.status, headers=reply.headers)


@asynccontextmanager
async def called_back() -> AsyncGenerator[Program]:
    program = Program()
    application = web.Application(client_max_size=64 << 20)
    application.router.add_post("/roost", program.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = cast("tuple[str, int]", runner.addresses[0])
    program.address = f"http://{host}:{port}/roost"
    try:
        yield program
    finally:
        await runner.cleanup()
