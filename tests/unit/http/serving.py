"""An application served on a free port, and a client that asks it one thing."""

import asyncio
import http.client
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from starlette.types import ASGIApp

from roost.http.server import bind, serve

DEADLINE = 60


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Ask(Protocol):
    async def __call__(self, method: str, path: str, **headers: str) -> Answer:
        """`_` in a header's name stands for `-`."""
        ...


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[Ask]:
    async with _served(app) as port:

        async def ask(method: str, path: str, **headers: str) -> Answer:
            return await asyncio.to_thread(_ask, port, method, path, headers)

        yield ask


@asynccontextmanager
async def served_at(app: ASGIApp) -> AsyncGenerator[str]:
    """Its address, for clients of their own."""
    async with _served(app) as port:
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def _served(app: ASGIApp) -> AsyncGenerator[int]:
    ready, stop = asyncio.Event(), asyncio.Event()
    listener = bind("127.0.0.1", 0)
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, listener, ready=ready.set, stop=stop, log_requests=False))
        await ready.wait()
        try:
            yield listener.getsockname()[1]
        finally:
            stop.set()


def _ask(port: int, method: str, path: str, headers: dict[str, str]) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=given)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()
