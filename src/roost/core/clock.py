"""Where Roost takes the time from, so that tests can move it."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000
