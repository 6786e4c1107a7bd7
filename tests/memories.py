"""A memory under test: keeps what it is given in a dict, and fails, hangs or waits when told to."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import msgspec

from roost.core.clock import Clock
from roost.core.config import AgentsConfig, MemoryConfig
from roost.core.errors import MemoryFailed
from roost.core.ids import SessionId, TurnId
from roost.core.settings import Count, ScopeName
from roost.memory.base import Memory, MemoryProvider, Scope, Segment
from roost.testing.models import ModelServer
from tests.engine import SECONDS, Engine, config_for


def remembering(
    folder: Path,
    server: ModelServer,
    clock: Clock,
    memories: Mapping[str, MemoryProvider],
    *,
    profile: str = "default",
    grace: float = 5.0,
    timeout: float = 60.0,
    agents: int = 128,
) -> Engine:
    """An engine whose turns are remembered by the first of these memories."""
    config = msgspec.structs.replace(
        config_for(folder, server),
        memory=MemoryConfig(
            provider=ScopeName(next(iter(memories))),
            profile=ScopeName(profile),
            grace=timedelta(seconds=grace),
            timeout=timedelta(seconds=timeout),
        ),
        agents=AgentsConfig(max=Count(agents)),
    )
    return Engine(folder, server, clock=clock, config=config, memories=memories)


class ScriptedMemory:
    """`calls` is all that it was asked to commit, in order; `kept` what it has, by key."""

    def __init__(self) -> None:
        self.calls: list[Segment] = []
        self.kept: dict[str, Segment] = {}
        self.memories: list[Memory] = []
        self.asked: list[tuple[Scope, str]] = []
        self.withdrawn: list[tuple[Scope, SessionId]] = []
        self.failures: deque[Exception] = deque()
        self.refuses: set[str] = set()
        """The profiles for which it takes nothing."""
        self.stubborn = False
        self.forgetful = True
        self.recalling = asyncio.Event()
        self.recalling.set()
        self.check: Callable[[Segment], Awaitable[None]] | None = None
        """What should be true while it is asked."""
        self._open = asyncio.Event()
        self._open.set()
        self._heard = asyncio.Condition()
        self._active: set[SessionId] = set()

    # What tests say and ask.

    def hang(self) -> None:
        """From now on commits wait, until `go_on`."""
        self._open.clear()

    def go_on(self) -> None:
        self._open.set()

    def fail(self, times: int, detail: str = "the disk is full") -> None:
        self.failures.extend([MemoryFailed(detail, provider="scripted")] * times)

    async def called(self, times: int) -> Sequence[Segment]:
        """Wait until it was asked this often."""
        async with asyncio.timeout(SECONDS), self._heard:
            await self._heard.wait_for(lambda: len(self.calls) >= times)
        return self.calls

    @property
    def turns(self) -> list[TurnId]:
        return [turn for segment in self.kept.values() for turn in segment.turns]

    # What Roost asks.

    async def recall(self, scope: Scope, words: str, *, limit: int) -> Sequence[Memory]:
        self.asked.append((scope, words))
        await self.recalling.wait()
        return self.memories[:limit]

    async def commit(self, segment: Segment) -> None:
        async with self._alone(segment.session):
            self.calls.append(segment)
            async with self._heard:
                self._heard.notify_all()
            if self.check is not None:
                await self.check(segment)
            await self._opened()
            if self.failures:
                raise self.failures.popleft()
            if segment.scope.profile in self.refuses:
                raise MemoryFailed("it takes nothing", provider="scripted")
            before = self.kept.setdefault(segment.key, segment)
            assert before.turns == segment.turns, "the same key with other turns"
            assert before.messages == segment.messages

    @asynccontextmanager
    async def _alone(self, session: SessionId) -> AsyncGenerator[None]:
        """No two commits of a session overlap, whatever happens."""
        assert session not in self._active
        self._active.add(session)
        try:
            yield
        finally:
            self._active.discard(session)

    async def _opened(self) -> None:
        while not self._open.is_set():
            try:
                await self._open.wait()
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise

    async def forget(self, scope: Scope, id: str) -> None:
        self.memories = [memory for memory in self.memories if memory.id != id]

    async def withdraw(self, scope: Scope, session: SessionId) -> None:
        self.withdrawn.append((scope, session))
        if not self.forgetful:
            raise MemoryFailed("it is read-only", provider="scripted")
        self.kept = {key: each for key, each in self.kept.items() if each.session != session}

    async def health(self) -> str | None:
        return None

    async def close(self) -> None:
        pass
