"""Hard limits: how much a turn, a session, and a user's day may take."""

import time
from collections.abc import Awaitable, Callable

import msgspec

from roost.core import errors
from roost.core.config import LimitsConfig
from roost.core.usage import NANO, Usage


class Spent(msgspec.Struct, frozen=True):
    """Tokens, in and out, and nano-dollars."""

    tokens: int = 0
    cost: int = 0

    def plus(self, usage: Usage) -> "Spent":
        tokens = usage.input_tokens + usage.output_tokens
        return Spent(self.tokens + tokens, self.cost + (usage.cost or 0))


class Budget:
    """What one turn has left. `session` and `day` are what was spent before; a turn that goes on
    after a pause has spent `turn` and taken `steps` already, and its time begins anew: nobody knows
    how much of it was waiting. A subagent's is `within` its caller's: what it spends is spent there
    too, and no limit of the caller's is passed by having others do the work. `today` tells what the
    user has spent by now: other turns of theirs run at the same time."""

    def __init__(
        self,
        limits: LimitsConfig,
        *,
        session: Spent = Spent(),  # noqa: B008 (frozen)
        day: Spent = Spent(),  # noqa: B008
        turn: Spent = Spent(),  # noqa: B008
        steps: int = 0,
        within: "Budget | None" = None,
        today: Callable[[], Awaitable[Spent]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._turn = turn
        self._session = session
        self._day = day
        self._steps = steps
        self._within = within
        self._today = today
        self._is_new = True
        self._clock = clock
        self._ends = clock() + limits.turn_time.total_seconds()

    async def look(self) -> None:
        """See what was spent meanwhile, before another step."""
        if self._today is not None and not self._is_new:
            self._day = await self._today()
        self._is_new = False

    def begin_step(self) -> None:
        """Count a model call that is about to be made. Raises if there may be no more."""
        if self._steps >= self._limits.turn_steps:
            raise errors.Budget(f"The turn has taken {self._steps} steps", setting="turn_steps")
        self.check()
        self._steps += 1

    def check(self) -> None:
        """Raises if a limit is reached."""
        limits = self._limits
        for spent, name, tokens, cost in (
            (self._turn, "turn", limits.turn_tokens, limits.turn_cost),
            (self._session, "session", limits.session_tokens, limits.session_cost),
            (self._day, "day", limits.day_tokens, limits.day_cost),
        ):
            _check(spent, name, tokens, cost)
        if self._within is not None:
            self._within.check()

    def add(self, usage: Usage) -> None:
        self._turn = self._turn.plus(usage)
        self._session = self._session.plus(usage)
        self._day = self._day.plus(usage)
        if self._within is not None:
            self._within.add(usage)

    def seconds_left(self) -> float:
        left = max(0.0, self._ends - self._clock())
        return left if self._within is None else min(left, self._within.seconds_left())

    def out_of_time(self) -> errors.Budget:
        minutes = self._limits.turn_time.total_seconds() / 60
        return errors.Budget(f"The turn has taken {minutes:g} minutes", setting="turn_time")

    def output_left(self) -> int | None:
        """How many tokens the next answer may have at most, where that is limited."""
        limits = self._limits
        left = [
            limit - spent.tokens
            for spent, limit in (
                (self._turn, limits.turn_tokens),
                (self._session, limits.session_tokens),
                (self._day, limits.day_tokens),
            )
            if limit is not None
        ]
        if self._within is not None and (above := self._within.output_left()) is not None:
            left.append(above)
        return max(1, min(left)) if left else None


_WHOSE = {"turn": "The turn has", "session": "The session has", "day": "Today you have"}


def _check(spent: Spent, name: str, tokens: int | None, cost: float | None) -> None:
    whose = _WHOSE[name]
    if tokens is not None and spent.tokens >= tokens:
        raise errors.Budget(f"{whose} used {spent.tokens} tokens", setting=f"{name}_tokens")
    if cost is not None and spent.cost >= cost * NANO:
        raise errors.Budget(f"{whose} cost ${spent.cost / NANO:.2f}", setting=f"{name}_cost")
