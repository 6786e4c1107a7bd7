"""Keeps to a platform's rates: so many calls in so many seconds, in a chat and overall."""

import asyncio
import time
from collections import deque

from roost.channels.base import Limits, Rate

_MANY = 10_000
"""Chats that are remembered before those that have been quiet are forgotten."""


class _Window:
    """The times of the last calls: never more than the rate in any stretch of that length."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._calls: deque[float] = deque(maxlen=rate.count)
        self._not_before = 0.0

    def wait(self, now: float) -> float:
        waits = [self._not_before - now]
        if len(self._calls) == self._rate.count:
            waits.append(self._calls[0] + self._rate.seconds - now)
        return max(0.0, *waits)

    def take(self, now: float) -> None:
        self._calls.append(now)

    def pause(self, until: float) -> None:
        self._not_before = max(self._not_before, until)

    def has_room(self, now: float) -> bool:
        """Whether a call leaves some for others: a quarter, where there are several at all."""
        taken = sum(1 for at in self._calls if at + self._rate.seconds > now)
        return taken < self._rate.count - self._rate.count // 4

    def is_quiet(self, now: float) -> bool:
        last = self._calls[-1] if self._calls else 0.0
        return max(last + self._rate.seconds, self._not_before) <= now


class Pace:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._overall = _Window(limits.overall)
        self._chats: dict[str, _Window] = {}

    async def turn(self, chat: str) -> None:
        """Wait until a call may be made."""
        while (wait := self._wait(chat)) > 0:  # noqa: ASYNC110 (the time is all it waits for)
            await asyncio.sleep(wait)
        self._take(chat)

    def take_if_free(self, chat: str) -> bool:
        """Whether a call may be made now: for what can as well be left out. An answer finds room
        then, and does not wait because its beginnings were shown too often."""
        if self._wait(chat) > 0 or not self._window(chat).has_room(_now()):
            return False
        self._take(chat)
        return True

    def rest(self, chat: str) -> float:
        """Seconds for which a chat takes no more, whatever the others do."""
        window = self._chats.get(chat)
        return 0.0 if window is None else window.wait(_now())

    def pause(self, chat: str, seconds: float) -> None:
        """The platform said so."""
        self._window(chat).pause(_now() + seconds)

    def _wait(self, chat: str) -> float:
        now = _now()
        return max(self._overall.wait(now), self._window(chat).wait(now))

    def _take(self, chat: str) -> None:
        now = _now()
        self._overall.take(now)
        self._window(chat).take(now)

    def _window(self, chat: str) -> _Window:
        if chat not in self._chats:
            if len(self._chats) >= _MANY:
                now = _now()
                self._chats = {
                    name: each for name, each in self._chats.items() if not each.is_quiet(now)
                }
            self._chats[chat] = _Window(self._limits.rate_of(chat))
        return self._chats[chat]


def _now() -> float:
    """Not the loop's time, which stands still while something runs: a call would count as made
    earlier than it was."""
    return time.monotonic()
