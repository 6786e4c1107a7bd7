"""The store against a plain-Python model of it: whatever is done, in whatever order, they agree."""

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar, get_args

import pytest
from hypothesis import note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from roost.core.approvals import Decision
from roost.core.errors import RoostError
from roost.core.events import Cursor, TextDelta
from roost.core.ids import (
    SessionId,
    Token,
    ToolCallId,
    new_message_id,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
)
from roost.core.messages import Draft, Message, Part, ToolCallPart, ToolResultPart
from roost.core.sessions import NewSession
from roost.core.turns import (
    TOOL_CALL_MOVES,
    CallEnd,
    EndState,
    NewTurn,
    Step,
    ToolCallState,
    TurnEnd,
)
from roost.core.usage import Usage
from roost.store.leases import Lease, session_lease
from roost.store.sessions import SessionPatch
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock
from tests.contract.store_model import ModelMessage, ModelSession, ModelTurn
from tests.postgres import Server
from tests.store_driver import (
    HOLDER,
    OTHER_HOLDER,
    Driver,
    databases,
    deltas,
    draft,
    opened,
    question,
    summary,
    text,
)

T = TypeVar("T")

MOST_SESSIONS = 4
FOREVER = 1e9
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)

picks = st.integers(0, 30)
stale = st.sampled_from([0, 0, 0, 0, 0, 1, 2])
"""How many claims ago the writer's token was current."""
likely = st.sampled_from([True, True, True, True, False])
titles = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
"""Without NUL, which SQLite keeps and PostgreSQL refuses."""
earlier = st.sampled_from([0, 0, 0, 0, 1, 2])
"""How many attempts ago the caller knew the turn."""


def open_calls(turn: ModelTurn) -> dict[ToolCallId, ToolCallState]:
    """How the calls that are still open end with their turn."""
    ends: dict[ToolCallState, ToolCallState] = {
        "requested": "cancelled",
        "waiting": "cancelled",
        "running": "unknown",
    }
    return {call: ends[state] for call, state in turn.calls.items() if state in ends}


def calls_in(message: Message) -> list[ToolCallId]:
    return [part.call for part in message.parts if isinstance(part, ToolCallPart)]


def results_in(message: Message) -> list[ToolCallId]:
    return [part.call for part in message.parts if isinstance(part, ToolResultPart)]


class StoreMachine(RuleBasedStateMachine):
    """Each rule does a thing to the store and to the model; both accept it, or refuse it alike."""

    seed: ClassVar[int | None] = None
    """What its examples are drawn by, if they are not the same on every run."""

    @initialize()
    def open_folder(self) -> None:
        if self.seed:
            note(f"with ROOST_TEST_SEED={self.seed}")
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="roost-machine-"))
        self.clock = FakeClock()
        self.sessions: list[ModelSession] = []
        self.touched: set[SessionId] = set()
        self.leases: list[tuple[ModelSession, Lease]] = []
        self.again: Callable[[], Coroutine[None, None, object]] | None = None
        self.events_read: dict[SessionId, int] = {}
        self.claims = 0
        self.choose_database()
        self.opening = opened(self.folder / "data", self.clock)
        store = self.do(self.opening.__aenter__())
        self.ada = self.do(Driver.of(store, "Ada"))
        self.create()
        self.talk(1)
        self.begin(1)

    def choose_database(self) -> None:
        """A file in the folder, if nothing else is said."""

    def teardown(self) -> None:
        self.touched = {session.id for session in self.sessions}
        try:
            self.touched_sessions_agree()
        finally:
            self.do(self.opening.__aexit__(None, None, None))
            self.runner.close()
            shutil.rmtree(self.folder)

    # How a rule works.

    def do(self, work: Coroutine[None, None, T]) -> T:
        return self.runner.run(work)

    def session(self, pick: int) -> ModelSession:
        """One of them; a deleted one now and then."""
        alive = [session for session in self.sessions if not session.deleted]
        session = self.sessions[0] if pick == 0 or not alive else alive[pick % len(alive)]
        session.now = self.clock.now()
        self.touched.add(session.id)
        self.again = None
        return session

    def turn(self, session: ModelSession, pick: int, *, live: bool) -> ModelTurn | None:
        """The live turn, if asked for and there is one; else any."""
        if live and session.live_turn:
            return session.live_turn
        turns = list(session.turns.values())
        return turns[pick % len(turns)] if turns else None

    def both(self, model: Callable[[], object], store: Coroutine[None, None, object]) -> bool:
        """Do it to both; whether they accept it."""
        refusal: type[RoostError] | None = None
        try:
            model()
        except RoostError as error:
            refusal = type(error)
        if refusal is None:
            self.do(store)
            return True
        with pytest.raises(refusal) as refused:
            self.do(store)
        assert refused.type is refusal
        return False

    # The session itself.

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule()
    def create(self) -> None:
        id = new_session_id()
        self.do(self.ada.sessions.create(NewSession(id=id, origin="web")))
        self.sessions.append(ModelSession(id, self.clock.now()))
        self.touched.add(id)

    @rule(pick=picks, title=titles)
    def rename(self, pick: int, title: str) -> None:
        session = self.session(pick)
        update = self.ada.sessions.update(session.id, SessionPatch(title=title))
        self.both(lambda: session.rename(title), update)

    @rule(pick=picks, title=titles)
    def suggest_title(self, pick: int, title: str) -> None:
        session = self.session(pick)
        suggestion = self.ada.sessions.suggest_title(session.id, title)
        self.both(lambda: session.suggest_title(title), suggestion)

    @rule(pick=picks, old=stale, sure=st.sampled_from([True, False]), instead=st.booleans())
    def end_session(self, pick: int, old: int, sure: bool, instead: bool) -> None:
        """With messages in its queue; and perhaps a turn is edited, and it goes on."""
        self.submit(pick, steer=False)
        session = self.session(pick)
        token = Token(session.token - old)
        if sure:
            end = self.ada.sessions.end(session.id, token)
            self.both(lambda: session.end_session(token), end)
        if instead:
            self.take_back(pick, 0, 0, "edit", calm=True)
        self.claim_waiting(4)

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(pick=picks, sure=st.sampled_from([True, False, False, False]))
    def delete(self, pick: int, sure: bool) -> None:
        session = self.session(pick)
        if sure:
            self.both(session.delete, self.ada.sessions.delete(session.id))

    @precondition(lambda self: len(self.sessions) < MOST_SESSIONS)
    @rule(pick=picks, at=st.none() | picks)
    def branch(self, pick: int, at: int | None) -> None:
        source = self.session(pick)
        if source.deleted:
            return
        cut = source.live[at % len(source.live)] if at is not None and source.live else None
        new = NewSession(id=new_session_id(), origin="web")
        self.do(self.ada.branches.branch(source.id, new, at=cut.id if cut else None))
        end = cut.position if cut else source.head
        self.adopt(new.id, source, end)

    def adopt(self, id: SessionId, source: ModelSession, end: int) -> None:
        """Model a branch: copies under new ids, which are read from the store."""
        copied = [message for message in source.live if message.position <= end]
        made = self.do(self.ada.live(id))
        asked = [call for message in made for call in calls_in(message)]
        open = set(asked) - {
            call for message in made[: len(copied)] for call in results_in(message)
        }
        added = [] if not open else [end + 1]
        assert [message.position for message in made] == [*(m.position for m in copied), *added]
        for message in made[len(copied) :]:
            assert results_in(message) == [call for call in asked if call in open]
        session = ModelSession(id, self.clock.now(), head=end + len(added))
        session.messages = [ModelMessage(each.id, each.position, 1, 0, each.turn) for each in made]
        ids = {old.id: new.id for old, new in zip(copied, made, strict=False)}
        for old, new in zip(copied, made, strict=False):
            if old.turn is None or new.turn is None or new.turn in session.turns:
                continue
            turn = source.turns[old.turn]
            cut = any(each.turn == old.turn and each.position > end for each in source.live)
            session.turns[new.turn] = ModelTurn(
                new.turn,
                state="interrupted" if turn.live or cut else turn.state,
                message=ids.get(turn.message) if turn.message else None,
                start=turn.start,
                branched=True,
                step=turn.step,
                attempt=turn.attempt,
                calls={
                    call: "cancelled" if call in open else state
                    for call, state in turn.calls.items()
                    if call in asked
                },
            )
        self.sessions.append(session)
        self.touched.add(id)

    # Leases and time.

    @rule(pick=picks, holder=st.sampled_from([HOLDER, OTHER_HOLDER]))
    def claim(self, pick: int, holder: str) -> None:
        session = self.session(pick)

        async def claim() -> None:
            lease = await self.ada.store.leases.claim(session_lease(session.id), holder)
            assert (lease.token if lease else None) == tokens[0]
            if lease is not None:
                self.leases.append((session, lease))

        tokens: list[int | None] = []
        self.both(lambda: tokens.append(session.claim(holder)), claim())

    @precondition(lambda self: self.leases)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        session, lease = self.leases[pick % len(self.leases)]
        session.now = self.clock.now()
        self.touched.add(session.id)
        self.again = None
        self.do(self.ada.store.leases.release(lease))
        if (session.lease.token, session.lease.holder) == (lease.token, lease.holder):
            session.release_lease()

    @precondition(lambda self: self.leases)
    @rule(pick=picks)
    def renew(self, pick: int) -> None:
        session, lease = self.leases[pick % len(self.leases)]
        session.now = self.clock.now()
        self.touched.add(session.id)
        self.again = None
        renewed = self.do(self.ada.store.leases.renew(lease))
        assert renewed == session.renew(lease.token, lease.holder)

    @rule(seconds=st.sampled_from([0.2, 5, 15, 30, 31, 65]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.again = None
        for session in self.sessions:
            session.now = self.clock.now()

    @rule(crash=st.booleans())
    def reopen(self, crash: bool) -> None:
        """Close and open, or open the files as a crash leaves them."""
        if crash:
            shutil.copytree(self.folder / "data", self.folder / "copy")
        self.do(self.opening.__aexit__(None, None, None))
        if crash:
            shutil.rmtree(self.folder / "data")
            (self.folder / "copy").rename(self.folder / "data")
        self.opening = opened(self.folder / "data", self.clock)
        self.ada = Driver(self.do(self.opening.__aenter__()), self.ada.user)
        self.again = None
        for session in self.sessions:
            session.void_lease()
            self.touched.add(session.id)

    # What usually happens, in one go: without it most runs would never get far.

    @rule(pick=picks)
    def begin(self, pick: int) -> None:
        session = self.session(pick)
        if not session.queue:
            self.submit(pick, steer=False)
        self.claim(pick, HOLDER)
        self.start(pick, 0, first=True, old=0)

    @rule(pick=picks)
    def talk(self, pick: int) -> None:
        self.begin(pick)
        self.append(pick, 0, live=True, old=0, call=True, unfinished=False, merge=False)
        self.end(pick, 0, True, 0, "completed", answer=True, release=True)

    def calm_down(self, pick: int) -> None:
        """End what is under way, so that the history can be rewritten."""
        if self.session(pick).live_turn:
            self.claim(pick, HOLDER)
            self.end(pick, 0, True, 0, "cancelled", answer=True, release=True)
        self.claim(pick, HOLDER)

    # The queue.

    @rule(pick=picks, steer=st.sampled_from([False, False, True]))
    def submit(self, pick: int, steer: bool) -> None:
        session = self.session(pick)
        new = NewTurn(id=new_turn_id(), parts=text("Hello"), key=new_turn_id(), steer=steer)
        if self.both(
            lambda: session.submit(new.id, steer=steer), self.ada.queue.submit(session.id, new)
        ):
            self.again = lambda: self.ada.queue.submit(session.id, new)

    @rule(pick=picks, which=picks, remove=st.booleans())
    def change_queued(self, pick: int, which: int, remove: bool) -> None:
        session = self.session(pick)
        turn = self.turn(session, which, live=False)
        if turn is None:
            return
        if remove:
            self.both(lambda: session.remove_queued(turn.id), self.ada.queue.remove(turn.id))
        else:
            edit = self.ada.queue.edit(turn.id, text("Edited"))
            self.both(lambda: session.edit_queued(turn.id, "Edited"), edit)

    # Turns.

    @rule(pick=picks, which=picks, first=likely, old=stale)
    def start(self, pick: int, which: int, first: bool, old: int) -> None:
        session = self.session(pick)
        turn = self.turn(session, which, live=False)
        if first and session.queue:
            turn = session.turns[session.queue[0]]
        if turn is None:
            return
        token, message = Token(session.token - old), draft(turn.words, "user")
        if self.both(
            lambda: session.start(token, turn.id, message),
            self.ada.turns.start(session.id, token, turn.id, message),
        ):
            self.again = lambda: self.ada.turns.start(session.id, token, turn.id, message)

    @rule(pick=picks, which=picks, live=likely, old=stale, earlier=earlier)
    def retry_step(self, pick: int, which: int, live: bool, old: int, earlier: int) -> None:
        session = self.session(pick)
        if (turn := self.turn(session, which, live=live)) is None:
            return
        token, after = Token(session.token - old), turn.attempt - earlier
        retry = partial(self.ada.turns.retry_step, session.id, token, turn.id, after=after)
        if self.both(lambda: session.retry_step(token, turn.id, after), retry()):
            self.again = retry

    @rule(pick=picks, which=picks, live=likely, old=stale, earlier=earlier, note=st.booleans())
    def resume(self, pick: int, which: int, live: bool, old: int, earlier: int, note: bool) -> None:
        session = self.session(pick)
        if (turn := self.turn(session, which, live=live)) is None:
            return
        token, after = Token(session.token - old), turn.attempt - earlier
        drafts = (draft("It broke off.", "note"),) if note else ()
        resume = partial(
            self.ada.turns.resume, session.id, token, turn.id, after=after, messages=drafts
        )
        if self.both(lambda: session.resume(token, turn.id, after, drafts), resume()):
            self.again = resume

    @rule(
        pick=picks,
        which=picks,
        live=likely,
        old=stale,
        call=st.booleans(),
        unfinished=st.booleans(),
        merge=likely,
    )
    def append(
        self, pick: int, which: int, live: bool, old: int, call: bool, unfinished: bool, merge: bool
    ) -> None:
        session = self.session(pick)
        if (turn := self.turn(session, which, live=live)) is None:
            return
        parts: tuple[Part, ...] = text("Step")
        if call:
            parts = (*parts, ToolCallPart(new_tool_call_id(), "ls", "{}"))
        drafts = (Draft(new_message_id(), "assistant", parts),)
        steers = [each for each in session.queue if session.turns[each].steer]
        steer = (steers or session.queue)[0] if merge and session.queue else None
        if steer is not None:
            drafts = (*drafts, draft(session.turns[steer].words, "user"))
        step = Step(
            messages=drafts,
            usage=(Usage("p", "m", input_tokens=1, cost=1),),
            steers=(steer,) if steer else (),
            unfinished=unfinished,
        )
        token = Token(session.token - old)
        if self.both(
            lambda: session.append(token, turn.id, drafts, steer, unfinished),
            self.ada.turns.append(session.id, token, turn.id, step),
        ):
            self.again = lambda: self.ada.turns.append(session.id, token, turn.id, step)

    @rule(
        pick=picks,
        which=picks,
        live=likely,
        old=stale,
        call=picks,
        state=st.sampled_from(get_args(ToolCallState)),
        legal=likely,
    )
    def set_tool_call(
        self,
        pick: int,
        which: int,
        live: bool,
        old: int,
        call: int,
        state: ToolCallState,
        legal: bool,
    ) -> None:
        session = self.session(pick)
        turn = self.turn(session, which, live=live)
        if turn is None or not turn.calls:
            return
        id: ToolCallId = list(turn.calls)[call % len(turn.calls)]
        if legal and (moves := sorted(TOOL_CALL_MOVES[turn.calls[id]])):
            state = moves[call % len(moves)]
        token = Token(session.token - old)
        self.both(
            lambda: session.set_tool_call(token, turn.id, id, state),
            self.ada.turns.set_tool_call(session.id, token, turn.id, id, state),
        )

    @rule(
        pick=picks,
        which=picks,
        live=likely,
        old=stale,
        call=picks,
        ask=likely,
        ttl=st.sampled_from([20, 3600]),
    )
    def park(
        self, pick: int, which: int, live: bool, old: int, call: int, ask: bool, ttl: int
    ) -> None:
        if ask:
            self.append(pick, which, live, old, call=True, unfinished=True, merge=False)
        session = self.session(pick)
        turn = self.turn(session, which, live=live)
        if turn is None or not turn.calls:
            return
        asked = (question(list(turn.calls)[-1 if ask else call % len(turn.calls)]),)
        token, until = Token(session.token - old), self.clock.now() + ttl * 1000
        park = partial(self.ada.turns.park, session.id, token, turn.id, asked, ttl=ttl)
        if self.both(lambda: session.park(token, turn.id, asked, until), park()):
            self.again = park

    @rule(pick=picks, which=picks, live=likely, decision=st.sampled_from(get_args(Decision)))
    def answer(self, pick: int, which: int, live: bool, decision: Decision) -> None:
        session = self.session(pick)
        turn = self.turn(session, which, live=live)
        if turn is None or not turn.questions:
            return
        asked = list(turn.questions)[which % len(turn.questions)]
        answer = partial(
            self.ada.approvals.answer, asked, decision, answer=None, by="Ada", on="web"
        )
        if self.both(lambda: session.answer(turn.id, asked, decision), answer()):
            self.again = answer

    @rule()
    def expire_questions(self) -> None:
        self.again = None
        for session in self.sessions:
            session.now = self.clock.now()
        due = {session.id for session in self.sessions if session.expire_questions()}
        assert set(self.do(self.ada.store.work.expire_approvals())) == due
        self.touched |= due

    @rule(pick=picks, expire=st.booleans(), note=st.booleans())
    def ask_and_go_on(self, pick: int, expire: bool, note: bool) -> None:
        """What usually becomes of a question."""
        self.begin(pick)
        self.park(pick, 0, True, 0, 0, True, 20)
        if expire:
            self.advance(31)
            self.expire_questions()
        else:
            self.answer(pick, 0, True, "approved")
        self.claim_waiting(4)
        self.resume(pick, 0, True, 0, 0, note)

    @rule(limit=st.integers(1, 4))
    def claim_waiting(self, limit: int) -> None:
        """Every session that can be worked on, up to a number; the model tells which can."""
        for session in self.sessions:
            session.now = self.clock.now()
        workable = {session.id: session.work for session in self.sessions if session.work}
        self.claims += 1
        holder = f"host:1:claim:{self.claims}"
        claim = partial(self.ada.store.work.claim_waiting, holder, limit=limit)
        claimed = self.do(claim())
        assert len(claimed) == min(limit, len(workable))
        for each in claimed:
            (session,) = [one for one in self.sessions if one.id == each.session.id]
            turn = workable[session.id]
            assert turn is not None
            assert (each.turn.id, each.turn.state) == (turn.id, turn.state)
            assert session.claim(holder) == each.lease.token == each.session.token
            self.leases.append((session, each.lease))
        if len(claimed) == len(workable):
            self.again = claim
            assert self.do(claim()) == claimed
        self.touched |= {each.session.id for each in claimed}

    @rule(
        pick=picks,
        which=picks,
        live=likely,
        old=stale,
        state=st.sampled_from(get_args(EndState)),
        answer=st.booleans(),
        release=likely,
        settle=likely,
        told=st.booleans(),
    )
    def end(
        self,
        pick: int,
        which: int,
        live: bool,
        old: int,
        state: EndState,
        answer: bool,
        release: bool,
        settle: bool = True,
        told: bool = True,
    ) -> None:
        session = self.session(pick)
        if (turn := self.turn(session, which, live=live)) is None:
            return
        token = Token(session.token - old)
        drafts = (draft("Answer"),) if answer else ()
        if answer and turn.start is None and settle:
            drafts = (draft(turn.words, "user"),)
        if answer and told:
            drafts = (*drafts, draft("It is over.", "note"))
        calls = open_calls(turn) if settle else {}
        end = TurnEnd(
            state=state,
            messages=drafts,
            calls=tuple(CallEnd(call, ended) for call, ended in calls.items()),
            release=release,
        )
        if self.both(
            lambda: session.end(token, turn.id, state, drafts, calls, release),
            self.ada.turns.end(session.id, token, turn.id, end),
        ):
            self.again = lambda: self.ada.turns.end(session.id, token, turn.id, end)

    @rule(
        which=picks,
        old=stale,
        earlier=st.sampled_from([0, 0, 1]),
        gap=st.sampled_from([0, 0, 1, -1]),
        words=st.text("abc", min_size=1, max_size=3),
    )
    def tick(self, which: int, old: int, earlier: int, gap: int, words: str) -> None:
        """A good one, and then perhaps one that comes too late or does not join on."""
        self.checkpoint(which, 0, 0, 0, words)
        self.checkpoint(which, old, earlier, gap, words)

    def checkpoint(self, which: int, old: int, earlier: int, gap: int, words: str) -> None:
        """One checkpoint of every session, and every lease that was ever held."""
        checkpoints: list[Checkpoint] = []
        stored: dict[str, int] = {}
        for session in self.sessions:
            session.now = self.clock.now()
            self.touched.add(session.id)
            if (turn := self.turn(session, which, live=True)) is None:
                continue
            token, attempt = Token(session.token - old), turn.attempt - earlier
            run = deltas(words, first=len(turn.streamed or "") + 1 + gap)
            checkpoints.append(Checkpoint(turn.id, attempt, token, run))
            if seq := session.checkpoint(token, turn.id, attempt, run.first_seq, words):
                stored[turn.id] = seq
        held = [lease for _, lease in self.leases]
        tick = self.do(self.ada.store.work.tick(checkpoints, held))
        self.again = lambda: self.ada.store.work.tick(checkpoints, held)
        kept = [session.tick_lease(lease.token) for session, lease in self.leases]
        lost = {lease.name for (_, lease), ok in zip(self.leases, kept, strict=True) if not ok}
        # A turn without an open stream is left out; one with nothing stored yet says 0.
        assert {turn: seq for turn, seq in tick.stored.items() if seq} == stored
        assert tick.lost == lost

    # Rewrites.

    @rule(pick=picks, which=picks, old=stale, kind=st.sampled_from(["undo", "edit"]), calm=likely)
    def take_back(self, pick: int, which: int, old: int, kind: str, calm: bool) -> None:
        if calm:
            self.calm_down(pick)
        session = self.session(pick)
        if (turn := self.turn(session, which, live=False)) is None:
            return
        token = Token(session.token - old)
        if kind == "undo":
            store = self.ada.history.undo(session.id, token, turn.id)
            self.both(lambda: session.undo(token, turn.id), store)
            return
        new = NewTurn(id=new_turn_id(), parts=text("Instead"))
        if self.both(
            lambda: session.edit(token, turn.id, new.id, "Instead"),
            self.ada.history.edit(session.id, token, turn.id, new),
        ):
            self.again = lambda: self.ada.history.edit(session.id, token, turn.id, new)

    @rule(pick=picks, old=stale, sure=st.sampled_from([True, False, False]), calm=likely)
    def clear(self, pick: int, old: int, sure: bool, calm: bool) -> None:
        if calm:
            self.calm_down(pick)
        session = self.session(pick)
        token = Token(session.token - old)
        if sure:
            self.both(lambda: session.clear(token), self.ada.history.clear(session.id, token))

    @rule(pick=picks, old=stale, calm=likely)
    def note(self, pick: int, old: int, calm: bool) -> None:
        if calm:
            self.calm_down(pick)
        session = self.session(pick)
        token, note = Token(session.token - old), draft("The workspace is gone.", "note")
        if self.both(
            lambda: session.note(token, note), self.ada.history.note(session.id, token, note)
        ):
            self.again = lambda: self.ada.history.note(session.id, token, note)

    @rule(
        pick=picks,
        old=stale,
        begin=picks,
        length=st.integers(1, 5),
        late=st.sampled_from([0, 0, 1]),
    )
    def compact(self, pick: int, old: int, begin: int, length: int, late: int) -> None:
        session = self.session(pick)
        if not session.live:
            return
        begin %= len(session.live)
        replaced = tuple(message.id for message in session.live[begin : begin + length])
        compaction = summary(session.epoch - late, replaced)
        token, note = Token(session.token - old), compaction.replacements[0].message
        self.both(
            lambda: session.compact(token, compaction.epoch, set(replaced), note),
            self.ada.history.compact(session.id, token, compaction),
        )

    @rule(pick=picks, old=stale, calm=likely)
    def restore(self, pick: int, old: int, calm: bool) -> None:
        if calm:
            self.calm_down(pick)
        session = self.session(pick)
        token = Token(session.token - old)
        self.both(lambda: session.restore(token), self.ada.history.restore(session.id, token))

    @rule(pick=picks, which=picks, begin=picks, kind=st.sampled_from(["undo", "clear", "compact"]))
    def rewrite_and_restore(self, pick: int, which: int, begin: int, kind: str) -> None:
        self.calm_down(pick)
        match kind:
            case "undo":
                self.take_back(pick, which, 0, "undo", calm=False)
            case "clear":
                self.clear(pick, 0, sure=True, calm=False)
            case _:
                self.compact(pick, 0, begin, 3, 0)
        self.restore(pick, 0, calm=False)

    @rule(pick=picks, compact=st.booleans(), restore=st.booleans())
    def stop_short_and_clear(self, pick: int, compact: bool, restore: bool) -> None:
        """What was cleared away does not go on, whatever is said after it."""
        self.calm_down(pick)
        self.begin(pick)
        self.end(pick, 0, True, 0, "interrupted", answer=True, release=False)
        if compact:
            self.compact(pick, 0, 0, 30, 0)
        self.clear(pick, 0, sure=True, calm=False)
        if restore:
            self.restore(pick, 0, calm=False)
        self.note(pick, 0, calm=False)
        session = self.session(pick)
        if session.newest:
            which = list(session.turns).index(session.newest.id)
            self.resume(pick, which, False, 0, 0, note=False)

    @precondition(lambda self: self.again is not None)
    @rule()
    def repeat(self) -> None:
        """An answer got lost, so the caller asks again, at once: nothing more happens. Who claims
        or renews after a while, or when more is to be done by then, gets that."""
        assert self.again is not None
        self.do(self.again())
        self.touched = {session.id for session in self.sessions}

    # Agreement.

    @invariant()
    def touched_sessions_agree(self) -> None:
        self.do(self.compare_list())
        for session in self.sessions:
            if session.id in self.touched:
                self.do(self.compare(session))
        self.touched.clear()

    async def compare_list(self) -> None:
        listed = {session.id: session for session in await self.ada.sessions.page()}
        for session in self.sessions:
            session.now = self.clock.now()
            if session.deleted:
                assert session.id not in listed
                continue
            found = listed.pop(session.id)
            assert (found.state, found.queued) == (session.state, len(session.queue))
            assert (found.revision, found.epoch) == (session.revision, session.epoch)
            assert (found.token, found.head) == (session.token, session.head)
            assert (found.title, found.active_at) == (session.title, session.active_at)
            assert found.answered == session.answered
            assert (found.ended_at is not None) == session.ended
            counters = found.counters
            assert (counters.messages, counters.turns) == (len(session.live), session.counted_turns)
            assert (counters.input_tokens, counters.cost) == (session.tokens_used,) * 2
        assert listed == {}
        going_on = {each.turn for each in await self.ada.store.work.continuable(FOREVER)}
        assert going_on == {each.continuable for each in self.sessions} - {None}

    async def compare(self, session: ModelSession) -> None:
        holder = await self.ada.store.leases.holder(session_lease(session.id))
        assert (holder.holder if holder else None) == session.holder
        for turn in session.turns.values():
            await self.compare_deltas(session, turn)
        if session.deleted:
            assert await self.ada.turns.of(session.id) == []
            return
        live = await self.ada.live(session.id)
        assert [(m.id, m.position, m.born, m.turn) for m in live] == [
            (m.id, m.position, m.born, m.turn) for m in session.live
        ]
        assert [turn.id for turn in await self.ada.queue.of(session.id)] == session.queue
        turns = {turn.id: turn for turn in await self.ada.turns.of(session.id)}
        assert turns.keys() == session.turns.keys()
        for turn in session.turns.values():
            found = turns[turn.id]
            assert (found.state, found.message) == (turn.state, turn.message)
            assert (found.step, found.attempt, found.undone) == (
                turn.step,
                turn.attempt,
                turn.undone,
            )
            calls = await self.ada.turns.tool_calls(turn.id)
            assert {call.call: call.state for call in calls} == turn.calls
            asked = {each.id: each.state for each in await self.ada.approvals.of(turn.id)}
            assert asked == {id: each.state for id, each in turn.questions.items()}
        latest = await self.ada.turns.latest(session.id)
        assert (latest and latest.id) == (session.latest and session.latest.id)
        await self.compare_snapshot(session)
        epochs = await self.ada.history.epochs(session.id)
        assert [(epoch.kind, epoch.revision) for epoch in epochs] == session.epochs
        await self.compare_events(session)

    async def compare_snapshot(self, session: ModelSession) -> None:
        """It shows what can be read piece by piece."""
        shown = await self.ada.history.snapshot(session.id, limit=200)
        live = session.live_turn
        assert shown.session == await self.ada.sessions.get(session.id)
        assert shown.messages == tuple(await self.ada.live(session.id))
        assert [turn.id for turn in shown.queue] == session.queue
        assert (shown.turn.id if shown.turn else None) == (live.id if live else None)
        assert {each.call: each.state for each in shown.calls} == (live.calls if live else {})
        pending = {
            id
            for turn in session.turns.values()
            for id, each in turn.questions.items()
            if each.state == "pending"
        }
        assert {each.id for each in shown.approvals} == pending
        place = (session.epoch, session.revision)
        if live and live.streamed is not None:
            assert shown.cursor == Cursor(*place, live.id, live.attempt, len(live.streamed))
        else:
            assert shown.cursor == Cursor(*place)

    async def compare_deltas(self, session: ModelSession, turn: ModelTurn) -> None:
        runs = await self.ada.turns.deltas(turn.id)
        streamed = "" if session.deleted else turn.streamed or ""
        found = [each.text for run in runs for each in run.deltas if isinstance(each, TextDelta)]
        assert "".join(found) == streamed
        seqs = [seq for run in runs for seq in range(run.first_seq, run.last_seq + 1)]
        assert seqs == list(range(1, len(streamed) + 1))

    async def compare_events(self, session: ModelSession) -> None:
        """Every revision since the last look has its events, each once, in order."""
        read = self.events_read.get(session.id, 0)
        changes = await self.ada.history.since(session.id, read)
        assert changes.complete
        revisions = [record.revision for record in changes.recorded]
        assert revisions == list(range(read + 1, session.revision + 1))
        self.events_read[session.id] = session.revision


class PostgresMachine(StoreMachine):
    """The same in a database, which others use too: whoever opens it leaves their leases alone."""

    server: ClassVar[Server]

    def choose_database(self) -> None:
        databases[self.folder / "data"] = self.do(self.server.database())

    @rule(crash=st.just(False))
    def reopen(self, crash: bool) -> None:
        self.do(self.opening.__aexit__(None, None, None))
        self.opening = opened(self.folder / "data", self.clock)
        self.ada = Driver(self.do(self.opening.__aenter__()), self.ada.user)
        self.again = None
        self.touched |= {session.id for session in self.sessions}

    def teardown(self) -> None:
        url = databases[self.folder / "data"]
        with asyncio.Runner() as after:
            try:
                super().teardown()
            finally:
                del databases[self.folder / "data"]
                after.run(self.server.give_back(url))


@pytest.fixture(scope="module")
def _postgres_machine(postgres_server: Server) -> None:
    PostgresMachine.server = postgres_server


@seed(SEED)
class ChanceMachine(StoreMachine):
    """A few new examples on every run: what the same ones never meet is met in time."""

    seed = SEED


@seed(SEED)
class PostgresChanceMachine(PostgresMachine):
    seed = SEED


def examples(few: int) -> settings:
    usual = settings.get_current_profile_name() == "usual"
    return settings(max_examples=few if usual else settings().max_examples)


StoreMachine.TestCase.settings = examples(30)
PostgresMachine.TestCase.settings = examples(10)
ChanceMachine.TestCase.settings = settings(max_examples=10)
PostgresChanceMachine.TestCase.settings = settings(max_examples=5)

unhurried = pytest.mark.timeout(0)
on_postgres = pytest.mark.usefixtures("_postgres_machine")
TestStoreAgreesWithItsModel = unhurried(StoreMachine.TestCase)
TestStoreAgreesByChance = unhurried(ChanceMachine.TestCase)
TestPostgresAgreesWithItsModel = on_postgres(unhurried(PostgresMachine.TestCase))
TestPostgresAgreesByChance = on_postgres(unhurried(PostgresChanceMachine.TestCase))
