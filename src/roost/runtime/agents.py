"""The cache of live agents: one for each session that had a turn lately, within a cap."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.ids import SessionId
from roost.core.signature import Signature

log = structlog.stdlib.get_logger("roost.agents")

SWEEP_SECONDS = 30.0
RELEASE_SECONDS = 10.0


class LiveAgent(Protocol):
    @property
    def signature(self) -> Signature:
        """Of the configuration that it was built from."""
        ...

    async def close(self) -> None:
        """Let go of the model client, and of nothing else."""
        ...


A = TypeVar("A", bound=LiveAgent)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """`live` and `busy` are as of now, the others since the start."""

    live: int
    busy: int
    hits: int
    builds: int
    evictions: int


@dataclass(eq=False, slots=True)
class _Entry(Generic[A]):
    agent: A
    turns: int = 1
    """How many run on it: it is busy while there is one."""
    last_active: int | None = None
    """When a turn last ended; None is unknown."""


class Agents(Generic[A]):
    """Belongs to one event loop, and nothing is awaited between looking and changing: that is its
    lock.

    A session's slot is empty, holds an agent (`_live`, the longest unused first) or is under
    construction (`_building`). An agent that left its slot in mid-turn is known to its turns alone,
    and the last of them to end releases it.

    `evicted` is told which sessions lost their agent to the cap or the sweep. It takes note and
    does no more: another session's turn is waiting.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        limit: int = 128,
        idle_ttl: float = 3600.0,
        release_deadline: float = RELEASE_SECONDS,
        evicted: Callable[[SessionId], None] | None = None,
    ) -> None:
        self._clock = clock
        self._limit = limit
        self._idle_ttl = idle_ttl
        self._release_deadline = release_deadline
        self._evicted = evicted
        self._live: OrderedDict[SessionId, _Entry[A]] = OrderedDict()
        self._building: dict[SessionId, asyncio.Event] = {}
        self._releases: set[asyncio.Task[None]] = set()
        self._hits = self._builds = self._evictions = 0

    def __len__(self) -> int:
        return len(self._live)

    def is_live(self, session: SessionId) -> bool:
        return session in self._live

    @property
    def counts(self) -> Counts:
        return Counts(
            live=len(self._live),
            busy=sum(1 for entry in self._live.values() if entry.turns),
            hits=self._hits,
            builds=self._builds,
            evictions=self._evictions,
        )

    @asynccontextmanager
    async def borrowed(
        self, session: SessionId, signature: Signature, build: Callable[[], Awaitable[A]]
    ) -> AsyncGenerator[A]:
        """The session's agent for one turn: the live one if it was built from this signature, else
        a new one. It is busy until the block ends.

        Who comes while one is being built waits for it. A build runs in the task of the turn that
        asked for it, and fails or is cancelled with that turn alone: the next one that waits then
        builds its own.
        """
        entry = await self._held(session, signature, build)
        try:
            yield entry.agent
        finally:
            entry.turns -= 1
            entry.last_active = self._clock.now()
            if not entry.turns and self._live.get(session) is not entry:
                self._release(session, entry.agent)

    def drop(self, session: SessionId) -> None:
        """Empty the session's slot. An idle agent is released; one in mid-turn, or still being
        built, when its turn ends."""
        if (built := self._building.pop(session, None)) is not None:
            built.set()
        if (entry := self._live.pop(session, None)) is not None and not entry.turns:
            self._release(session, entry.agent)

    def renew(self) -> None:
        """Empty every slot: what agents are built from has changed. Turns that run keep theirs."""
        for session in [*self._live, *self._building]:
            self.drop(session)

    def sweep(self) -> int:
        """Drop the agents that have been idle for too long; how many they were."""
        since = self._clock.now() - self._idle_ttl * 1000
        idle = [
            session
            for session, entry in self._live.items()
            if not entry.turns and entry.last_active is not None and entry.last_active < since
        ]
        for session in idle:
            self._evict(session)
        return len(idle)

    async def run(self, *, period: float = SWEEP_SECONDS) -> None:
        """Sweep every `period` seconds, until cancelled."""
        while True:
            await asyncio.sleep(period)
            self.sweep()

    async def close(self) -> None:
        """Empty every slot, and wait for the releases: each has a deadline. Turns should have ended
        before: an agent that is still in one is released when that ends, and not waited for."""
        self.renew()
        while self._releases:
            await asyncio.wait(self._releases)

    async def _held(
        self, session: SessionId, signature: Signature, build: Callable[[], Awaitable[A]]
    ) -> _Entry[A]:
        while (built := self._building.get(session)) is not None:
            await built.wait()
        entry = self._live.get(session)
        if entry is None or entry.agent.signature != signature:
            self.drop(session)
            return await self._built(session, build)
        self._live.move_to_end(session)
        self._hits += 1
        entry.turns += 1
        return entry

    async def _built(self, session: SessionId, build: Callable[[], Awaitable[A]]) -> _Entry[A]:
        built = self._building[session] = asyncio.Event()
        try:
            entry = _Entry(await build())
            self._builds += 1
            # Otherwise the slot was emptied meanwhile, and what was asked for then is not in it.
            if self._building.get(session) is built:
                self._insert(session, entry)
            return entry
        finally:
            if self._building.get(session) is built:
                del self._building[session]
            built.set()

    def _insert(self, session: SessionId, entry: _Entry[A]) -> None:
        """Past the cap this looks at the excess alone: a busy agent there may stay, and no younger
        one goes in its place."""
        was_above = len(self._live) > self._limit
        self._live[session] = entry
        excess = max(0, len(self._live) - self._limit)
        for oldest, each in list(islice(self._live.items(), excess)):
            if not each.turns:
                self._evict(oldest)
        if len(self._live) > self._limit and not was_above:
            log.warning(
                "more live agents than agents.max: the oldest are in mid-turn",
                live=len(self._live),
                max=self._limit,
            )

    def _evict(self, session: SessionId) -> None:
        self.drop(session)
        self._evictions += 1
        if self._evicted is not None:
            self._evicted(session)

    def _release(self, session: SessionId, agent: A) -> None:
        # In a context of its own: it does not belong to the turn that happened to cause it.
        task = asyncio.create_task(self._close(session, agent), context=Context())
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)

    async def _close(self, session: SessionId, agent: A) -> None:
        try:
            async with asyncio.timeout(self._release_deadline):
                await agent.close()
        except Exception:
            log.exception("releasing an agent failed", session=session)
