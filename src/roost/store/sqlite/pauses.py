"""Pauses of a busy event loop, without which the store's threads would not get the interpreter."""

import asyncio
import time

LOOK = 0.01
PAUSE = 0.001
BUSY = 0.5
"""How often a loop is looked at while somebody waits for the store, in seconds; how long it pauses
if it was busy for more than this share of them."""


class Pauses:
    """A loop that always has something to do lets go of the interpreter between two rounds, for a
    few microseconds; a thread that waits for it takes longer than that to wake up, and begins to
    wait anew each time. Only after 5 ms without such a moment Python makes the loop give way, so
    that a loop with shorter rounds could hold up every operation for seconds."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.AbstractEventLoop, int] = {}

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Somebody on this loop waits for an answer of the store, until the `end` of it."""
        if loop not in self._waiting:
            self._forget_closed()
            self._waiting[loop] = 0
            self._look_soon(loop)
        self._waiting[loop] += 1

    def end(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting[loop] -= 1

    def _forget_closed(self) -> None:
        """Those that were closed before their answers came look at themselves no more."""
        for loop in list(self._waiting):
            if loop.is_closed():
                self._waiting.pop(loop, None)

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(LOOK, self._look, loop, time.perf_counter(), time.thread_time())

    def _look(self, loop: asyncio.AbstractEventLoop, since: float, worked: float) -> None:
        if not self._waiting[loop]:
            del self._waiting[loop]
            return
        if time.thread_time() - worked > BUSY * (time.perf_counter() - since):
            time.sleep(PAUSE)
        self._look_soon(loop)
