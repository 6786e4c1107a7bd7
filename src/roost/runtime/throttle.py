"""Delays that grow with what goes wrong again and again, in memory that does not."""

import math
from collections.abc import Callable

import msgspec

LONGEST = 60.0
"""Seconds. Whoever tries on for ever gets one try a minute, and keeps nobody out for longer."""

FORGET = 3600.0
"""Seconds without a try after which it never was."""


class _Tries(msgspec.Struct):
    number: int
    at: float
    until: float


class Throttle:
    """The first `free` tries are not delayed. Keys beyond `limit` push out those not tried for the
    longest time. Each server counts for itself: whoever tries on all of n has n times as many."""

    def __init__(self, clock: Callable[[], float], *, free: int, limit: int = 10_000) -> None:
        self._clock = clock
        self._free = free
        self._limit = limit
        self._tries: dict[str, _Tries] = {}

    def __len__(self) -> int:
        return len(self._tries)

    def wait(self, key: str) -> int:
        """For how many seconds it may not be tried; 0 if it may be now."""
        tries = self._current(key)
        return 0 if tries is None else math.ceil(max(0.0, tries.until - self._clock()))

    def count(self, key: str) -> None:
        """It is being tried. Counted before it is known how it goes: of a thousand at the same
        moment only the first few are let through."""
        now, tries = self._clock(), self._current(key)
        number = 1 if tries is None else tries.number + 1
        over = number - self._free
        delay = min(LONGEST, 2.0 ** min(over, 30)) if over >= 0 else 0.0
        self._tries.pop(key, None)
        self._tries[key] = _Tries(number, now, now + delay)
        if len(self._tries) > self._limit:
            del self._tries[next(iter(self._tries))]

    def forgive(self, key: str) -> None:
        """One try went well, which says nothing about the others."""
        tries = self._tries.get(key)
        if tries is not None:
            tries.number -= 1
            tries.until = tries.at
            if tries.number <= 0:
                del self._tries[key]

    def forget(self, key: str) -> None:
        self._tries.pop(key, None)

    def _current(self, key: str) -> _Tries | None:
        tries = self._tries.get(key)
        if tries is not None and self._clock() - tries.at >= FORGET:
            del self._tries[key]
            return None
        return tries
