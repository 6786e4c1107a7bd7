"""Asks again after a passing failure, and then asks another model, saying so each time."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import count, pairwise

import msgspec

from roost.core.errors import KeyRefused, ModelError, ModelTransient, ModelUnknown, NoCredit
from roost.core.happenings import Observers
from roost.llm.base import FellBack, LLMClient, Request, Retrying, StreamEvent
from roost.llm.timing import Timed

FALLS_BACK = (ModelTransient, NoCredit, KeyRefused, ModelUnknown)
"""Failures that another model may not have. The rest is about the request or the answer itself."""


class Candidate(msgspec.Struct, frozen=True):
    """A model that may be asked, and the client that reaches it."""

    provider: str
    model: str
    client: LLMClient


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long to keep asking. Times are in seconds.

    The wait before the n-th retry is drawn from 0 to `first_wait` * 2 ** n, at most `longest_wait`.
    A server that names its own wait gets it, unless that is beyond `longest_asked`. No retry begins
    after `deadline`; an attempt that is under way is not cut short: a model may think long.
    """

    first_wait: float = 0.5
    longest_wait: float = 16.0
    longest_asked: float = 60.0
    deadline: float = 120.0
    retries: int = 8


class PatientClient:
    """An `LLMClient` over others: the first is asked, with retries, then the next, in order.

    Only before the first word: what has been said can't be taken back, so a failure after it goes
    through to the caller, who may begin a new attempt.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        patience: Patience | None = None,
        observers: Observers | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not candidates:
            raise ValueError("no model to ask")
        self._candidates = tuple(candidates)
        self._patience = patience or Patience()
        self._observers = Observers() if observers is None else observers
        self._sleep = sleep
        self._chance = chance
        self._clock = clock

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        async with aclosing(self._events(request)) as events:
            yield events

    async def close(self) -> None:
        for client in {id(each.client): each.client for each in self._candidates}.values():
            await client.close()

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent]:
        end = self._clock() + self._patience.deadline
        for candidate, following in pairwise((*self._candidates, None)):
            assert candidate is not None
            asked = msgspec.structs.replace(request, model=candidate.model)
            for tried in count():
                said = False
                try:
                    with Timed(self._observers, candidate.provider, candidate.model) as timed:
                        async with candidate.client.stream(asked) as events:
                            event = None
                            async for event in events:
                                if not said:
                                    said = True
                                    timed.first_word()
                                yield event
                        timed.last = event
                    return
                except FALLS_BACK as error:
                    delay = self._delay(error, tried, end)
                    if said or (delay is None and following is None):
                        raise
                    reason = str(error)
                if delay is None:
                    assert following is not None
                    yield FellBack(following.provider, following.model, reason)
                    break
                yield Retrying(reason, delay)
                await self._sleep(delay)

    def _delay(self, error: ModelError, tried: int, end: float) -> float | None:
        """Seconds until this model is asked again, or None if there is no use in it."""
        patience = self._patience
        if not isinstance(error, ModelTransient) or tried >= patience.retries:
            return None
        delay = self._chance() * min(patience.longest_wait, patience.first_wait * 2**tried)
        asked = error.facts.get("retry_after")
        if isinstance(asked, int | float):
            if asked > patience.longest_asked:
                return None
            # Spread out, so that all who were told the same do not come back at once.
            delay = asked + self._chance() * patience.first_wait
        return delay if self._clock() + delay <= end else None
