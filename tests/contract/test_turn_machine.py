"""Turns against a plain model of them: sent, streamed, stopped, taken back, crashed, recovered."""

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

from roost.core.errors import Conflict
from roost.core.ids import SessionId, TurnId
from roost.core.messages import plain_text
from roost.core.turns import TurnState
from roost.runtime.turn_run import BROKE_OFF
from roost.testing.clock import FakeClock
from roost.testing.models import ModelRequest, ModelServer, Reply, say, stall
from tests.engine import SECONDS, Engine, eventually, said

T = TypeVar("T")

PIECES = ("One ", "two ", "three.")
LONG_AGO = 3600.0


@dataclass
class ModelTurn:
    words: str
    id: TurnId
    state: TurnState = "queued"
    said: list[str] = field(default_factory=list[str])
    """What stands in the history after the person's words."""
    continued: bool = False


@dataclass
class ModelSession:
    id: SessionId
    turns: list[ModelTurn] = field(default_factory=list[ModelTurn])
    queue: list[ModelTurn] = field(default_factory=list[ModelTurn])
    request: ModelRequest | None = None
    streamed: str = ""
    flushed: str = ""

    @property
    def live(self) -> ModelTurn | None:
        return self.turns[-1] if self.turns and self.turns[-1].state == "running" else None

    @property
    def texts(self) -> list[str]:
        return [text for turn in self.turns for text in (turn.words, *turn.said)]


def in_pieces(request: ModelRequest) -> Reply:
    """An answer that waits after each piece until it is told to go on."""
    first, second, third = PIECES
    return say(first) + stall() + say(second) + stall() + say(third)


class TurnMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FakeClock()
        self.sessions: list[ModelSession] = []
        self.sent = 0
        self.seen = 0

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
        self.server.otherwise(in_pieces)
        self.engine = Engine(self.folder / "data", self.server, clock=self.clock, tools=())
        await self.engine.start()
        for _ in range(2):
            self.sessions.append(ModelSession(await self.engine.session()))

    def teardown(self) -> None:
        if self.sessions:
            self.do(self._end())
        self.runner.close()
        shutil.rmtree(self.folder)

    async def _end(self) -> None:
        await self.engine.stop()
        await self.server.__aexit__(None, None, None)

    # What follows by itself: the first in the queue starts, and its request arrives.

    async def settle(self) -> None:
        for session in self.sessions:
            if session.live is None and session.queue:
                turn = session.queue.pop(0)
                turn.state = "running"
                session.turns.append(turn)
            if session.live is not None and session.request is None:
                await self._expect_request(session)

    async def _expect_request(self, session: ModelSession) -> None:
        """All that stands in the session has reached the model, which has said one piece."""
        known = [each.request for each in self.sessions]
        texts = [text.encode() for text in session.texts]

        async def arrived() -> ModelRequest | None:
            for request in reversed(self.server.requests):
                fresh = request not in known and request.left is None
                if fresh and all(text in request.body for text in texts):
                    return request
            return None

        request = session.request = await eventually(arrived)
        assert request is not None
        await request.stalled()
        session.streamed, session.flushed = PIECES[0], ""
        await self._until_shown(session)

    async def _until_shown(self, session: ModelSession) -> None:
        shown = ""
        async with self.engine.account.watch(session.id) as events:
            while session.streamed not in shown:
                shown += said(await anext(events))

    # Rules.

    def pick(self, number: int) -> ModelSession:
        return self.sessions[number % len(self.sessions)]

    @rule(number=st.integers(0, 1))
    def send(self, number: int) -> None:
        self.do(self._send(self.pick(number)))

    async def _send(self, session: ModelSession) -> None:
        self.sent += 1
        words = f"Question {self.sent} of many."
        turn = await self.engine.account.send(session.id, words)
        session.queue.append(ModelTurn(words, turn.id))
        await self.settle()

    @rule(number=st.integers(0, 1))
    def stream(self, number: int) -> None:
        """The model says the next piece; with the last, the turn completes."""
        if self.pick(number).live is not None:
            self.do(self._stream(self.pick(number)))

    async def _stream(self, session: ModelSession) -> None:
        turn, request = session.live, session.request
        assert turn is not None
        assert request is not None
        request.release()
        if session.streamed == PIECES[0]:
            await request.stalled()
            session.streamed += PIECES[1]
            await self._until_shown(session)
            return
        assert (await self.engine.ended(turn.id)).state == "completed"
        self._over(session, turn, "completed", "".join(PIECES))
        await self.settle()

    def _over(self, session: ModelSession, turn: ModelTurn, state: TurnState, text: str) -> None:
        turn.state = state
        if text:
            turn.said.append(text)
        session.request, session.streamed, session.flushed = None, "", ""

    @rule()
    def tick(self) -> None:
        self.do(self.engine.parts.checkpoints.flush())
        for session in self.sessions:
            session.flushed = session.streamed

    @rule(number=st.integers(0, 1))
    def cancel(self, number: int) -> None:
        session = self.pick(number)
        turn = session.live
        assert self.do(self.engine.account.cancel(session.id)) == (turn is not None)
        if turn is not None:
            self._over(session, turn, "cancelled", session.streamed)
            self.do(self.settle())

    @rule(number=st.integers(0, 1), back=st.integers(0, 2))
    def undo(self, number: int, back: int) -> None:
        session = self.pick(number)
        if back < len(session.turns):
            turn = session.turns[-1 - back]
            self.do(self._take_back(session, turn, None))

    @rule(number=st.integers(0, 1), back=st.integers(0, 2))
    def edit(self, number: int, back: int) -> None:
        session = self.pick(number)
        if back < len(session.turns):
            self.sent += 1
            turn = session.turns[-1 - back]
            self.do(self._take_back(session, turn, f"Question {self.sent} of many, edited."))

    async def _take_back(self, session: ModelSession, turn: ModelTurn, words: str | None) -> None:
        account = self.engine.account
        if session.live is not None:
            with pytest.raises(Conflict):
                await account.history.undo(session.id, turn.id)
            return
        if words is None:
            await account.history.undo(session.id, turn.id)
        else:
            new = await account.history.edit(session.id, turn.id, words)
            session.queue.insert(0, ModelTurn(words, new.id))
        del session.turns[session.turns.index(turn) :]
        await self.settle()

    @rule(number=st.integers(0, 1))
    def proceed(self, number: int) -> None:
        session = self.pick(number)
        if session.turns and session.turns[-1].state in ("cancelled", "interrupted"):
            self.do(self.engine.account.proceed(session.id))
            self._goes_on(session.turns[-1])
            self.do(self.settle())

    def _goes_on(self, turn: ModelTurn) -> None:
        turn.state = "running"
        if turn.said and turn.said[-1] != BROKE_OFF:
            turn.said.append(BROKE_OFF)

    @rule(number=st.integers(0, 1))
    def remove_queued(self, number: int) -> None:
        session = self.pick(number)
        if session.queue:
            self.do(self.engine.account.remove_queued(session.queue.pop().id))

    @precondition(lambda self: self.sessions)
    @rule(long=st.booleans())
    def crash(self, long: bool) -> None:
        """Power fails; after a short time turns go on by themselves, once."""
        self.do(self._crash(long))

    async def _crash(self, long: bool) -> None:
        await self.engine.crash()
        if long:
            self.clock.advance(LONG_AGO)
        live = [session for session in self.sessions if session.live is not None]
        await self.engine.start()
        for session in live:
            turn = session.live
            assert turn is not None
            kept = await self._kept(session, turn)
            assert session.streamed.startswith(kept)
            assert kept.startswith(session.flushed)
            self._over(session, turn, "interrupted", kept)
            if not long and not turn.continued:
                turn.continued = True
                self._goes_on(turn)
        await self.settle()

    async def _kept(self, session: ModelSession, turn: ModelTurn) -> str:
        """What the store has of an answer that was cut short: the message after what stood."""
        await self.engine.reached(turn.id, "interrupted", "running")
        texts = await self.engine.texts(session.id)
        rest = texts[len(session.texts) :]
        return rest[0] if rest and rest[0] != BROKE_OFF else ""

    @rule(seconds=st.sampled_from([1.0, 5.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # What is always true.

    @invariant()
    def history_is_as_expected(self) -> None:
        for session in self.sessions:
            self.do(self._check(session))

    async def _check(self, session: ModelSession) -> None:
        snapshot = await self.engine.account.snapshot(session.id, limit=200)
        assert [plain_text(m.parts) for m in snapshot.messages] == session.texts
        assert [turn.id for turn in snapshot.queue] == [turn.id for turn in session.queue]
        live = session.live
        assert (snapshot.turn.id if snapshot.turn else None) == (live.id if live else None)
        expected = "running" if live else "queued" if session.queue else "idle"
        assert snapshot.session.state == expected
        assert all(request.refused is None for request in self.server.requests)


TurnMachine.TestCase.settings = settings(
    max_examples=25 if settings.get_current_profile_name() == "usual" else settings().max_examples,
    stateful_step_count=25,
)


@pytest.mark.contract("D1", "D3", "D6", "D7", "D8")
@pytest.mark.timeout(0)
class TestTurns(TurnMachine.TestCase):
    pass
