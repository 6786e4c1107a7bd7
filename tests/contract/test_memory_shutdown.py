"""Memory over stops and crashes: what did not make it is committed after the next start."""

import asyncio
import time
from pathlib import Path

import pytest

from roost.core.ids import SessionId
from roost.runtime import memory_commits, segments
from roost.runtime.segments import Committed
from roost.testing import faults
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer
from tests.engine import Engine, eventually, started
from tests.memories import ScriptedMemory, remembering

pytestmark = pytest.mark.both

GRACE = 0.6
SLACK = 15.0
"""Seconds that a stop may take beyond the grace: what is given up is given time to end, and the
machine may be busy. What is waited for would never come."""


@pytest.fixture
def memory() -> ScriptedMemory:
    return ScriptedMemory()


async def _settled(engine: Engine, session: SessionId) -> bool:
    return not await engine.account.memory.uncommitted(session)


@pytest.mark.contract("C9")
async def test_stop_drains_every_session_without_its_agent(
    folder: Path,
    server: ModelServer,
    clock: FakeClock,
    memory: ScriptedMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_commits, "MOST", 8)
    engine = remembering(folder, server, clock, {"scripted": memory})
    async with started(engine):
        sessions = [await engine.session() for _ in range(20)]
        turns = [await engine.say(session) for session in sessions]
        await engine.parts.agents.close()
        assert memory.calls == []
    assert sorted(memory.turns) == sorted([turn.id for turn in turns])


@pytest.mark.contract("C9")
async def test_stop_waits_for_a_commit_in_flight(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory})
    await engine.start()
    session = await engine.session()
    turn = await engine.say(session)
    memory.hang()
    commit = asyncio.create_task(engine.account.memory.commit(session))
    await memory.called(1)
    stop = asyncio.create_task(engine.stop())
    await asyncio.wait([stop], timeout=0.2)
    assert not stop.done()
    memory.go_on()
    await stop
    assert await commit == Committed(1)
    assert memory.turns == [turn.id]
    assert len(memory.calls) == 1


@pytest.mark.contract("C9")
@pytest.mark.parametrize("stubborn", [False, True])
@pytest.mark.parametrize("in_flight", [False, True])
async def test_memory_that_hangs_does_not_hang_the_stop(
    folder: Path,
    server: ModelServer,
    clock: FakeClock,
    memory: ScriptedMemory,
    stubborn: bool,
    in_flight: bool,
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory}, grace=GRACE)
    await engine.start()
    session, other = await engine.session(), await engine.session()
    turns = [await engine.say(session), await engine.say(other)]
    memory.stubborn = stubborn
    memory.hang()
    if in_flight:
        engine.parts.memory.boundary(engine.owner.id, session, "test")
        await memory.called(1)
    before = time.monotonic()
    await engine.stop()
    assert time.monotonic() - before < GRACE + SLACK
    assert memory.kept == {}
    memory.go_on()
    clock.advance(60)
    async with started(engine):
        await eventually(lambda: _settled(engine, session))
        await eventually(lambda: _settled(engine, other))
    assert sorted(memory.turns) == sorted([turn.id for turn in turns])


@pytest.mark.contract("C7", "C9")
async def test_older_scope_that_hangs_leaves_the_newer_time_to_commit(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    older = ScriptedMemory()
    older.fail(1)
    async with started(remembering(folder, server, clock, {"older": older})) as engine:
        session = await engine.session()
        first = await engine.say(session)
    memories = {"scripted": memory, "older": older}
    # Half of it is the older one's, and the newer writes to the store in the rest.
    async with started(remembering(folder, server, clock, memories, grace=6)) as engine:
        second = await engine.say(session)
        older.hang()
        clock.advance(60)
    assert memory.turns == [second.id]
    older.go_on()
    clock.advance(60)
    async with started(remembering(folder, server, clock, memories)) as engine:
        await eventually(lambda: _settled(engine, session))
    assert older.turns == [first.id]


@pytest.mark.contract("C9")
async def test_many_of_a_memory_that_hangs_leave_others_time_to_commit(
    folder: Path,
    server: ModelServer,
    clock: FakeClock,
    memory: ScriptedMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segments, "ROOM", 1)
    monkeypatch.setattr(memory_commits, "MOST", 20)
    older = ScriptedMemory()
    older.fail(20)
    async with started(remembering(folder, server, clock, {"older": older})) as engine:
        for _ in range(20):
            await engine.say(await engine.session())
    memories = {"scripted": memory, "older": older}
    async with started(remembering(folder, server, clock, memories, grace=6)) as engine:
        turn = await engine.say(await engine.session())
        older.hang()
        clock.advance(60)
    assert memory.turns == [turn.id]
    older.go_on()


@pytest.mark.contract("C6", "C9")
async def test_stop_tries_what_is_due_and_leaves_what_failed_to_its_delay(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory})
    async with started(engine):
        failing, fresh = await engine.session(), await engine.session()
        await engine.say(failing)
        memory.fail(1)
        await engine.account.memory.commit(failing)
        turn = await engine.say(fresh)
    assert [segment.session for segment in memory.calls] == [failing, fresh]
    assert memory.turns == [turn.id]
    clock.advance(60)
    async with started(engine):
        await eventually(lambda: _settled(engine, failing))


@pytest.mark.contract("C9")
async def test_short_lives_do_not_ask_for_the_same_again_and_again(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    """As `roost chat "..."` does it: no time to stop, and the next start a moment later."""
    engine = remembering(folder, server, clock, {"scripted": memory}, grace=0)
    async with started(engine):
        session = await engine.session()
        turn = await engine.say(session)
    assert memory.calls == []
    memory.hang()
    async with started(engine):
        await memory.called(1)
    for _ in range(3):
        async with started(engine):
            await eventually(lambda: _waits(engine))
    assert len(memory.calls) == 1
    clock.advance(60)
    # The second time it is waited for.
    await engine.start()
    await memory.called(2)
    stop = asyncio.create_task(engine.stop())
    await asyncio.wait([stop], timeout=0.2)
    assert not stop.done()
    memory.go_on()
    await stop
    assert memory.turns == [turn.id]
    assert len({segment.key for segment in memory.calls}) == 1


async def _waits(engine: Engine) -> bool:
    """It has looked at what there is, and leaves it."""
    return (await engine.account.memory.status()).failing == 1 and len(engine.parts.memory) == 0


@pytest.mark.contract("C10")
async def test_crash_after_a_completed_turn_loses_no_commit(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    engine = remembering(folder, server, clock, {"scripted": memory})
    await engine.start()
    session = await engine.session()
    turns = [await engine.say(session), await engine.say(session)]
    await engine.crash()
    assert memory.calls == []
    async with started(engine):
        await eventually(lambda: _settled(engine, session))
    [segment] = memory.calls
    assert segment.turns == tuple([turn.id for turn in turns])


@pytest.mark.contract("C10")
async def test_repeat_after_a_crash_has_the_same_key_and_turns(
    folder: Path, server: ModelServer, clock: FakeClock, memory: ScriptedMemory
) -> None:
    """The memory had it, and nobody wrote that down."""
    engine = remembering(folder, server, clock, {"scripted": memory})
    await engine.start()
    session = await engine.session()
    first = await engine.say(session)
    memory.hang()
    commit = asyncio.create_task(engine.account.memory.commit(session))
    await memory.called(1)
    second = await engine.say(session)
    await engine.store.close()
    memory.go_on()
    await asyncio.wait([commit])
    await engine.stop()
    assert memory.turns == [first.id]
    async with started(engine):
        await eventually(lambda: _settled(engine, session))
    assert [segment.turns for segment in memory.calls] == [(first.id,), (first.id,), (second.id,)]
    assert memory.calls[0].key == memory.calls[1].key
    assert memory.calls[0] == memory.calls[1]


@pytest.mark.contract("C6", "C10")
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("place", ["store.commit.before", "store.commit.after"])
async def test_store_that_fails_on_the_way_loses_no_commit(
    folder: Path,
    server: ModelServer,
    clock: FakeClock,
    memory: ScriptedMemory,
    place: str,
    nth: int,
) -> None:
    """At the cut, at the try, and when it is written down that it was committed."""
    engine = remembering(folder, server, clock, {"scripted": memory})
    async with started(engine):
        session = await engine.session()
        turn = await engine.say(session)
        await eventually(lambda: _quiet(engine))
        with faults.failing(place, nth=nth):
            await engine.account.memory.commit(session)
        clock.advance(60)
        await engine.parts.memory.look()
        await eventually(lambda: _settled(engine, session))
    assert memory.turns == [turn.id]
    assert len({segment.key for segment in memory.calls}) == 1


async def _quiet(engine: Engine) -> bool:
    return len(engine.parts.turns) == 0
