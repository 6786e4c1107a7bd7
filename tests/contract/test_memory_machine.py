"""Memory commits against a plain model of them: completed, taken back, failed, hung, crashed."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.core.ids import SessionId, TurnId
from roost.memory.base import Segment
from roost.runtime.segments import Committed, Failed, Nothing, Report
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, say, stall
from tests.engine import SECONDS, Engine, eventually
from tests.memories import ScriptedMemory, remembering

T = TypeVar("T")

LONG = 2 * 3600.0
"""Seconds after which every session is idle and every retry due."""


@dataclass
class ModelSegment:
    scope: str
    turns: list[TurnId]
    begun: bool = False
    waits: bool = False
    """A try failed, and the next is not due yet."""


@dataclass
class ModelSession:
    id: SessionId
    history: list[TurnId] = field(default_factory=list[TurnId])
    marks: list[tuple[TurnId, str]] = field(default_factory=list[tuple[TurnId, str]])
    pending: list[ModelSegment] = field(default_factory=list[ModelSegment])
    committing: asyncio.Task[Report] | None = None
    """A commit whose first segment the memory has not answered."""

    def take_back(self) -> None:
        turn = self.history.pop()
        self.marks = [mark for mark in self.marks if mark[0] != turn]
        for segment in self.pending:
            if turn in segment.turns and not segment.begun:
                segment.turns.remove(turn)

    def cut(self) -> None:
        scopes: dict[str, list[TurnId]] = {}
        for turn, scope in self.marks:
            scopes.setdefault(scope, []).append(turn)
        self.pending += [ModelSegment(scope, turns) for scope, turns in scopes.items()]
        self.marks = []


class MemoryMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.profile = "one"
        self.failing = False
        self.sessions: list[ModelSession] = []
        self.kept: list[tuple[str, tuple[TurnId, ...]]] = []

    def do(self, work: Coroutine[object, object, T]) -> T:
        async def in_time() -> T:
            async with asyncio.timeout(SECONDS):
                return await work

        return self.runner.run(in_time())

    @initialize()
    def begin(self) -> None:
        self.do(self._begin())

    async def _begin(self) -> None:
        self.server = ModelServer()
        await self.server.__aenter__()
        self.server.otherwise(say("Noted."))
        self.memory = ScriptedMemory()
        await self._start()
        for _ in range(2):
            self.sessions.append(ModelSession(await self.engine.session()))

    async def _start(self) -> None:
        self.engine: Engine = remembering(
            self.folder / "data",
            self.server,
            self.clock,
            {"scripted": self.memory},
            profile=self.profile,
        )
        await self.engine.start()
        await self.engine.parts.memory.recover()
        await self._at_rest()

    async def _at_rest(self) -> None:
        async def rests() -> bool:
            return len(self.engine.parts.memory) == 0

        await eventually(rests)

    def teardown(self) -> None:
        if self.sessions:
            self.do(self._end())
        self.runner.close()
        shutil.rmtree(self.folder)

    async def _end(self) -> None:
        self.memory.go_on()
        await self.engine.stop()
        await self.server.__aexit__(None, None, None)

    # The plain model of a commit.

    def commit_in_model(self, session: ModelSession, *, at_once: bool) -> int | None:
        """How many turns it commits; None if something fails or has to wait."""
        session.cut()
        return self.try_in_model(session, at_once=at_once)

    def try_in_model(self, session: ModelSession, *, at_once: bool) -> int | None:
        turns, blocked = 0, set[str]()
        for segment in list(session.pending):
            if segment.scope in blocked:
                continue
            if segment.waits and not at_once:
                blocked.add(segment.scope)
            elif not segment.begun and not segment.turns:
                session.pending.remove(segment)
            elif self.failing:
                segment.begun = segment.waits = True
                blocked.add(segment.scope)
            else:
                turns += self.keep_in_model(session, segment)
        return None if blocked else turns

    def keep_in_model(self, session: ModelSession, segment: ModelSegment) -> int:
        session.pending.remove(segment)
        self.kept.append((segment.scope, tuple(segment.turns)))
        return len(segment.turns)

    # Rules.

    def pick(self, number: int) -> ModelSession:
        return self.sessions[number % len(self.sessions)]

    @property
    def hangs(self) -> bool:
        return any(session.committing for session in self.sessions)

    @property
    def scope(self) -> str:
        return f"scripted/{self.profile}/{self.engine.owner.id}"

    @rule(number=st.integers(0, 1))
    def complete(self, number: int) -> None:
        session = self.pick(number)
        turn = self.do(self.engine.say(session.id))
        assert turn.state == "completed"
        session.history.append(turn.id)
        session.marks.append((turn.id, self.scope))

    @rule(number=st.integers(0, 1))
    def cancel(self, number: int) -> None:
        session = self.pick(number)
        session.history.append(self.do(self._cancel(session)))

    async def _cancel(self, session: ModelSession) -> TurnId:
        self.server.plan(stall())
        number = len(self.server.requests)
        turn = await self.engine.account.send(session.id, "Never mind.")
        await (await self.server.request(number)).stalled()
        assert await self.engine.account.cancel(session.id)
        return turn.id

    @rule(number=st.integers(0, 1))
    def undo(self, number: int) -> None:
        session = self.pick(number)
        if session.history:
            turn = self.do(self.engine.account.undo(session.id))
            assert turn.id == session.history[-1]
            session.take_back()

    @precondition(lambda self: not self.hangs)
    @rule(number=st.integers(0, 1))
    def commit(self, number: int) -> None:
        session = self.pick(number)
        report = self.do(self.engine.account.commit_memory(session.id))
        expected = self.commit_in_model(session, at_once=True)
        if expected is None:
            assert isinstance(report, Failed)
        else:
            assert report == (Committed(expected) if expected else Nothing())

    @precondition(lambda self: not self.hangs)
    @rule(number=st.integers(0, 1))
    def clear(self, number: int) -> None:
        session = self.pick(number)
        self.do(self._clear(session))
        self.commit_in_model(session, at_once=False)
        session.history.clear()

    async def _clear(self, session: ModelSession) -> None:
        await self.engine.account.clear(session.id)
        await self._at_rest()

    @precondition(lambda self: not self.hangs)
    @rule(number=st.integers(0, 1))
    def delete(self, number: int) -> None:
        session = self.pick(number)
        turns = {turn for segment in self.memory.kept.values() for turn in segment.turns}
        mine = self.do(self._delete(session))
        gone = turns - {turn for segment in self.memory.kept.values() for turn in segment.turns}
        self.kept = [(scope, kept) for scope, kept in self.kept if not gone & set(kept)]
        self.sessions[self.sessions.index(session)] = ModelSession(mine)

    async def _delete(self, session: ModelSession) -> SessionId:
        await self.engine.account.delete(session.id)
        await self._at_rest()
        assert all(each.session != session.id for each in self.memory.kept.values())
        return await self.engine.session()

    @precondition(lambda self: not self.hangs)
    @rule()
    def fail_or_not(self) -> None:
        self.failing = not self.failing
        self.memory.failures.clear()
        if self.failing:
            self.memory.fail(10_000)

    @precondition(lambda self: not self.hangs and not self.failing)
    @rule(number=st.integers(0, 1))
    def hang(self, number: int) -> None:
        """A commit whose first segment the memory keeps waiting."""
        session = self.pick(number)
        tried = [each for each in session.pending if each.turns or each.begun]
        if session.marks or tried:
            self.do(self._hang(session))
            session.cut()
            while not (session.pending[0].begun or session.pending[0].turns):
                session.pending.pop(0)
            session.pending[0].begun = True

    async def _hang(self, session: ModelSession) -> None:
        self.memory.hang()
        commit = self.engine.account.commit_memory(session.id)
        session.committing = asyncio.create_task(commit)
        await self.memory.called(len(self.memory.calls) + 1)

    @precondition(lambda self: self.hangs)
    @rule()
    def go_on(self) -> None:
        session = next(session for session in self.sessions if session.committing)
        assert session.committing is not None
        self.memory.go_on()
        self.do(asyncio.wait_for(session.committing, SECONDS))
        session.committing = None
        self.try_in_model(session, at_once=True)

    @precondition(lambda self: not self.hangs)
    @rule()
    def wait_long(self) -> None:
        self.clock.advance(LONG)
        for session in self.sessions:
            for segment in session.pending:
                segment.waits = False
            self.commit_in_model(session, at_once=False)
        self.do(self._look())

    async def _look(self) -> None:
        await self.engine.parts.memory.look()
        await self._at_rest()

    @precondition(lambda self: self.sessions)
    @rule(profile=st.sampled_from(["one", "two"]))
    def crash(self, profile: str) -> None:
        self.do(self._crash(profile))
        for session in self.sessions:
            session.committing = None
            self.commit_in_model(session, at_once=False)

    async def _crash(self, profile: str) -> None:
        await self.engine.store.close()
        self.profile = profile
        for session in self.sessions:
            if session.committing is not None:
                session.committing.cancel()
        await self.engine.stop()
        self.memory.go_on()
        await self._start()

    @precondition(lambda self: not self.hangs)
    @rule(profile=st.sampled_from(["one", "two"]))
    def restart(self, profile: str) -> None:
        for session in self.sessions:
            self.commit_in_model(session, at_once=True)
        self.do(self._restart(profile))
        for session in self.sessions:
            self.commit_in_model(session, at_once=False)

    async def _restart(self, profile: str) -> None:
        await self.engine.stop()
        self.profile = profile
        await self._start()

    # What is always true.

    @invariant()
    def memory_has_what_the_model_has(self) -> None:
        kept = [(str(each.scope), each.turns) for each in self._kept()]
        assert sorted(kept) == sorted(self.kept)
        for session in self.sessions:
            uncommitted = self.do(self.engine.account.uncommitted(session.id))
            assert uncommitted == bool(session.marks or session.pending)

    def _kept(self) -> list[Segment]:
        return list(self.memory.kept.values()) if self.sessions else []

    @invariant()
    def same_key_means_the_same_turns(self) -> None:
        calls = self.memory.calls if self.sessions else []
        assert len({call.key for call in calls}) == len({(call.key, call.turns) for call in calls})


MemoryMachine.TestCase.settings = settings(
    max_examples=25 if settings.get_current_profile_name() == "usual" else settings().max_examples,
    stateful_step_count=25,
)


@pytest.mark.contract("C1", "C3", "C4", "C5", "C6", "C7", "C10", "C12", "C13")
@pytest.mark.timeout(0)
class TestMemory(MemoryMachine.TestCase):
    pass
