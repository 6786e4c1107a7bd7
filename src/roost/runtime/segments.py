"""Commits segments, the oldest first: each try is durable before its provider hears of it."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Literal

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.errors import MemoryFailed, MemoryUnusable, MemoryWaits, RoostError
from roost.memory.base import MemoryProvider, Segment, parse_scope
from roost.runtime.persistence import persisted
from roost.runtime.provider_calls import ProviderCalls
from roost.store.memory import BegunSegment, Deleted, MemoryMarks, PendingSegment
from roost.testing import faults

log = structlog.stdlib.get_logger("roost.memory")

ROOM = 8
"""How many commits a provider gets at a time."""

FIRST_DELAY, LONGEST_DELAY = 5.0, 3600.0
MOST_FAILURES = 90
"""With these delays, some three and a half days of trying: then a segment rests. One that only has
to wait for something else does not."""
MOST_UNUSABLE = 5
"""The same where a model's answers can't be used: each is paid for, and the next one would hardly
be better."""
CUT_SHORT = "Roost stopped before it was done."
PUT_OFF = 600.0
"""Seconds until what no provider is there for, what no answer was any use for, or what can't be
forgotten, is looked at again."""


Outcome = Literal["committed", "failed", "put off"]
"""What a try came to; `put off` waits for something else, such as a limit to lift."""


class Committed(msgspec.Struct, frozen=True):
    """This many turns are in memory now."""

    turns: int


class Nothing(msgspec.Struct, frozen=True):
    """There was nothing to commit."""


class Failed(msgspec.Struct, frozen=True):
    """Something was not taken, and is tried again. `turns` went to another memory all the same."""

    reason: str
    turns: int = 0


Report = Committed | Nothing | Failed


def retry_delay(tries: int) -> float:
    """Seconds until the next try: growing, and with chance in them, so that those who failed
    together do not come back together."""
    grown = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(tries - 1, 16))
    return grown * random.uniform(0.75, 1.25)  # noqa: S311 (not secret)


class Committer:
    """Its caller sees to it that a session's segments come here one at a time."""

    def __init__(
        self,
        marks: MemoryMarks,
        providers: Mapping[str, MemoryProvider],
        calls: ProviderCalls,
        *,
        clock: Clock,
        delay: Callable[[int], float] = retry_delay,
    ) -> None:
        self._marks = marks
        self._providers = providers
        self._calls = calls
        self._clock = clock
        self._delay = delay
        self.repeats = 0
        """How many calls are under way for segments that were tried before."""
        self.outcomes = Counter[Outcome]()
        self._room = defaultdict[str, asyncio.Semaphore](partial(asyncio.Semaphore, ROOM))

    async def forget(self, deleted: Sequence[Deleted]) -> None:
        """Let scopes forget what came from a session that was deleted. What can't be forgotten now
        is put off."""
        for each in deleted:
            name = each.scope.partition("/")[0]
            try:
                provider = self._providers.get(name)
                if provider is None:
                    raise _no_provider(name)
                await self._calls.withdraw(provider, parse_scope(each.scope), each.session)
            except Exception as error:  # noqa: BLE001 (providers are anyone's; all of it is told)
                failure = _failure(name, error)
                log.warning("a session was not forgotten", session=each.session, error=str(failure))
                put_off = partial(self._marks.not_forgotten, each, str(failure), delay=PUT_OFF)
                await persisted(put_off)
            else:
                await persisted(partial(self._marks.forgotten, each))

    async def commit_all(
        self, segments: Sequence[PendingSegment], *, at_once: bool = False
    ) -> Report:
        """Oldest first. One that fails holds back those of its own scope and no other (C7)."""
        turns, reasons = 0, dict[str, str]()
        for segment in segments:
            if segment.scope in reasons or (segment.rests_since is not None and not at_once):
                continue
            if not at_once and segment.due_at > self._clock.now():
                reasons[segment.scope] = segment.error or "It waits for another try."
                continue
            try:
                turns += await self._commit_one(segment)
            except MemoryFailed as error:
                reasons[segment.scope] = str(error)
        if reasons:
            return Failed(" ".join(reasons.values()), turns)
        return Committed(turns) if turns else Nothing()

    async def _commit_one(self, segment: PendingSegment) -> int:
        """How many turns were committed. A try is durable before the provider hears of it (C6)."""
        name = segment.scope.partition("/")[0]
        provider = self._providers.get(name)
        if provider is None:
            error = _no_provider(name)
            await self._failed(segment, error, segment.tries)
            raise error
        async with self._room[name]:
            begun = await persisted(partial(self._marks.begin, segment.key, after=segment.tries))
            if begun is None:
                return 0
            faults.reach("memory.commit.before")
            try:
                with self._counted(begun):
                    await self._calls.commit(provider, _segment(begun))
            except asyncio.CancelledError:
                await self._cut_short(segment, begun.tries)
                raise
            except Exception as error:
                failure = _failure(name, error)
                await self._failed(segment, failure, begun.tries)
                raise failure from error
            faults.reach("memory.commit.after")
            kept = await persisted(partial(self._marks.committed, segment.key))
            self.outcomes["committed"] += 1
        # Otherwise its session was deleted meanwhile, and it is forgotten after this.
        return len(begun.turns) if kept else 0

    @contextmanager
    def _counted(self, begun: BegunSegment) -> Generator[None]:
        repeated = begun.tries > 1
        self.repeats += repeated
        try:
            yield
        finally:
            self.repeats -= repeated

    async def _cut_short(self, segment: PendingSegment, tries: int) -> None:
        """Roost stops. A life that is short should not begin the same again at once."""
        put_off = partial(self._marks.failed, segment.key, CUT_SHORT, delay=self._delay(tries))
        with suppress(RoostError):
            await asyncio.shield(put_off(counts=False))

    async def _failed(self, segment: PendingSegment, error: MemoryFailed, tries: int) -> None:
        log.warning("a memory commit failed", session=segment.session, error=str(error))
        waits, unusable = isinstance(error, MemoryWaits), isinstance(error, MemoryUnusable)
        self.outcomes["put off" if waits else "failed"] += 1
        failed = partial(
            self._marks.failed,
            segment.key,
            str(error),
            delay=PUT_OFF if waits else max(PUT_OFF if unusable else 0.0, self._delay(tries)),
            counts=not waits,
            unusable=unusable,
            most=MOST_UNUSABLE if unusable else MOST_FAILURES,
        )
        if await persisted(failed):
            log.error("a memory commit rests: it failed too often", session=segment.session)


def _segment(begun: BegunSegment) -> Segment:
    return Segment(
        key=begun.key,
        scope=parse_scope(begun.scope),
        session=begun.session,
        turns=tuple(begun.turns),
        messages=tuple(begun.messages),
    )


def _no_provider(name: str) -> MemoryWaits:
    return MemoryWaits("there is no such memory any more", provider=name)


def _failure(provider: str, error: Exception) -> MemoryFailed:
    if isinstance(error, MemoryFailed):
        return error
    if not isinstance(error, RoostError):
        log.error("a memory provider failed", provider=provider, exc_info=error)
    return MemoryFailed(str(error) or type(error).__name__, provider=provider)
