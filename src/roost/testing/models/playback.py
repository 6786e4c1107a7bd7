"""Sends a performance over a connection: one timer at a time, and no task that wakes per token."""

import asyncio
from collections.abc import Iterator

from aiohttp import web

from roost.testing.models.performance import Performance
from roost.testing.models.request import ModelRequest
from roost.testing.models.steps import Drop, Hold, Step, Wait


class Playback:
    """aiohttp writes the head with the first bytes, and the end. What comes between goes from a
    timer's callback straight to the transport: 500 streams have to be cheap."""

    def __init__(self, request: ModelRequest, http: web.Request) -> None:
        self._request = request
        self._http = http
        self._loop = asyncio.get_running_loop()
        self._steps: Iterator[Step] = iter(())
        self._chunked = False
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._finished: asyncio.Future[bool] = self._loop.create_future()

    async def play(self, performance: Performance) -> web.StreamResponse:
        silence, first, rest = _acts(performance.steps)
        for step in silence:
            if isinstance(step, Drop):
                self._drop()
                return web.Response()
            await self._pass(step)
        response = await self._head(performance, first)
        self._steps = iter(rest)
        self._chunked = performance.length is None
        self._due = self._loop.time()
        self._advance()
        try:
            complete = await self._finished
        finally:
            if self._timer is not None:
                self._timer.cancel()
        if complete:
            await response.write_eof()
        return response

    async def _pass(self, step: Step) -> None:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Hold):
            released: asyncio.Future[None] = self._loop.create_future()
            if self._request.hold(lambda: released.set_result(None)):
                await released

    async def _head(self, performance: Performance, first: bytes) -> web.StreamResponse:
        response = web.StreamResponse(status=performance.status, headers=performance.headers)
        response.headers["Content-Type"] = performance.content_type
        if performance.length is None:
            response.enable_chunked_encoding()
        else:
            response.content_length = performance.length
        await response.prepare(self._http)
        if first:
            await response.write(first)
        return response

    def _advance(self) -> None:
        """Send up to the next step that takes time."""
        ready: list[bytes] = []
        for step in self._steps:
            if isinstance(step, bytes):
                ready.append(step)
                continue
            self._send(ready)
            ready = []
            if isinstance(step, Wait):
                self._due += step.seconds
                self._timer = self._loop.call_at(self._due, self._advance)
                return
            if isinstance(step, Drop):
                self._drop()
                self._finish(complete=False)
                return
            if self._request.hold(self._resume):
                return
        self._send(ready)
        self._finish(complete=True)

    def _resume(self) -> None:
        self._due = self._loop.time()
        self._advance()

    def _send(self, ready: list[bytes]) -> None:
        transport = self._http.transport
        if not ready or transport is None or transport.is_closing():
            return
        data = b"".join(ready)
        if not self._chunked:
            transport.write(data)
        elif data:
            transport.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _drop(self) -> None:
        """Close after what was sent: a reset could take that away from the client."""
        if self._http.transport is not None:
            self._http.transport.close()

    def abort(self) -> None:
        """The server ends: so does this, whether the client reads or not."""
        if self._http.transport is not None:
            self._http.transport.abort()

    def _finish(self, *, complete: bool) -> None:
        if not self._finished.done():
            self._finished.set_result(complete)


def _acts(steps: list[Step]) -> tuple[list[Step], bytes, list[Step]]:
    """The silence before the first bytes, those bytes, and the rest."""
    start = next((at for at, step in enumerate(steps) if isinstance(step, bytes)), len(steps))
    first: list[bytes] = []
    end = start
    for step in steps[start:]:
        if not isinstance(step, bytes):
            break
        first.append(step)
        end += 1
    return steps[:start], b"".join(first), steps[end:]
