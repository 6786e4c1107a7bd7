"""Subagents on a running engine: who works for a call, and what the store knows of it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import ToolsConfig
from roost.core.errors import NotFound
from roost.core.ids import new_tool_call_id, new_user_id
from roost.core.sessions import Parent
from roost.core.users import User
from roost.runtime.subagents import Subagents, child_of
from roost.testing.models import ModelServer, say, use
from roost.tools.base import ToolContext
from tests.engine import Engine, eventually, started
from tests.unit.tools.calling import keep_nothing


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Done.") + use(input_tokens=30, output_tokens=12))
        yield server


@pytest.fixture
async def engine(folder: Path, server: ModelServer) -> AsyncGenerator[Engine]:
    async with started(Engine(folder, server, clock=SystemClock())) as engine:
        yield engine


@pytest.fixture
async def subagents(engine: Engine) -> Subagents:
    subagents = Subagents(ToolsConfig())
    subagents.attach(engine.app)
    return subagents


@pytest.fixture
async def context(engine: Engine) -> ToolContext:
    """A call of a turn of the owner's."""
    session = await engine.session()
    turn = await engine.say(session)
    return ToolContext(
        user=engine.owner.id,
        session=session,
        turn=turn.id,
        call=new_tool_call_id(),
        show=lambda text: None,
        keep=keep_nothing,
    )


async def test_same_call_has_one_subagent_however_often_it_is_asked_for(
    engine: Engine, server: ModelServer, subagents: Subagents, context: ToolContext
) -> None:
    first = await subagents.work(context, "Do it", toolset=None)
    asked = len(server.requests)
    assert await subagents.work(context, "Do it", toolset=None) == first
    assert len(server.requests) == asked
    assert first.session == child_of(context.call)
    assert (first.done, first.text, first.tokens) == (True, "Done.", 42)
    (child,) = await engine.account.subagents(context.session)
    assert child.parent == Parent(context.session, "subagent", call=context.call)


async def test_subagents_use_is_found_under_its_caller(
    engine: Engine, subagents: Subagents, context: ToolContext
) -> None:
    await subagents.work(context, "Do it", toolset=None)
    usage = engine.store.of(engine.owner.id).usage
    assert (await usage.of_subagents(context.session)).tokens == 42
    opened = (await engine.account.session(child_of(context.call))).created_at
    assert (await usage.of_subagents(context.session, since=opened + 1)).tokens == 0


async def test_nobody_reads_the_subagents_of_others(
    engine: Engine, subagents: Subagents, context: ToolContext
) -> None:
    await subagents.work(context, "Do it", toolset=None)
    stranger = await engine.store.users.create(User(id=new_user_id(), name="Eve", role="member"))
    account = engine.app.of(stranger.id)
    with pytest.raises(NotFound):
        await account.subagents(context.session)
    usage = engine.store.of(stranger.id).usage
    assert (await usage.of_subagents(context.session)).tokens == 0


@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_call_that_is_cancelled_at_any_moment_leaves_nothing_at_work(
    engine: Engine, subagents: Subagents, context: ToolContext, steps: int
) -> None:
    child = child_of(context.call)

    async def is_over() -> bool:
        found = await engine.account.subagents(context.session)
        return all(each.ended_at is not None for each in found)

    work = asyncio.create_task(subagents.work(context, "Do it", toolset=None))
    for _ in range(steps):
        # As the store's answers come, which takes a few turns of the loop each.
        await asyncio.sleep(0.0005)
    work.cancel()
    await asyncio.wait([work])
    await eventually(is_over)
    assert not engine.parts.turns.is_running(child)
