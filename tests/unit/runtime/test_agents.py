"""How the cache of live agents serves turns; its promises are in tests/contract."""

import asyncio
from contextvars import ContextVar

import pytest
from structlog.testing import capture_logs

from roost.runtime.agents import Counts
from tests.live_agents import ONE, TWO, Construction, Scene, StubAgent, Turn, session_ids, settled

A, B, C = session_ids(3)


async def test_turns_under_one_signature_run_on_one_agent() -> None:
    scene = Scene()
    agent = await scene.run(A)
    assert await scene.run(A) is agent
    assert await scene.run(B) is not agent


async def test_agent_of_a_turn_that_fails_is_kept() -> None:
    scene = Scene()
    agent = await scene.run(A)

    async def think() -> None:
        async with scene.borrowed(A):
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        await think()
    assert scene.agents.counts.busy == 0
    assert await scene.run(A) is agent


async def test_agent_of_a_turn_that_is_cancelled_is_kept() -> None:
    scene = Scene()
    agent = await scene.run(A)

    async def think() -> None:
        async with scene.borrowed(A):
            await asyncio.Event().wait()

    turn = asyncio.create_task(think())
    await settled()
    assert scene.agents.counts.busy == 1
    turn.cancel()
    await settled()
    assert scene.agents.counts.busy == 0
    assert await scene.run(A) is agent


async def test_turn_cancelled_as_its_build_ends_leaves_the_agent_idle() -> None:
    scene = Scene(idle_ttl=60)
    agent = StubAgent(ONE)

    async def build() -> StubAgent:
        thinking.cancel()
        return agent

    async def think() -> None:
        async with scene.agents.borrowed(A, ONE, build):
            await asyncio.Event().wait()

    thinking = asyncio.create_task(think())
    await settled()
    assert thinking.cancelled()
    assert (scene.agents.counts.live, scene.agents.counts.busy) == (1, 0)
    scene.clock.advance(61)
    assert scene.agents.sweep() == 1
    await agent.closed.wait()


async def test_turn_cancelled_while_it_waits_for_a_build_changes_nothing() -> None:
    scene = Scene()
    building = Construction(scene, A)
    first, second, third = [await building.ask() for _ in range(3)]
    second.cancel()
    await settled()
    await building.finish()
    one, three = await first, await third
    assert one.agent is three.agent
    await one.end()
    assert scene.agents.counts.busy == 1
    await three.end()
    assert scene.agents.counts.busy == 0


async def test_dropping_during_a_build_sets_those_that_wait_to_work_at_once() -> None:
    scene = Scene()
    building = Construction(scene, A)
    first, second = await building.ask(), await building.ask()
    scene.agents.drop(A)
    await settled()
    assert building.begun == 2
    await building.finish()
    await building.finish()
    one, two = await first, await second
    assert one.agent is not two.agent
    await one.end()
    await two.end()
    await one.agent.closed.wait()
    assert await scene.run(A) is two.agent


async def test_failure_of_a_build_that_was_dropped_leaves_the_next_one_alone() -> None:
    scene = Scene()
    old, new = Construction(scene, A), Construction(scene, A)
    first = await old.ask()
    scene.agents.drop(A)
    second, third = await new.ask(), await new.ask()
    await old.fail(OSError("no route"))
    assert isinstance(first.exception(), OSError)
    assert new.begun == 1
    await new.finish()
    for turn in (await second, await third):
        assert turn.agent is new.agents[0]
        await turn.end()


async def test_turn_of_another_configuration_replaces_the_agent_it_waited_for() -> None:
    scene = Scene()
    one, two = Construction(scene, A, ONE), Construction(scene, A, TWO)
    first, second = await one.ask(), await two.ask()
    await one.finish()
    await two.finish()
    old, new = await first, await second
    assert new.agent.signature == TWO
    await old.end()
    await old.agent.closed.wait()
    await new.end()
    assert await scene.run(A, TWO) is new.agent


async def test_old_agent_goes_even_if_the_new_one_is_never_built() -> None:
    scene = Scene()
    old = await scene.run(A)
    building = Construction(scene, A, TWO)
    asked = await building.ask()
    assert not scene.agents.is_live(A)
    await building.fail(OSError("no route"))
    assert isinstance(asked.exception(), OSError)
    await old.closed.wait()


async def test_only_the_cap_and_the_sweep_tell_of_an_eviction() -> None:
    scene = Scene(limit=2, idle_ttl=60)
    await scene.run(A)
    scene.agents.drop(A)
    await scene.run(A)
    await scene.run(A, TWO)
    await scene.agents.close()
    assert scene.evicted == []
    for session in (A, B, C):
        await scene.run(session)
    assert scene.evicted == [A]
    scene.clock.advance(61)
    assert scene.agents.sweep() == 2
    assert scene.evicted == [A, B, C]


async def test_counts() -> None:
    scene = Scene(limit=2)
    for session in (A, A, B, C, C):
        await scene.run(session)
    building = Construction(scene, A)
    asked = await building.ask()
    await building.fail(OSError("no route"))
    assert isinstance(asked.exception(), OSError)
    turns = [await scene.begin(B), await scene.begin(B)]
    assert scene.agents.counts == Counts(live=2, busy=1, hits=4, builds=3, evictions=1)
    for turn in turns:
        await turn.end()


async def test_release_that_fails_is_logged_with_its_traceback() -> None:
    scene = Scene()
    agent = await scene.run(A)
    agent.error = OSError("already gone")
    scene.agents.drop(A)
    with capture_logs() as logs:
        await scene.agents.close()
    assert [(each["log_level"], each["session"], each["exc_info"]) for each in logs] == [
        ("error", A, True)
    ]


async def test_release_that_hangs_is_given_up_at_its_deadline() -> None:
    scene = Scene(release_deadline=0)
    agent = await scene.run(A)
    agent.may_close.clear()
    with capture_logs() as logs:
        await scene.agents.close()
    assert agent.closings == 1
    assert not agent.closed.is_set()
    assert [each["event"] for each in logs] == ["releasing an agent failed"]


async def test_release_does_not_inherit_the_context_of_the_turn_that_caused_it() -> None:
    asking = ContextVar("asking", default="nobody")
    seen: list[str] = []

    class Witness(StubAgent):
        async def close(self) -> None:
            seen.append(asking.get())

    async def build() -> StubAgent:
        return Witness(ONE)

    scene = Scene(limit=1)
    await (await Turn(scene.borrowed(A, build=build)).begin()).end()
    asking.set("b")
    await scene.run(B)
    await scene.agents.close()
    assert seen == ["nobody"]


async def test_closing_waits_for_every_release() -> None:
    scene = Scene()
    agents = [await scene.run(session) for session in (A, B, C)]
    for agent in agents:
        agent.may_close.clear()
    scene.agents.drop(A)
    closing = asyncio.create_task(scene.agents.close())
    for agent in agents:
        await settled()
        assert not closing.done()
        agent.may_close.set()
    await closing
    assert [agent.closings for agent in agents] == [1, 1, 1]
    assert len(scene.agents) == 0


async def test_closing_waits_for_what_is_released_meanwhile() -> None:
    scene = Scene()
    idle, turn = await scene.run(A), await scene.begin(B)
    idle.may_close.clear()
    turn.agent.may_close.clear()
    closing = asyncio.create_task(scene.agents.close())
    await settled()
    await turn.end()
    idle.may_close.set()
    await settled()
    assert not closing.done()
    turn.agent.may_close.set()
    await closing
    assert turn.agent.closed.is_set()


async def test_agent_whose_build_outlives_the_closing_is_released_after_its_turn() -> None:
    scene = Scene()
    building = Construction(scene, A)
    asked = await building.ask()
    await scene.agents.close()
    await building.finish()
    turn = await asked
    assert len(scene.agents) == 0
    await turn.end()
    await turn.agent.closed.wait()


async def test_renewal_gives_every_session_another_agent_and_lets_turns_finish() -> None:
    scene = Scene()
    idle = await scene.run(A)
    async with scene.borrowed(B) as busy:
        scene.agents.renew()
        assert len(scene.agents) == 0
        await settled()
        assert (idle.closed.is_set(), busy.closed.is_set()) == (True, False)
    await settled()
    assert busy.closed.is_set()
    assert await scene.run(A) is not idle
