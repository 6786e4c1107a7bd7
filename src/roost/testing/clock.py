"""A clock that stands still until a test moves it."""


class FakeClock:
    def __init__(self, now: int = 1_800_000_000_000) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += round(seconds * 1000)
