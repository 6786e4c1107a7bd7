"""Agents that do nothing but be built and closed, and the turns that borrow them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from roost.core.ids import SessionId
from roost.core.signature import Signature
from roost.runtime.agents import Agents
from roost.testing.clock import FakeClock

ONE = Signature("one")
TWO = Signature("two")


def session_ids(count: int) -> list[SessionId]:
    return [SessionId(f"ses_{number}") for number in range(count)]


class StubAgent:
    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.closings = 0
        self.closed = asyncio.Event()
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.error: Exception | None = None

    async def close(self) -> None:
        self.closings += 1
        await self.may_close.wait()
        if self.error is not None:
            raise self.error
        self.closed.set()


class Turn:
    """A turn that runs from `begin` to `end`."""

    def __init__(self, borrowing: AbstractAsyncContextManager[StubAgent]) -> None:
        self._borrowing = borrowing
        self.agent: StubAgent

    async def begin(self) -> "Turn":
        self.agent = await self._borrowing.__aenter__()
        return self

    async def end(self) -> None:
        await self._borrowing.__aexit__(None, None, None)


class Scene:
    """A cache, the time, and what became of the sessions in it."""

    def __init__(
        self, *, limit: int = 128, idle_ttl: float = 3600.0, release_deadline: float = 10.0
    ) -> None:
        self.clock = FakeClock()
        self.evicted: list[SessionId] = []
        self.agents = Agents[StubAgent](
            clock=self.clock,
            limit=limit,
            idle_ttl=idle_ttl,
            release_deadline=release_deadline,
            evicted=self.evicted.append,
        )

    def borrowed(
        self,
        session: SessionId,
        signature: Signature = ONE,
        build: Callable[[], Awaitable[StubAgent]] | None = None,
    ) -> AbstractAsyncContextManager[StubAgent]:
        async def built() -> StubAgent:
            return StubAgent(signature)

        return self.agents.borrowed(session, signature, build or built)

    async def begin(self, session: SessionId, signature: Signature = ONE) -> Turn:
        return await Turn(self.borrowed(session, signature)).begin()

    async def run(self, session: SessionId, signature: Signature = ONE) -> StubAgent:
        """A turn from beginning to end; the agent that it ran on."""
        turn = await self.begin(session, signature)
        await turn.end()
        return turn.agent

    def live(self, sessions: list[SessionId]) -> list[SessionId]:
        return [session for session in sessions if self.agents.is_live(session)]


class Construction:
    """Builds that go on until they are told how they end. The first is told first."""

    def __init__(self, scene: Scene, session: SessionId, signature: Signature = ONE) -> None:
        self._scene = scene
        self._session = session
        self._signature = signature
        self._outcomes: list[asyncio.Future[None]] = []
        self.agents: list[StubAgent] = []
        self.begun = 0

    async def _build(self) -> StubAgent:
        self.begun += 1
        outcome = asyncio.get_running_loop().create_future()
        self._outcomes.append(outcome)
        try:
            await outcome
        finally:
            self._outcomes.remove(outcome)
        self.agents.append(StubAgent(self._signature))
        return self.agents[-1]

    async def ask(self) -> asyncio.Task[Turn]:
        """Another turn that asks for the agent; it has come as far as it can."""
        turn = Turn(self._scene.borrowed(self._session, self._signature, self._build))
        task = asyncio.create_task(turn.begin())
        await settled()
        return task

    async def finish(self) -> None:
        self._outcomes[0].set_result(None)
        await settled()

    async def fail(self, error: Exception) -> None:
        self._outcomes[0].set_exception(error)
        await settled()


async def settled() -> None:
    """Until nothing is left to do for anyone who waits for no event."""
    for _ in range(20):
        await asyncio.sleep(0)
