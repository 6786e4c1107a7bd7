"""From completed turns to long-term memory: what is committed, when, in which order, how often."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from roost.core.errors import MemoryWaits
from roost.core.ids import SessionId, new_session_id, new_turn_id, new_user_id
from roost.core.messages import TextPart, plain_text
from roost.core.turns import NewTurn
from roost.core.users import User
from roost.memory.base import Segment
from roost.runtime import memory_commits
from roost.runtime.segments import MOST_FAILURES, Committed, Failed, Nothing
from roost.store.leases import session_lease
from roost.store.memory import GivenUp
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, fail, say, stall
from tests.engine import Engine, eventually, started
from tests.memories import ScriptedMemory, remembering

pytestmark = pytest.mark.both

HOUR = 3600.0


@pytest.fixture
def memory() -> ScriptedMemory:
    return ScriptedMemory()


@pytest.fixture
async def engine(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> AsyncGenerator[Engine]:
    async with started(remembering(folder, server, clock, {"scripted": memory})) as engine:
        yield engine


async def committed(engine: Engine, session: SessionId) -> None:
    """Wait until nothing is uncommitted."""
    await eventually(lambda: _is_committed(engine, session))


async def _is_committed(engine: Engine, session: SessionId) -> bool:
    return not await engine.account.memory.uncommitted(session)


async def _has_left(server: ModelServer, answers: int) -> bool:
    """A turn that is stopped before it asks leaves its answer to the next."""
    return server.unplayed == answers


# What is committed.


@pytest.mark.contract("C1")
async def test_only_completed_turns_are_committed(
    engine: Engine, memory: ScriptedMemory, server: ModelServer, clock: FakeClock
) -> None:
    session = await engine.session()
    first = await engine.say(session, "One")
    server.plan(fail(401), stall(), stall())
    assert (await engine.say(session, "Two")).state == "failed"
    cancelled = await engine.account.send(session, "Three")
    await eventually(lambda: _has_left(server, 1))
    assert await engine.account.cancel(session, cancelled.id)
    interrupted = await engine.account.send(session, "Four")
    await eventually(lambda: _has_left(server, 0))
    await engine.crash()
    clock.advance(HOUR)
    await engine.start()
    assert (await engine.reached(interrupted.id, "interrupted")).state == "interrupted"
    passing = NewTurn(id=new_turn_id(), parts=(TextPart("Five"),), ephemeral=True)
    await engine.parts.turns.submit(engine.owner.id, session, passing)
    assert (await engine.ended(passing.id)).state == "completed"
    undone = await engine.say(session, "Six")
    await engine.account.history.undo(session, undone.id)
    last = await engine.say(session, "Seven")
    await engine.account.end(session)
    await committed(engine, session)
    assert memory.turns == [first.id, last.id]


@pytest.mark.contract("C1")
async def test_segment_has_the_words_of_its_turns_and_no_others(
    engine: Engine, memory: ScriptedMemory, server: ModelServer
) -> None:
    session = await engine.session()
    server.plan(say("Noted."), fail(401))
    await engine.say(session, "Herons like trout.")
    await engine.say(session, "This one fails.")
    assert await engine.account.memory.commit(session) == Committed(1)
    [segment] = memory.calls
    said = [plain_text(message.parts) for message in segment.messages]
    assert said == ["Herons like trout.", "Noted."]
    assert str(segment.scope) == f"scripted/default/{engine.owner.id}"


# When.

Boundary = Callable[[Engine, SessionId], Awaitable[object]]


async def _new_chat(engine: Engine, session: SessionId) -> None:
    await engine.account.create(origin="web", previous=session)


async def _reset(engine: Engine, session: SessionId) -> None:
    await engine.account.point("telegram:dm:1", session)
    await engine.account.reset("telegram:dm:1", origin="telegram")


async def _evict(engine: Engine, session: SessionId) -> None:
    await engine.say(await engine.session(), "Another session needs the place.")


async def _wait(engine: Engine, session: SessionId) -> None:
    clock = engine.clock
    assert isinstance(clock, FakeClock)
    clock.advance(HOUR / 2 - 1)
    await engine.parts.memory.look()
    assert await engine.account.memory.uncommitted(session)
    clock.advance(2)
    await engine.parts.memory.look()


BOUNDARIES: dict[str, Boundary] = {
    "a new chat": _new_chat,
    "reset": _reset,
    "clear": lambda engine, session: engine.account.history.clear(session),
    "end": lambda engine, session: engine.account.end(session),
    "eviction": _evict,
    "idle": _wait,
    "shutdown": lambda engine, session: engine.stop(),
}


@pytest.mark.contract("C2")
@pytest.mark.parametrize("name", BOUNDARIES)
async def test_turns_go_out_together_at_a_boundary_and_not_before(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory, name: str
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory}, agents=1)
    async with started(engine):
        session = await engine.session()
        turns = [await engine.say(session, words) for words in ("One", "Two", "Three")]
        await engine.parts.memory.look()
        assert memory.calls == []
        assert await engine.account.memory.uncommitted(session)
        await BOUNDARIES[name](engine, session)
        [segment] = await memory.called(1)
        assert segment.turns == tuple([turn.id for turn in turns])


@pytest.mark.contract("C2")
async def test_retry_takes_no_newer_turns_along(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session = await engine.session()
    first = await engine.say(session)
    memory.fail(1)
    assert isinstance(await engine.account.memory.commit(session), Failed)
    second = await engine.say(session)
    clock.advance(10)
    await engine.parts.memory.look()
    await eventually(lambda: _has(memory, 1))
    assert memory.turns == [first.id]
    assert await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    assert memory.turns == [first.id, second.id]


async def _has(memory: ScriptedMemory, segments: int) -> bool:
    return len(memory.kept) >= segments


@pytest.mark.contract("C3", "C13")
async def test_commit_with_nothing_new_asks_nobody(engine: Engine, memory: ScriptedMemory) -> None:
    session = await engine.session()
    assert not await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Nothing()
    await engine.say(session)
    assert await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    assert not await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Nothing()
    assert len(memory.calls) == 1


@pytest.mark.contract("C4")
async def test_turn_that_completes_during_a_commit_stays_uncommitted(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session = await engine.session()
    first = await engine.say(session)
    memory.hang()
    commit = asyncio.create_task(engine.account.memory.commit(session))
    await memory.called(1)
    second = await engine.say(session)
    memory.go_on()
    assert await commit == Committed(1)
    assert memory.turns == [first.id]
    assert await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    assert memory.turns == [first.id, second.id]


@pytest.mark.contract("C5")
async def test_commit_that_waits_gets_what_the_first_left(
    engine: Engine, memory: ScriptedMemory
) -> None:
    """The memory itself fails the test if two commits of a session overlap."""
    session = await engine.session()
    await engine.say(session)
    memory.hang()
    commits = [asyncio.create_task(engine.account.memory.commit(session)) for _ in range(4)]
    await memory.called(1)
    await engine.say(session)
    await engine.say(session)
    memory.go_on()
    reports = await asyncio.gather(*commits)
    assert sorted(reports, key=str) == [Committed(1), Committed(2), Nothing(), Nothing()]


@pytest.mark.contract("C5")
async def test_sessions_do_not_wait_for_one_another(engine: Engine, memory: ScriptedMemory) -> None:
    sessions = [await engine.session() for _ in range(3)]
    for session in sessions:
        await engine.say(session)
    memory.hang()
    commits = [asyncio.create_task(engine.account.memory.commit(each)) for each in sessions]
    await memory.called(3)
    memory.go_on()
    assert await asyncio.gather(*commits) == [Committed(1)] * 3


async def test_boundaries_that_memory_is_too_slow_for_wait_in_the_store(
    engine: Engine,
    memory: ScriptedMemory,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_commits, "MOST", 2)
    sessions = [await engine.session() for _ in range(4)]
    for session in sessions:
        await engine.say(session)
    memory.hang()
    for session in sessions:
        await engine.account.end(session)
    assert len(engine.parts.memory) == 2
    memory.go_on()
    await eventually(lambda: _at_rest(engine))
    assert {segment.session for segment in memory.calls} == {*sessions[:2]}
    clock.advance(HOUR)
    await engine.parts.memory.look()
    for session in sessions:
        await committed(engine, session)


# Failing.


@pytest.mark.contract("C6", "C13")
async def test_failed_commit_is_retried_unchanged_with_growing_delays(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session, account = await engine.session(), engine.account
    first = await engine.say(session)
    memory.fail(3)
    report = await account.memory.commit(session)
    assert isinstance(report, Failed)
    assert "the disk is full" in report.reason
    second = await engine.say(session)
    await account.end(session)
    await eventually(lambda: _are_pending(engine, session, 2))
    delays: list[int] = []
    for tries in (2, 3, 4):
        status = await account.memory.status()
        assert (status.pending, status.failing) == (2, 1)
        assert status.error is not None
        assert "the disk is full" in status.error
        due = await _due(engine, session)
        delays.append(due - clock.now())
        clock.advance((due - clock.now()) / 1000 - 0.001)
        await engine.parts.memory.look()
        assert len(memory.calls) == tries - 1
        clock.advance(0.001)
        await engine.parts.memory.look()
        await memory.called(tries)
        await eventually(lambda due=due: _moved_on(engine, session, due))
    await committed(engine, session)
    assert delays == sorted(delays)
    assert delays[2] > delays[0] * 2
    keys = {segment.key for segment in memory.calls[:4]}
    assert len(keys) == 1
    assert [segment.turns for segment in memory.calls] == [(first.id,)] * 4 + [(second.id,)]


async def _are_pending(engine: Engine, session: SessionId, count: int) -> bool:
    return len(await engine.store.memory.pending(engine.owner.id, session)) == count


async def _due(engine: Engine, session: SessionId) -> int:
    pending = await engine.store.memory.pending(engine.owner.id, session)
    return pending[0].due_at


async def _moved_on(engine: Engine, session: SessionId, due: int) -> bool:
    pending = await engine.store.memory.pending(engine.owner.id, session)
    return not pending or pending[0].due_at > due


@pytest.mark.contract("C6")
async def test_segment_that_fails_for_days_rests_until_a_person_asks(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session, account, commits = await engine.session(), engine.account, engine.parts.memory
    await engine.say(session)
    memory.fail(MOST_FAILURES + 1, "this can't be read")
    began = clock.now()
    await account.memory.commit(session)
    for tries in range(2, MOST_FAILURES + 1):
        clock.advance((await _due(engine, session) - clock.now()) / 1000)
        await commits.look()
        await memory.called(tries)
        await eventually(lambda: _at_rest(engine))
    assert clock.now() - began > 3 * 24 * HOUR * 1000
    status = await account.memory.status()
    assert (status.pending, status.failing, status.resting) == (0, 0, 1)
    assert "this can't be read" in (status.error or "")
    assert await account.memory.uncommitted(session)
    clock.advance(1000 * HOUR)
    await commits.look()
    await engine.restart()
    await eventually(lambda: _at_rest(engine))
    assert len(memory.calls) == MOST_FAILURES
    # It holds back nothing that is said after it, and is there when somebody asks.
    await engine.say(session)
    await engine.account.end(session)
    await memory.called(MOST_FAILURES + 1)
    await eventually(lambda: _at_rest(engine))
    memory.failures.clear()
    assert await engine.account.memory.retry() >= 1
    await engine.parts.memory.look()
    await committed(engine, session)
    assert (await engine.account.memory.status()).resting == 0
    assert len(memory.turns) == 2


@pytest.mark.contract("C6", "C12")
async def test_what_rests_can_be_given_up_and_is_forgotten_with_its_session(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session, marks = await engine.session(), engine.store.memory
    await engine.say(session)
    memory.fail(1)
    await engine.account.memory.commit(session)
    assert await engine.account.memory.drop() == []
    (segment,) = await marks.pending(engine.owner.id, session)
    assert await marks.failed(segment.key, "no", delay=1.0, most=1)
    assert await engine.account.memory.drop() == [GivenUp(session, 1)]
    assert not await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(session) == Nothing()
    await engine.account.delete(session)
    await eventually(lambda: _forgotten(memory, session))


@pytest.mark.contract("C6")
async def test_what_only_has_to_wait_never_rests(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session = await engine.session()
    await engine.say(session)
    waits = MemoryWaits("the day's limit is reached", provider="scripted")
    memory.failures.extend([waits] * (MOST_FAILURES + 5))
    for _ in range(MOST_FAILURES + 5):
        await engine.account.memory.commit(session)
    status = await engine.account.memory.status()
    assert (status.failing, status.resting) == (1, 0)
    clock.advance(HOUR)
    await engine.parts.memory.look()
    await committed(engine, session)


@pytest.mark.contract("C6")
async def test_segment_is_durable_before_the_memory_hears_of_it(
    engine: Engine, memory: ScriptedMemory
) -> None:
    seen: list[tuple[str, int]] = []

    async def look(segment: Segment) -> None:
        pending = await engine.store.memory.pending(engine.owner.id, segment.session)
        seen.extend([(each.key, each.tries) for each in pending])

    memory.check = look
    session = await engine.session()
    await engine.say(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    assert seen == [(memory.calls[0].key, 1)]


@pytest.mark.contract("C6")
@pytest.mark.parametrize("error", [RuntimeError("what is this"), TimeoutError(), KeyError("x")])
async def test_whatever_a_memory_raises_is_a_failure_like_any_other(
    engine: Engine, memory: ScriptedMemory, error: Exception
) -> None:
    session = await engine.session()
    await engine.say(session)
    memory.failures.append(error)
    assert isinstance(await engine.account.memory.commit(session), Failed)
    assert await engine.account.memory.commit(session) == Committed(1)


@pytest.mark.contract("C6")
async def test_memory_that_is_no_longer_there_keeps_its_segments_waiting(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    gone = ScriptedMemory()
    gone.fail(10)
    engine = remembering(folder, server, clock, {"gone": gone}, grace=0.2)
    async with started(engine):
        session = await engine.session()
        first = await engine.say(session)
    engine = remembering(folder, server, clock, {"scripted": memory})
    async with started(engine):
        clock.advance(HOUR)
        await engine.parts.memory.look()
        second = await engine.say(session)
        await engine.account.end(session)
        await memory.called(1)
        await eventually(lambda: _at_rest(engine))
        assert await engine.account.memory.uncommitted(session)
        status = await engine.account.memory.status()
        assert (status.pending, status.failing) == (1, 1)
        assert status.error is not None
        assert "gone" in status.error
    assert memory.turns == [second.id]
    gone.failures.clear()
    memories = {"scripted": memory, "gone": gone}
    async with started(remembering(folder, server, clock, memories)) as engine:
        assert await engine.account.memory.commit(session) == Committed(1)
        assert gone.turns == [first.id]


@pytest.mark.contract("C5", "C6")
async def test_memory_that_never_answers_is_given_up_and_asked_again_when_it_ends(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    """It does not even stop when told to: until it does, no other commit of the session begins."""
    engine = remembering(folder, server, clock, {"scripted": memory}, timeout=0.05, grace=0.2)
    async with started(engine):
        session = await engine.session()
        await engine.say(session)
        memory.stubborn = True
        memory.hang()
        assert isinstance(await engine.account.memory.commit(session), Failed)
        assert isinstance(await engine.account.memory.commit(session), Failed)
        assert len(memory.calls) == 1
        memory.go_on()
        await eventually(lambda: _has(memory, 1))
        assert await engine.account.memory.commit(session) == Committed(1)
        assert len({segment.key for segment in memory.calls}) == 1


# Scopes.


@pytest.mark.contract("C7")
async def test_session_that_moved_commits_the_older_turns_to_the_older_scope_first(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    memory.fail(2)
    async with started(remembering(folder, server, clock, {"scripted": memory})) as engine:
        session = await engine.session()
        first = await engine.say(session)
    memories = {"scripted": memory}
    async with started(remembering(folder, server, clock, memories, profile="work")) as engine:
        second = await engine.say(session)
        third = await engine.say(session)
        memory.failures.clear()
        memory.calls.clear()
        assert await engine.account.memory.commit(session) == Committed(3)
    user = engine.owner.id
    assert [(str(each.scope), each.turns) for each in memory.calls] == [
        (f"scripted/default/{user}", (first.id,)),
        (f"scripted/work/{user}", (second.id, third.id)),
    ]


@pytest.mark.contract("C7")
async def test_failing_older_scope_neither_loses_its_turns_nor_holds_back_the_newer(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    older = ScriptedMemory()
    older.fail(3)
    async with started(remembering(folder, server, clock, {"older": older})) as engine:
        session = await engine.session()
        first = await engine.say(session)
    memories = {"scripted": memory, "older": older}
    async with started(remembering(folder, server, clock, memories)) as engine:
        second = await engine.say(session)
        report = await engine.account.memory.commit(session)
        assert isinstance(report, Failed)
        assert report.turns == 1
        assert (older.turns, memory.turns) == ([], [second.id])
        assert await engine.account.memory.uncommitted(session)
        older.failures.clear()
        clock.advance(HOUR)
        await engine.parts.memory.look()
        await committed(engine, session)
        assert (older.turns, memory.turns) == ([first.id], [second.id])


# Apart from agents and leases.


@pytest.mark.contract("C8")
async def test_eviction_waits_for_no_commit_and_a_commit_for_no_agent(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory}, agents=1)
    async with started(engine):
        session, other = await engine.session(), await engine.session()
        turn = await engine.say(session)
        memory.hang()
        assert (await engine.say(other)).state == "completed"
        await memory.called(1)
        assert not engine.parts.agents.is_live(session)
        # While the commit hangs, the session itself and others go on.
        assert (await engine.say(session)).state == "completed"
        assert (await engine.say(other)).state == "completed"
        memory.go_on()
        await eventually(lambda: _has(memory, 1))
        assert memory.turns[0] == turn.id


@pytest.mark.contract("C8")
@pytest.mark.parametrize("name", ["a new chat", "reset", "clear", "end", "eviction", "shutdown"])
async def test_memory_is_asked_while_nobody_holds_the_session(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory, name: str
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory}, agents=1)
    holders: list[object] = []

    async def look(segment: Segment) -> None:
        holders.append(await engine.store.leases.holder(session_lease(segment.session)))

    memory.check = look
    async with started(engine):
        session = await engine.session()
        await engine.say(session)
        await BOUNDARIES[name](engine, session)
        await memory.called(1)
    assert holders == [None] * len(memory.calls)


# Unknown, and taken back.


@pytest.mark.contract("C11")
@pytest.mark.parametrize("id", ["", "ses_unknown", "nonsense"])
async def test_session_that_is_not_there_does_nothing_and_raises_nothing(
    engine: Engine, memory: ScriptedMemory, id: str
) -> None:
    session = SessionId(id)
    assert await engine.account.memory.commit(session) == Nothing()
    assert not await engine.account.memory.uncommitted(session)
    await engine.account.create(origin="web", previous=session)
    await engine.account.create(origin="web", previous=None)
    engine.parts.memory.evicted(session)
    engine.parts.memory.boundary(engine.owner.id, None, "test")
    engine.parts.memory.deleted(session)
    await engine.stop()
    assert memory.calls == []


@pytest.mark.contract("C11")
async def test_session_of_somebody_else_is_left_alone(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session = await engine.session()
    await engine.say(session)
    someone = await engine.store.users.create(User(id=new_user_id(), name="bob", role="member"))
    stranger = engine.app.of(someone.id)
    assert await stranger.memory.commit(session) == Nothing()
    assert not await stranger.memory.uncommitted(session)
    await stranger.create(origin="web", previous=session)
    assert await stranger.memory.commit(session) == Nothing()  # after the boundary before it
    assert memory.calls == []
    assert await engine.account.memory.uncommitted(session)


@pytest.mark.contract("C12")
async def test_undo_and_edit_withdraw_turns_that_are_not_committed(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session = await engine.session()
    first = await engine.say(session, "One")
    await engine.account.history.undo(session, (await engine.say(session, "Two")).id)
    third = await engine.say(session, "Three")
    edited = await engine.account.history.edit(session, third.id, "Three, in other words")
    await engine.ended(edited.id)
    assert await engine.account.memory.commit(session) == Committed(2)
    assert memory.turns == [first.id, edited.id]


@pytest.mark.contract("C12")
async def test_turn_undone_between_the_cut_and_the_first_try_is_withdrawn(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session = await engine.session()
    turn = await engine.say(session)
    await engine.store.memory.cut(engine.owner.id, session)
    await engine.account.history.undo(session, turn.id)
    assert await engine.account.memory.commit(session) == Nothing()
    assert memory.calls == []
    assert not await engine.account.memory.uncommitted(session)


@pytest.mark.contract("C12")
async def test_delete_withdraws_all_of_the_sessions_turns(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session = await engine.session()
    await engine.say(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    await engine.say(session)
    memory.fail(1)
    assert isinstance(await engine.account.memory.commit(session), Failed)
    await engine.say(session)
    await engine.account.delete(session)
    await eventually(lambda: _forgotten(memory, session))
    clock.advance(HOUR)
    await engine.parts.memory.look()
    await engine.stop()
    assert memory.kept == {}
    assert len(memory.calls) == 2


async def _forgotten(memory: ScriptedMemory, session: SessionId) -> bool:
    return session in [gone for _, gone in memory.withdrawn]


@pytest.mark.contract("C12")
async def test_session_deleted_during_its_commit_is_forgotten_after_it(
    engine: Engine, memory: ScriptedMemory
) -> None:
    session = await engine.session()
    await engine.say(session)
    memory.hang()
    commit = asyncio.create_task(engine.account.memory.commit(session))
    await memory.called(1)
    await engine.account.delete(session)
    memory.go_on()
    assert await commit == Nothing()
    await eventually(lambda: _forgotten(memory, session))
    assert memory.kept == {}
    assert not await engine.account.memory.uncommitted(session)
    assert await engine.account.memory.commit(new_session_id()) == Nothing()


@pytest.mark.contract("C12")
async def test_session_is_forgotten_while_memory_is_behind_with_others(
    engine: Engine, memory: ScriptedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_commits, "MOST", 1)
    gone, slow = await engine.session(), await engine.session()
    await engine.say(gone)
    assert await engine.account.memory.commit(gone) == Committed(1)
    await engine.say(slow)
    memory.hang()
    await engine.account.end(slow)
    await memory.called(2)
    await engine.account.delete(gone)
    await eventually(lambda: _forgotten(memory, gone))
    memory.go_on()


@pytest.mark.contract("C12")
async def test_memory_that_fails_to_forget_a_session_is_asked_again(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    session = await engine.session()
    await engine.say(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    memory.forgetful = False
    await engine.account.delete(session)
    await eventually(lambda: _forgotten(memory, session))
    assert len(memory.kept) == 1
    memory.forgetful = True
    await eventually(lambda: _at_rest(engine))
    status = await engine.account.memory.status()
    assert status.unforgotten == 1
    assert "read-only" in (status.unforgotten_error or "")
    await engine.parts.memory.look()
    assert len(memory.kept) == 1
    clock.advance(HOUR)
    await engine.parts.memory.look()
    await eventually(lambda: _at_rest(engine))
    assert memory.kept == {}
    assert await engine.store.memory.to_forget(session) == []
    assert (await engine.account.memory.status()).unforgotten == 0


async def _at_rest(engine: Engine) -> bool:
    return len(engine.parts.memory) == 0


@pytest.mark.contract("C10", "C12")
async def test_crash_after_a_delete_forgets_the_session_after_the_next_start(
    engine: Engine, memory: ScriptedMemory, clock: FakeClock
) -> None:
    """Also when all that is left of the session is what memory has to forget."""
    session = await engine.session()
    await engine.say(session)
    assert await engine.account.memory.commit(session) == Committed(1)
    await engine.store.of(engine.owner.id).sessions.delete(session)
    await engine.crash()
    assert len(memory.kept) == 1
    clock.advance(HOUR)
    await engine.start()
    await engine.store.upkeep.run()
    await engine.parts.memory.look()
    await eventually(lambda: _at_rest(engine))
    assert memory.kept == {}
    assert await engine.store.memory.to_forget(session) == []
