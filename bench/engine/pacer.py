"""`python -m bench.engine.pacer [PACE]`: a model that speaks at a steady pace, and says when.

Every token is the moment at which it was sent, in microseconds of the clock that all processes
share. The streams share one timer, so that 500 of them cost their server little.
"""

import asyncio
import contextlib
import sys
import time
from collections import deque

import uvloop
from aiohttp import web

PACE = 0.05
"""Seconds between two tokens of a stream, unless told otherwise. Streams are spread evenly over
it."""
SLOTS = 25

_HEAD = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":'
_TOKEN = _HEAD + b'{"content":"%d "},"finish_reason":null}]}\n\n'
_END = (
    _HEAD
    + b'{},"finish_reason":"stop"}]}\n\n'
    + b'data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n'
    + b"data: [DONE]\n\n"
)


def now() -> int:
    return time.monotonic_ns() // 1000


class Stream:
    def __init__(self, response: web.StreamResponse, tokens: int) -> None:
        self._response = response
        self._left = tokens
        self.finished = asyncio.Event()

    async def speak(self) -> bool:
        """Send the next token; whether there are more."""
        self._left -= 1
        try:
            await self._response.write(_TOKEN % now())
        except ConnectionError:
            self._left = 0
        if not self._left:
            self.finished.set()
        return self._left > 0


class Pacer:
    """A model's name says how much it answers, and how: `paced-300` or `quick-20`."""

    def __init__(self, pace: float) -> None:
        self._between = pace
        self._slots: deque[list[Stream]] = deque([[] for _ in range(SLOTS)])
        self._speaking = 0
        self._most = 0

    async def run(self) -> None:
        due = time.monotonic()
        while True:
            streams = self._slots[0]
            streams[:] = [stream for stream in streams if await stream.speak()]
            self._slots.rotate(-1)
            due += self._between / SLOTS
            await asyncio.sleep(due - time.monotonic())

    async def answer(self, http: web.Request) -> web.StreamResponse:
        body = await http.read()
        manner, _, count = (await http.json())["model"].partition("-")
        tokens = int(count)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(http)
        if manner == "paced":
            await self._pace(Stream(response, tokens))
        else:
            await response.write(b"".join([_TOKEN % now() for _ in range(tokens)]))
        with contextlib.suppress(ConnectionError):  # whoever asked may be gone
            await response.write(_END % (len(body) // 4, tokens))
        return response

    async def _pace(self, stream: Stream) -> None:
        self._speaking += 1
        self._most = max(self._most, self._speaking)
        min(self._slots, key=len).append(stream)
        await stream.finished.wait()
        self._speaking -= 1

    async def most(self, http: web.Request) -> web.Response:
        """How many streams there were at once, since this was last asked."""
        most, self._most = self._most, 0
        return web.json_response(most)


async def _serve(pace: float) -> None:
    pacer = Pacer(pace)
    app = web.Application(client_max_size=1 << 26)
    app.add_routes([web.post("/v1/chat/completions", pacer.answer), web.get("/most", pacer.most)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    host, port = runner.addresses[0][:2]
    sys.stdout.write(f"http://{host}:{port}\n")
    sys.stdout.flush()
    await pacer.run()


if __name__ == "__main__":
    uvloop.run(_serve(float(sys.argv[1]) if sys.argv[1:] else PACE))
