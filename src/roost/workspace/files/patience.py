"""Work on files in a thread: for so long, and no longer than whoever asked for it waits."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from roost.workspace.files.paths import Refused

T = TypeVar("T")

_GRACE = 0.4
"""Seconds that a cancelled thread has to notice, so that nothing is changed after a cancel."""


class Patience:
    """Asked between two pieces of work whether there is to be another."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def check(self) -> None:
        if self._stopped.is_set():
            raise Refused("It was stopped.")
        if time.monotonic() > self._until:
            raise Refused(f"It was given up after {self._seconds:g} seconds.")


async def in_thread(work: Callable[[Patience], T], *, seconds: float) -> T:
    patience = Patience(seconds)
    job = asyncio.ensure_future(asyncio.to_thread(work, patience))
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        patience.stop()
        job.add_done_callback(_forget)
        await asyncio.wait([job], timeout=_GRACE)
        raise


def _forget(job: "asyncio.Future[T]") -> None:
    """Nobody is there any more to hear how it failed."""
    if not job.cancelled():
        job.exception()
