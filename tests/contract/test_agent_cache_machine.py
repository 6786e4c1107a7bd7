"""The cache of live agents against a plain model of it: whatever turns do, the two agree."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.core.ids import SessionId
from roost.core.signature import Signature
from roost.runtime.agents import Counts
from tests.live_agents import ONE, TWO, Scene, StubAgent, Turn, session_ids, settled

SESSIONS = session_ids(5)
IDLE_TTL = 60.0

picks = st.integers(0, 30)


@dataclass(eq=False)
class ModelAgent:
    signature: Signature
    turns: int = 1
    last_active: int | None = None
    released: bool = False


@dataclass(eq=False)
class ModelTurn:
    """What should have become of a turn, and the real one."""

    session: SessionId
    signature: Signature
    state: Literal["waiting", "building", "running", "over"] = "waiting"
    agent: ModelAgent | None = None
    outcome: asyncio.Future[StubAgent] = field(init=False)
    task: asyncio.Task[Turn] = field(init=False)


@dataclass(eq=False)
class Model:
    """The cache in plain Python, where a slot under construction is the turn that builds."""

    limit: int
    live: dict[SessionId, ModelAgent] = field(default_factory=dict[SessionId, ModelAgent])
    """In the order of use, the oldest first."""
    building: dict[SessionId, ModelTurn] = field(default_factory=dict[SessionId, ModelTurn])
    waiting: dict[SessionId, list[ModelTurn]] = field(
        default_factory=dict[SessionId, list[ModelTurn]]
    )
    evicted: list[SessionId] = field(default_factory=list[SessionId])
    hits: int = 0
    builds: int = 0

    def ask(self, turn: ModelTurn) -> None:
        session = turn.session
        agent = self.live.get(session)
        if session in self.building:
            self.waiting.setdefault(session, []).append(turn)
        elif agent is not None and agent.signature == turn.signature:
            self.live[session] = self.live.pop(session)
            self.hits += 1
            agent.turns += 1
            turn.state, turn.agent = "running", agent
        else:
            self.drop(session)
            self.building[session] = turn
            turn.state = "building"

    def build(self, turn: ModelTurn) -> ModelAgent:
        self.builds += 1
        turn.state, turn.agent = "running", ModelAgent(turn.signature)
        if self.building.get(turn.session) is turn:
            self.insert(turn.session, turn.agent)
        self.leave_slot(turn)
        return turn.agent

    def insert(self, session: SessionId, agent: ModelAgent) -> None:
        self.live[session] = agent
        excess = list(self.live)[: max(0, len(self.live) - self.limit)]
        for each in excess:
            if self.live[each].turns == 0:
                self.evict(each)

    def give_up(self, turn: ModelTurn) -> None:
        """It fails or is cancelled before it has an agent."""
        if turn.state == "waiting":
            self.waiting[turn.session].remove(turn)
        self.leave_slot(turn)
        turn.state = "over"

    def leave_slot(self, turn: ModelTurn) -> None:
        if self.building.get(turn.session) is turn:
            del self.building[turn.session]
            self.wake(turn.session)

    def wake(self, session: SessionId) -> None:
        for turn in self.waiting.pop(session, []):
            self.ask(turn)

    def end(self, turn: ModelTurn, now: int) -> None:
        assert turn.agent is not None
        turn.state = "over"
        turn.agent.turns -= 1
        turn.agent.last_active = now
        if turn.agent.turns == 0 and self.live.get(turn.session) is not turn.agent:
            turn.agent.released = True

    def drop(self, session: SessionId) -> None:
        agent = self.live.pop(session, None)
        if agent is not None and agent.turns == 0:
            agent.released = True
        if self.building.pop(session, None) is not None:
            self.wake(session)

    def evict(self, session: SessionId) -> None:
        self.drop(session)
        self.evicted.append(session)

    def sweep(self, now: int) -> int:
        idle = [
            session
            for session, agent in self.live.items()
            if agent.turns == 0
            and agent.last_active is not None
            and now - agent.last_active > IDLE_TTL * 1000
        ]
        for session in idle:
            self.evict(session)
        return len(idle)

    @property
    def counts(self) -> Counts:
        return Counts(
            live=len(self.live),
            busy=sum(agent.turns > 0 for agent in self.live.values()),
            hits=self.hits,
            builds=self.builds,
            evictions=len(self.evicted),
        )


class AgentCacheMachine(RuleBasedStateMachine):
    @initialize(limit=st.integers(1, 3))
    def open(self, limit: int) -> None:
        self.runner = asyncio.Runner()
        self.scene = Scene(limit=limit, idle_ttl=IDLE_TTL)
        self.model = Model(limit)
        self.turns: list[ModelTurn] = []
        self.stubs: dict[ModelAgent, StubAgent] = {}

    def teardown(self) -> None:
        """Everything ends, and then every agent has been released, once."""
        while self.turns:
            self.cancel(0)
        self.close()
        assert [stub.closings for stub in self.stubs.values()] == [1] * self.model.builds
        self.runner.close()

    def do(self, work: Coroutine[None, None, object]) -> None:
        async def to_the_end() -> None:
            await work
            await settled()

        self.runner.run(to_the_end())

    def pick(self, pick: int, state: str) -> ModelTurn | None:
        found = [turn for turn in self.turns if turn.state == state]
        return found[pick % len(found)] if found else None

    def place(self, turn: ModelTurn) -> int:
        """The pick that finds it among those in its state."""
        return [each for each in self.turns if each.state == turn.state].index(turn)

    # Turns.

    @precondition(lambda self: len(self.turns) < 12)
    @rule(session=st.sampled_from(SESSIONS), signature=st.sampled_from([ONE, ONE, ONE, TWO]))
    def ask(self, session: SessionId, signature: Signature) -> None:
        turn = ModelTurn(session, signature)
        self.turns.append(turn)

        async def build() -> StubAgent:
            return await turn.outcome

        async def begin() -> None:
            turn.outcome = asyncio.get_running_loop().create_future()
            borrowing = self.scene.agents.borrowed(session, signature, build)
            turn.task = asyncio.create_task(Turn(borrowing).begin())

        self.model.ask(turn)
        self.do(begin())

    @precondition(lambda self: self.pick(0, "building"))
    @rule(pick=picks, slow_release=st.booleans())
    def build(self, pick: int, slow_release: bool) -> None:
        if (turn := self.pick(pick, "building")) is None:
            return

        async def finish() -> None:
            stub = self.stubs[agent] = StubAgent(turn.signature)
            if slow_release:
                stub.may_close.clear()
            turn.outcome.set_result(stub)

        agent = self.model.build(turn)
        self.do(finish())

    @precondition(lambda self: len(self.turns) < 12)
    @rule(session=st.sampled_from(SESSIONS), to_its_end=st.booleans())
    def run(self, session: SessionId, to_its_end: bool) -> None:
        """What usually happens, in one go: without it most runs would never get far."""
        self.ask(session, ONE)
        turn = self.turns[-1]
        if turn.state == "building":
            self.build(self.place(turn), slow_release=False)
        if turn.state == "running" and to_its_end:
            self.end(self.place(turn))

    @precondition(lambda self: self.pick(0, "building"))
    @rule(pick=picks)
    def fail_build(self, pick: int) -> None:
        if (turn := self.pick(pick, "building")) is None:
            return

        async def fail() -> None:
            turn.outcome.set_exception(OSError("no route"))

        self.model.give_up(turn)
        self.do(fail())
        assert isinstance(turn.task.exception(), OSError)
        self.turns.remove(turn)

    @precondition(lambda self: self.pick(0, "running"))
    @rule(pick=picks)
    def end(self, pick: int) -> None:
        if (turn := self.pick(pick, "running")) is None:
            return
        self.model.end(turn, self.scene.clock.now())
        self.do(turn.task.result().end())
        self.turns.remove(turn)

    @precondition(lambda self: self.turns)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        turn = self.turns[pick % len(self.turns)]
        if turn.state == "running":
            self.end(self.place(turn))
            return

        async def cancel() -> None:
            turn.task.cancel()

        self.model.give_up(turn)
        self.do(cancel())
        assert turn.task.cancelled()
        self.turns.remove(turn)

    # What is done to the cache.

    @rule(session=st.sampled_from(SESSIONS))
    def drop(self, session: SessionId) -> None:
        async def drop() -> None:
            self.scene.agents.drop(session)

        self.model.drop(session)
        self.do(drop())

    @rule(seconds=st.sampled_from([0, 30, 60, 60.001, 3600]))
    def sweep(self, seconds: float) -> None:
        async def sweep() -> None:
            assert self.scene.agents.sweep() == swept

        self.scene.clock.advance(seconds)
        swept = self.model.sweep(self.scene.clock.now())
        self.do(sweep())

    @rule()
    def finish_releases(self) -> None:
        for stub in self.stubs.values():
            stub.may_close.set()

    @rule()
    def close(self) -> None:
        self.finish_releases()
        for session in [*self.model.live, *self.model.building]:
            self.model.drop(session)
        self.do(self.scene.agents.close())

    # Where the two are compared.

    @invariant()
    def slots_agree(self) -> None:
        assert set(self.scene.live(SESSIONS)) == set(self.model.live)
        assert self.scene.agents.counts == self.model.counts
        assert len(self.scene.agents) == len(self.model.live)
        assert self.scene.evicted == self.model.evicted

    @invariant()
    def turns_have_the_agents_that_they_should(self) -> None:
        for turn in self.turns:
            assert turn.task.done() == (turn.state == "running")
            if turn.agent is not None:
                assert turn.task.result().agent is self.stubs[turn.agent]

    @invariant()
    def released_once_or_not_at_all(self) -> None:
        for agent, stub in self.stubs.items():
            assert stub.closings == agent.released
            assert not (agent.turns and agent.released)


TestCacheAgreesWithItsModel = pytest.mark.timeout(0)(AgentCacheMachine.TestCase)
