"""Server-sent events: what happens, told to whoever listens for as long as they do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec
import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from roost.http.connection import abort

log = structlog.stdlib.get_logger("roost.http")

E = TypeVar("E")

MEDIA_TYPE = "text/event-stream"
_HEADERS = [
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    # A proxy that collects answers before it passes them on would hold back every event.
    (b"x-accel-buffering", b"no"),
]
_RETRY_MS = 1500
HEARTBEAT = 15.0
_HEARTBEAT = b":\n\n"
_LAST_WORDS_SECONDS = 1.0


Reason = Literal["gone", "signed_out", "stops", "failure"]


class End(msgspec.Struct, frozen=True, tag_field="kind", tag="end"):
    """Why a stream ends: its session is `gone`, who listens has `signed_out`, the server `stops` or
    had a `failure`. After the last two it is worth to come back, with the last event's id."""

    reason: Reason


def event(kind: str, data: bytes, id: str | None = None) -> bytes:
    """Data is one line: JSON as msgspec writes it has no line breaks."""
    named = b"" if id is None else b"id: %b\n" % id.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (named, kind.encode(), data)


class EventStream(Response, Generic[E]):
    """Written event by event, straight to the connection: between two of them nothing is kept
    but what the source keeps. The connection hangs up on whoever does not read."""

    opening: ClassVar[bytes] = b"retry: %d\n\n" % _RETRY_MS

    def __init__(
        self,
        source: AbstractAsyncContextManager[AsyncIterator[E]],
        encode: Callable[[E], bytes],
        *,
        stop: asyncio.Event,
        holds: Callable[[], Awaitable[bool]],
        changed: Callable[[], asyncio.Event],
        heartbeat: float,
    ) -> None:
        """A sign of life comes every `heartbeat` seconds; `holds` says as often whether who listens
        still may, and once the event is set that `changed` gives."""
        self._source = source
        self._encode = encode
        self._stop = stop
        self._holds = holds
        self._changed = changed
        self._heartbeat = heartbeat
        self.more_headers: list[tuple[bytes, bytes]] = []

    def farewell(self, reason: Reason) -> bytes:
        """The last that is said."""
        return event("end", msgspec.json.encode(End(reason)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Whatever is refused is refused on the way in, while the answer can still be a problem.
        async with self._source as events:
            headers = [*_HEADERS, *self.more_headers]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
                return
            gone = asyncio.create_task(_disconnected(receive))
            try:
                reason = await self._until_over(events, gone, send)
                if not gone.done() and not (
                    reason and await _last_words(send, self.farewell(reason))
                ):
                    await abort(scope, gone)
            finally:
                gone.cancel()

    async def _until_over(
        self, events: AsyncIterator[E], gone: "asyncio.Task[Reason | None]", send: Send
    ) -> Reason | None:
        """Why it is over; None if nobody listens."""
        tasks = {
            gone,
            asyncio.create_task(self._write(events, send)),
            asyncio.create_task(self._keep_alive(send)),
            asyncio.create_task(self._stopped()),
        }
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return _outcome(gone if gone in done else done.pop())
        finally:
            tasks.discard(gone)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _write(self, events: AsyncIterator[E], send: Send) -> Reason | None:
        encode = self._encode
        if self.opening:
            await send(_body(self.opening))
        async for each in events:
            await send(_body(encode(each)))
        return "gone"

    async def _stopped(self) -> Reason | None:
        await self._stop.wait()
        return "stops"

    async def _keep_alive(self, send: Send) -> Reason | None:
        changed = self._changed()  # each before it is asked: no change is missed
        while await self._holds():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._heartbeat):
                    await changed.wait()
            await send(_body(_HEARTBEAT))
            changed = self._changed()
        return "signed_out"


def _body(data: bytes) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": True}


def _outcome(task: "asyncio.Task[Reason | None]") -> Reason | None:
    try:
        return task.result()
    except Exception:
        log.exception("a stream of events failed")
        return "failure"


async def _disconnected(receive: Receive) -> Reason | None:
    while (await receive())["type"] != "http.disconnect":
        pass
    return None


async def _last_words(send: Send, words: bytes) -> bool:
    try:
        async with asyncio.timeout(_LAST_WORDS_SECONDS):
            await send({"type": "http.response.body", "body": words})
    except TimeoutError:
        return False
    return True
