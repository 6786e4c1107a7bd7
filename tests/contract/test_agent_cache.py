"""The cache of live agents: what it keeps, what it drops, and what it never does to a turn."""

import asyncio

import pytest
from structlog.testing import capture_logs

from roost.runtime.agents import SWEEP_SECONDS, Agents
from roost.testing.clock import FakeClock
from tests.live_agents import ONE, TWO, Construction, Scene, StubAgent, Turn, session_ids, settled

pytestmark = pytest.mark.both

A, B, C, D, E = session_ids(5)
HOUR = 3600.0


# Dropping.


@pytest.mark.contract("A5")
async def test_dropping_ends_the_reuse_of_that_session_alone() -> None:
    scene = Scene()
    before = {session: await scene.run(session) for session in (A, B, C)}
    scene.agents.drop(B)
    assert scene.live([A, B, C]) == [A, C]
    after = {session: await scene.run(session) for session in (A, B, C)}
    assert (after[A], after[C]) == (before[A], before[C])
    assert after[B] is not before[B]
    await before[B].closed.wait()
    assert [agent.closings for agent in before.values()] == [0, 1, 0]


@pytest.mark.contract("A5")
async def test_another_configuration_ends_the_reuse_of_that_session_alone() -> None:
    scene = Scene()
    first, other = await scene.run(A), await scene.run(B)
    second = await scene.run(A, TWO)
    assert second is not first
    assert second.signature == TWO
    assert await scene.run(A, TWO) is second
    assert await scene.run(B) is other
    await first.closed.wait()
    assert (second.closings, other.closings) == (0, 0)


@pytest.mark.contract("A5")
async def test_agent_dropped_while_it_is_being_built_serves_its_turn_and_no_other() -> None:
    scene = Scene()
    building = Construction(scene, A)
    asked = await building.ask()
    scene.agents.drop(A)
    fresh = await scene.begin(A)
    await building.finish()
    turn = await asked
    assert turn.agent is not fresh.agent
    await turn.end()
    await turn.agent.closed.wait()
    await fresh.end()
    assert await scene.run(A) is fresh.agent
    assert fresh.agent.closings == 0


# The cap.


@pytest.mark.contract("A6")
async def test_cap_is_128_unless_set() -> None:
    agents = Agents[StubAgent](clock=FakeClock())

    async def build() -> StubAgent:
        return StubAgent(ONE)

    for session in session_ids(130):
        async with agents.borrowed(session, ONE, build):
            pass
    assert len(agents) == 128


@pytest.mark.contract("A6")
async def test_oldest_goes_when_one_too_many_comes() -> None:
    scene = Scene(limit=3)
    for session in (A, B, C):
        await scene.run(session)
    assert len(scene.agents) == 3
    assert scene.evicted == []
    await scene.run(D)
    assert scene.live([A, B, C, D]) == [B, C, D]
    await scene.run(E)
    assert scene.live([A, B, C, D, E]) == [C, D, E]
    assert scene.evicted == [A, B]


@pytest.mark.contract("A6")
async def test_every_hit_makes_an_agent_the_youngest() -> None:
    scene = Scene(limit=3)
    for session in (A, B, C, A, B):
        await scene.run(session)
    await scene.run(D)
    assert scene.evicted == [C]
    await scene.run(A)
    await scene.run(E)
    assert scene.evicted == [C, B]


@pytest.mark.contract("A6")
async def test_hit_in_mid_turn_refreshes_too_and_evicts_nobody() -> None:
    scene = Scene(limit=2)
    first = await scene.begin(A)
    await scene.run(B)
    second = await scene.begin(A)
    await first.end()
    await second.end()
    assert scene.evicted == []
    await scene.run(C)
    assert scene.evicted == [B]


@pytest.mark.contract("A6")
async def test_only_the_idle_ones_of_the_excess_go() -> None:
    scene = Scene(limit=2)
    a, c = await scene.begin(A), await scene.begin(C)
    b = await scene.begin(B)
    d = await scene.begin(D)
    assert len(scene.agents) == 4
    for turn in (c, b, d):
        await turn.end()
    # The excess is now A, C and B, oldest first.
    await scene.run(E)
    assert scene.evicted == [C, B]
    assert scene.live([A, B, C, D, E]) == [A, D, E]
    await a.end()


# Turns under way.


@pytest.mark.contract("A7")
async def test_busy_agent_in_the_excess_is_skipped_and_no_younger_one_pays() -> None:
    scene = Scene(limit=2)
    busy = await scene.begin(A)
    await scene.run(B)
    await scene.run(C)
    assert scene.live([A, B, C]) == [A, B, C]
    # The next insert looks again: the excess is two now.
    await scene.run(D)
    assert scene.live([A, B, C, D]) == [A, C, D]
    await busy.end()
    assert len(scene.agents) == 3
    await scene.run(E)
    assert scene.live([A, B, C, D, E]) == [D, E]
    assert scene.evicted == [B, A, C]


@pytest.mark.contract("A7")
async def test_busy_agent_is_not_closed_by_the_cap_or_the_sweep_however_old() -> None:
    scene = Scene(limit=1)
    await scene.run(A)
    busy = await scene.begin(A)
    for session in (B, C, D):
        scene.clock.advance(1000 * HOUR)
        await scene.run(session)
        scene.agents.sweep()
    await settled()
    assert busy.agent.closings == 0
    assert scene.agents.is_live(A)
    await busy.end()
    assert await scene.run(A) is busy.agent


@pytest.mark.contract("A7")
async def test_agent_is_busy_until_the_last_of_its_turns_ends() -> None:
    scene = Scene(limit=1)
    first, second = await scene.begin(A), await scene.begin(A)
    assert first.agent is second.agent
    await first.end()
    scene.clock.advance(2 * HOUR)
    await scene.run(B)
    assert scene.agents.sweep() == 0
    assert scene.agents.is_live(A)
    await second.end()
    scene.clock.advance(2 * HOUR)
    assert scene.agents.sweep() == 2


@pytest.mark.contract("A7")
@pytest.mark.parametrize("how", ["dropped", "another configuration", "the cache closes"])
async def test_agent_that_loses_its_slot_in_mid_turn_is_released_when_the_turn_ends(
    how: str,
) -> None:
    scene = Scene()
    first, second = await scene.begin(A), await scene.begin(A)
    match how:
        case "dropped":
            scene.agents.drop(A)
        case "another configuration":
            assert (await scene.run(A, TWO)).signature == TWO
        case _:
            await scene.agents.close()
    assert await scene.run(A, TWO) is not first.agent
    await first.end()
    await settled()
    assert first.agent.closings == 0
    await second.end()
    await second.agent.closed.wait()
    await scene.agents.close()
    assert second.agent.closings == 1


@pytest.mark.contract("A7")
async def test_overrun_is_warned_of_once() -> None:
    scene = Scene(limit=1)
    busy = await scene.begin(A)
    with capture_logs() as logs:
        for session in (B, C, D):
            await scene.run(session)
    assert [(each["log_level"], each["live"], each["max"]) for each in logs] == [("warning", 2, 1)]
    await busy.end()
    with capture_logs() as logs:
        await scene.run(E)
    assert len(scene.agents) == 1
    assert logs == []


@pytest.mark.contract("A7")
@pytest.mark.parametrize("how", ["an insert", "a drop"])
async def test_next_overrun_is_warned_of_again(how: str) -> None:
    scene = Scene(limit=1)
    busy = await scene.begin(A)
    await scene.run(B)
    if how == "an insert":
        await busy.end()
        busy = await scene.begin(C)
    else:
        scene.agents.drop(B)
    assert len(scene.agents) == 1
    with capture_logs() as logs:
        await scene.run(D)
    assert [each["log_level"] for each in logs] == ["warning"]
    await busy.end()


# Slots under construction.


@pytest.mark.contract("A8")
async def test_slot_under_construction_is_no_agent_and_is_not_busy() -> None:
    scene = Scene()
    building = Construction(scene, A)
    asked = await building.ask()
    assert len(scene.agents) == 0
    assert not scene.agents.is_live(A)
    assert (scene.agents.counts.live, scene.agents.counts.busy) == (0, 0)
    await building.finish()
    assert (scene.agents.counts.live, scene.agents.counts.busy) == (1, 1)
    await (await asked).end()


@pytest.mark.contract("A8")
async def test_cap_counts_no_slot_under_construction() -> None:
    scene = Scene(limit=2)
    building = [Construction(scene, session) for session in (C, D, E)]
    asked = [await each.ask() for each in building]
    await scene.run(A)
    await scene.run(B)
    assert scene.live([A, B]) == [A, B]
    for each, task in zip(building, asked, strict=True):
        await each.finish()
        await (await task).end()
    assert scene.evicted == [A, B, C]


@pytest.mark.contract("A8")
async def test_slot_under_construction_blocks_no_eviction_and_is_never_released() -> None:
    scene = Scene(limit=1)
    building = Construction(scene, A)
    asked = await building.ask()
    await scene.run(B)
    await scene.run(C)
    assert scene.evicted == [B]
    scene.clock.advance(2 * HOUR)
    assert scene.agents.sweep() == 1
    await building.finish()
    turn = await asked
    await turn.end()
    assert await scene.run(A) is turn.agent
    assert turn.agent.closings == 0


@pytest.mark.contract("A8")
async def test_concurrent_requests_for_one_session_build_one_agent() -> None:
    scene = Scene()
    building = Construction(scene, A)
    asked = [await building.ask() for _ in range(5)]
    assert building.begun == 1
    await building.finish()
    turns = [await task for task in asked]
    assert building.begun == 1
    assert {turn.agent for turn in turns} == {building.agents[0]}
    for turn in turns:
        await turn.end()


@pytest.mark.contract("A8")
async def test_build_that_fails_empties_the_slot_and_fails_its_own_turn_alone() -> None:
    scene = Scene()
    building = Construction(scene, A)
    first, second, third = [await building.ask() for _ in range(3)]
    await building.fail(OSError("no route"))
    with pytest.raises(OSError, match="no route"):
        await first
    assert building.begun == 2
    await building.finish()
    one, two = await second, await third
    assert one.agent is two.agent
    assert building.begun == 2
    await one.end()
    await two.end()


@pytest.mark.contract("A8")
async def test_slot_of_a_failed_build_is_free() -> None:
    scene = Scene()
    building = Construction(scene, A)
    asked = await building.ask()
    await building.fail(OSError("no route"))
    assert isinstance(asked.exception(), OSError)
    assert not scene.agents.is_live(A)
    assert await scene.run(A) is await scene.run(A)


@pytest.mark.contract("A8")
async def test_cancelling_the_turn_that_builds_leaves_those_that_wait_unharmed() -> None:
    scene = Scene()
    building = Construction(scene, A)
    first, second = await building.ask(), await building.ask()
    first.cancel()
    await settled()
    assert first.cancelled()
    assert building.begun == 2
    await building.finish()
    turn = await second
    await turn.end()
    assert await scene.run(A) is turn.agent


# The idle sweep.


@pytest.mark.contract("A9")
async def test_sweep_drops_what_was_idle_for_longer_than_an_hour_and_counts_it() -> None:
    agents = Agents[StubAgent](clock=(clock := FakeClock()))

    async def build() -> StubAgent:
        return StubAgent(ONE)

    for session in (A, B, C):
        async with agents.borrowed(session, ONE, build):
            pass
        clock.advance(0.001)
    clock.advance(HOUR - 0.003)
    assert agents.sweep() == 0
    clock.advance(0.002)
    assert agents.sweep() == 2
    assert [agents.is_live(session) for session in (A, B, C)] == [False, False, True]
    clock.advance(HOUR)
    assert agents.sweep() == 1
    assert agents.sweep() == 0


@pytest.mark.contract("A9")
async def test_idle_time_counts_from_the_end_of_the_last_turn() -> None:
    scene = Scene(idle_ttl=60)
    turn = await scene.begin(A)
    scene.clock.advance(1000)
    await turn.end()
    scene.clock.advance(50)
    assert scene.agents.sweep() == 0
    await scene.run(A)
    scene.clock.advance(50)
    assert scene.agents.sweep() == 0
    scene.clock.advance(11)
    assert scene.agents.sweep() == 1
    assert scene.evicted == [A]


@pytest.mark.contract("A9")
async def test_sweep_leaves_the_busy_and_those_that_were_never_yet_idle() -> None:
    """Before its first turn ends an agent's last activity is unknown."""
    scene = Scene(idle_ttl=60)
    await scene.run(A)
    again, first = await scene.begin(A), await scene.begin(B)
    scene.clock.advance(1000)
    assert scene.agents.sweep() == 0
    assert scene.live([A, B]) == [A, B]
    await again.end()
    await first.end()
    assert scene.agents.sweep() == 0


@pytest.mark.contract("A9")
async def test_sweep_runs_again_and_again() -> None:
    assert SWEEP_SECONDS <= 60
    scene = Scene(idle_ttl=60)
    sweeping = asyncio.create_task(scene.agents.run(period=0))
    for session in (A, B):
        agent = await scene.run(session)
        scene.clock.advance(61)
        await agent.closed.wait()
    assert scene.evicted == [A, B]
    sweeping.cancel()


# Releasing.


@pytest.mark.contract("A10")
async def test_release_that_takes_long_delays_nobody() -> None:
    scene = Scene(limit=1)
    slow = await scene.run(A)
    slow.may_close.clear()
    async with asyncio.timeout(60):
        await scene.run(B)
        await settled()
        assert slow.closings == 1
        assert not slow.closed.is_set()
        for session in (C, A, D):
            await scene.run(session)
        assert scene.agents.sweep() == 0
        scene.agents.drop(D)
    slow.may_close.set()
    await slow.closed.wait()


@pytest.mark.contract("A10")
@pytest.mark.parametrize("how", ["cap", "sweep", "drop", "configuration", "end of the turn"])
async def test_release_begins_after_the_step_that_caused_it(how: str) -> None:
    scene = Scene(limit=1)
    turn = await scene.begin(A)
    if how == "end of the turn":
        scene.agents.drop(A)
    await turn.end()
    match how:
        case "cap":
            await scene.run(B)
        case "sweep":
            scene.clock.advance(2 * HOUR)
            assert scene.agents.sweep() == 1
        case "drop":
            scene.agents.drop(A)
        case "configuration":
            await scene.run(A, TWO)
        case _:
            pass
    assert turn.agent.closings == 0
    await turn.agent.closed.wait()
    assert turn.agent.closings == 1


@pytest.mark.contract("A11")
async def test_nothing_is_released_twice() -> None:
    scene = Scene(limit=1)
    agent = await scene.run(A)
    agent.may_close.clear()
    scene.agents.drop(A)
    scene.agents.drop(A)
    await scene.run(B)
    scene.clock.advance(2 * HOUR)
    scene.agents.sweep()
    scene.agents.drop(A)
    closing = asyncio.create_task(scene.agents.close())
    await settled()
    assert not closing.done()
    agent.may_close.set()
    await closing
    await scene.agents.close()
    assert agent.closings == 1


@pytest.mark.contract("A13")
async def test_eight_inserters_at_once_settle_exactly_at_the_cap() -> None:
    scene = Scene(limit=16)
    built: list[StubAgent] = []

    async def build() -> StubAgent:
        await asyncio.sleep(0)
        built.append(StubAgent(ONE))
        return built[-1]

    async def insert(first: int) -> None:
        for session in session_ids(160)[first::8]:
            turn = await Turn(scene.borrowed(session, build=build)).begin()
            await asyncio.sleep(0)
            await turn.end()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for first in range(8):
            tasks.create_task(insert(first))
    assert len(scene.agents) == 16
    await settled()
    assert sorted(agent.closings for agent in built) == [0] * 16 + [1] * 144
    assert len(set(scene.evicted)) == len(scene.evicted) == 144
