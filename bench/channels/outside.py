"""`python -m bench.channels.outside`: a messaging platform on which a backlog waits, and a model.

The platform watches over its limits by the moments at which it was called, and over what it is
told: one answer to each message, in order in each chat.
"""

import asyncio
import re
import sys
from collections import deque
from typing import NamedTuple

import msgspec
import uvloop
from aiohttp import web

ROUTES = 1_000
MESSAGES = 10_000
BATCH = 100
"""As many as Telegram hands out at a time."""
CHAT, OVERALL = (1, 1.0), (200, 1.0)
"""So many calls in so many seconds: a chat's as on Telegram, all together more, so that a platform
is not what is measured."""

_HEAD = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":'
_ANSWER = (
    _HEAD
    + b'{"content":"%s"},"finish_reason":null}]}\n\n'
    + _HEAD
    + b'{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
_SMALL, _NOTHING = b'"small"', rb"{\"facts\": []}"
_ASKED = re.compile(rb"(?<!to )ask(\d+)")


class Update(msgspec.Struct, frozen=True):
    number: int
    chat: int
    text: str


class Call(msgspec.Struct, frozen=True):
    """`at` is when it was made, in seconds of the clock that all processes share."""

    chat: int
    text: str
    at: float


class Seen(msgspec.Struct, frozen=True):
    """`over` are calls beyond the limits, `wrong` answers that were not the next of their chat."""

    answered: int
    over: int
    wrong: int


class _Rate(NamedTuple):
    most: int
    seconds: float
    calls: deque[float]

    def keeps(self, at: float) -> bool:
        """Whether a call is within the limit. Calls arrive a little out of order."""
        self.calls.append(at)
        if len(self.calls) <= self.most:
            return True
        ordered = sorted(self.calls)
        self.calls.clear()
        self.calls.extend(ordered[-self.most :])
        return ordered[-1] - ordered[-1 - self.most] >= self.seconds - 0.001


class Outside:
    def __init__(self) -> None:
        numbers = range(1, MESSAGES + 1)
        self._updates = [Update(each, each % ROUTES, f"ask{each}") for each in numbers]
        self._chats = [_Rate(*CHAT, deque()) for _ in range(ROUTES)]
        self._overall = _Rate(*OVERALL, deque())
        self._last = [0] * ROUTES
        self._answered = self._over = self._wrong = 0

    async def updates(self, request: web.Request) -> web.Response:
        after = int(request.query["after"])
        return web.Response(body=msgspec.json.encode(self._updates[after : after + BATCH]))

    async def send(self, request: web.Request) -> web.Response:
        call = msgspec.json.decode(await request.read(), type=Call)
        kept = [self._chats[call.chat].keeps(call.at), self._overall.keeps(call.at)]
        self._over += not all(kept)
        number = int(call.text.removeprefix("Answer to ask").removesuffix("."))
        self._wrong += number <= self._last[call.chat] or number % ROUTES != call.chat
        self._last[call.chat] = number
        self._answered += 1
        return web.Response(body=str(self._answered).encode())

    async def seen(self, request: web.Request) -> web.Response:
        seen = Seen(self._answered, self._over, self._wrong)
        return web.Response(body=msgspec.json.encode(seen))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The model: it says which message it was asked last. The small one remembers nothing."""
        body = await request.read()
        said = _NOTHING if _SMALL in body else b"Answer to ask%s." % _ASKED.findall(body)[-1]
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_ANSWER % said)
        return response


async def _serve() -> None:
    outside = Outside()
    app = web.Application(client_max_size=1 << 24)
    app.add_routes(
        [
            web.get("/updates", outside.updates),
            web.post("/send", outside.send),
            web.get("/seen", outside.seen),
            web.post("/v1/chat/completions", outside.answer),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    host, port = runner.addresses[0][:2]
    sys.stdout.write(f"http://{host}:{port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve())
