"""An application served on a free port, and a client that asks it one thing."""

import asyncio
import http.client
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from starlette.types import ASGIApp

from roost.http.server import bind, serve

DEADLINE = 10


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


Ask = Callable[[str, str], Awaitable[Answer]]


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[Ask]:
    ready, stop = asyncio.Event(), asyncio.Event()
    listener = bind("127.0.0.1", 0)
    port: int = listener.getsockname()[1]

    async def ask(method: str, path: str) -> Answer:
        return await asyncio.to_thread(_ask, port, method, path)

    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, listener, ready=ready.set, stop=stop, log_requests=False))
        await ready.wait()
        try:
            yield ask
        finally:
            stop.set()


def _ask(port: int, method: str, path: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, response.read())
    finally:
        connection.close()
