"""Samples of how long things take, and what to say of them."""

import time
from collections.abc import Awaitable, Callable, Sequence


class Samples:
    """Durations in seconds."""

    def __init__(self, seconds: Sequence[float] = ()) -> None:
        self.seconds = list(seconds)

    def time(self, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        self.seconds.append(time.perf_counter() - started)

    async def wait(self, work: Awaitable[object]) -> None:
        started = time.perf_counter()
        await work
        self.seconds.append(time.perf_counter() - started)

    def at(self, share: float) -> float:
        """In milliseconds, the duration that this share of the samples stays within."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000

    @property
    def p50(self) -> float:
        return self.at(0.5)

    @property
    def p95(self) -> float:
        return self.at(0.95)

    @property
    def p99(self) -> float:
        return self.at(0.99)
