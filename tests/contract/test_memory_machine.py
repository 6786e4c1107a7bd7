"""Memory commits against a plain model of them: completed, taken back, failed, hung, crashed."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from roost.core.ids import SessionId, TurnId
from roost.memory.base import Segment
from roost.runtime.segments import Committed, Failed, Nothing, Report
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, say, stall
from tests.engine import SECONDS, Engine, eventually
from tests.memories import ScriptedMemory, remembering

T = TypeVar("T")

PROFILES = ("one", "two")
Way = Literal[
    "cancel", "undo", "commit", "clear", "new chat", "delete", "hang", "wait", "crash", "restart"
]
WAYS: tuple[Way, ...] = get_args(Way)
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
            elif self._refuses(segment.scope):
                segment.begun = segment.waits = True
                blocked.add(segment.scope)
            else:
                turns += self.keep_in_model(session, segment)
        return None if blocked else turns

    def _refuses(self, scope: str) -> bool:
        return scope.split("/")[1] in self.memory.refuses

    def keep_in_model(self, session: ModelSession, segment: ModelSegment) -> int:
        session.pending.remove(segment)
        self.kept.append((segment.scope, tuple(segment.turns)))
        return len(segment.turns)

    # What can happen. Every step first says something: hypothesis leaves rules out of an example,
    # and without turns there would be nothing to commit in it.

    @property
    def hanging(self) -> ModelSession | None:
        return next((session for session in self.sessions if session.committing), None)

    @property
    def scope(self) -> str:
        return f"scripted/{self.profile}/{self.engine.owner.id}"

    @rule(
        number=st.integers(0, 1),
        turns=st.integers(0, 2),
        refuses=st.sets(st.sampled_from(PROFILES)),
        profile=st.sampled_from(PROFILES),
        how=st.sampled_from(WAYS),
    )
    def go_on_with(
        self, number: int, turns: int, refuses: set[str], profile: str, how: Way
    ) -> None:
        session = self.sessions[number]
        for _ in range(turns):
            self.complete(session)
        if self.hanging is not None and how not in ("cancel", "undo", "crash"):
            self.end_hanging(self.hanging)
        if self.hanging is None:
            self.memory.refuses = refuses
        match how:
            case "cancel":
                session.history.append(self.do(self._cancel(session)))
            case "undo":
                self.undo(session)
            case "commit":
                self.commit(session)
            case "clear" | "new chat":
                self.reach_a_boundary(session, how)
            case "delete":
                self.delete(session)
            case "hang":
                self.hang(session)
            case "wait":
                self.wait_long()
            case "crash" | "restart":
                self.start_anew(profile, how)

    def complete(self, session: ModelSession) -> None:
        turn = self.do(self.engine.say(session.id))
        assert turn.state == "completed"
        session.history.append(turn.id)
        session.marks.append((turn.id, self.scope))

    async def _cancel(self, session: ModelSession) -> TurnId:
        self.server.plan(stall())
        number = len(self.server.requests)
        turn = await self.engine.account.send(session.id, "Never mind.")
        await (await self.server.request(number)).stalled()
        assert await self.engine.account.cancel(session.id)
        return turn.id

    def undo(self, session: ModelSession) -> None:
        if session.history:
            turn = self.do(self.engine.account.history.undo(session.id))
            assert turn.id == session.history[-1]
            session.take_back()

    def commit(self, session: ModelSession) -> None:
        report = self.do(self.engine.account.memory.commit(session.id))
        expected = self.commit_in_model(session, at_once=True)
        if expected is None:
            assert isinstance(report, Failed)
        else:
            assert report == (Committed(expected) if expected else Nothing())

    def reach_a_boundary(self, session: ModelSession, how: Way) -> None:
        self.do(self._reach_a_boundary(session, how))
        self.commit_in_model(session, at_once=False)
        if how == "clear":
            session.history.clear()

    async def _reach_a_boundary(self, session: ModelSession, how: Way) -> None:
        if how == "clear":
            await self.engine.account.history.clear(session.id)
        else:
            await self.engine.account.create(origin="web", previous=session.id)
        await self._at_rest()

    def delete(self, session: ModelSession) -> None:
        before = set(self.memory.turns)
        new = self.do(self._delete(session))
        gone = before - set(self.memory.turns)
        self.kept = [(scope, turns) for scope, turns in self.kept if not gone & set(turns)]
        self.sessions[self.sessions.index(session)] = ModelSession(new)

    async def _delete(self, session: ModelSession) -> SessionId:
        await self.engine.account.delete(session.id)
        await self._at_rest()
        assert all(each.session != session.id for each in self.memory.kept.values())
        return await self.engine.session()

    def hang(self, session: ModelSession) -> None:
        """A commit whose first segment the memory keeps waiting."""
        tried = [each for each in session.pending if each.turns or each.begun]
        if session.marks or tried:
            self.do(self._hang(session))
            session.cut()
            while not (session.pending[0].begun or session.pending[0].turns):
                session.pending.pop(0)
            session.pending[0].begun = True

    async def _hang(self, session: ModelSession) -> None:
        self.memory.hang()
        commit = self.engine.account.memory.commit(session.id)
        session.committing = asyncio.create_task(commit)
        await self.memory.called(len(self.memory.calls) + 1)

    def end_hanging(self, session: ModelSession) -> None:
        assert session.committing is not None
        self.memory.go_on()
        self.do(asyncio.wait_for(session.committing, SECONDS))
        session.committing = None
        self.try_in_model(session, at_once=True)

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

    def start_anew(self, profile: str, how: Way) -> None:
        """Perhaps with another scope from now on."""
        if how == "crash":
            self.do(self._crash())
        else:
            for session in self.sessions:
                self.commit_in_model(session, at_once=False)
            self.do(self.engine.stop())
        self.profile = profile
        self.do(self._start())
        for session in self.sessions:
            session.committing = None
            self.commit_in_model(session, at_once=False)

    async def _crash(self) -> None:
        await self.engine.store.close()
        if self.hanging is not None and self.hanging.committing is not None:
            self.hanging.committing.cancel()
        await self.engine.stop()
        self.memory.go_on()

    # What is always true.

    @invariant()
    def memory_has_what_the_model_has(self) -> None:
        kept = [(str(each.scope), each.turns) for each in self._kept()]
        assert sorted(kept) == sorted(self.kept)
        for session in self.sessions:
            uncommitted = self.do(self.engine.account.memory.uncommitted(session.id))
            waiting = [each for each in session.pending if each.begun or each.turns]
            assert uncommitted == bool(session.marks or waiting)

    def _kept(self) -> list[Segment]:
        return list(self.memory.kept.values()) if self.sessions else []

    @invariant()
    def same_key_means_the_same_turns(self) -> None:
        calls = self.memory.calls if self.sessions else []
        assert len({call.key for call in calls}) == len({(call.key, call.turns) for call in calls})


MemoryMachine.TestCase.settings = settings(
    max_examples=40 if settings.get_current_profile_name() == "usual" else settings().max_examples,
    stateful_step_count=25,
)


@pytest.mark.contract("C1", "C3", "C4", "C5", "C6", "C7", "C10", "C12", "C13")
@pytest.mark.timeout(0)
class TestMemory(MemoryMachine.TestCase):
    pass
