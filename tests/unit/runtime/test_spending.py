"""What a turn may take: the server's limits and the user's own cap, of which the smaller counts."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.config import LimitsConfig
from roost.core.errors import Budget
from roost.core.settings import Count, Money
from roost.core.usage import NANO, Usage
from roost.core.users import Caps
from roost.runtime.identities import Identities
from roost.runtime.spending import check_limits
from roost.store.store import Store
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, call, say, use
from roost.tools.base import ToolContext
from tests.engine import Engine, FunctionTool, started
from tests.store_driver import Driver

NONE = LimitsConfig()
TOKENS = LimitsConfig(day_tokens=Count(100))
COST = LimitsConfig(day_cost=Money(1.0))


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with ModelServer() as server:
        server.otherwise(say("Good day"))
        async with started(Engine(tmp_path / "data", server, clock=FakeClock())) as engine:
            yield engine


async def test_user_over_their_cap_gets_no_turn_until_it_is_raised(engine: Engine) -> None:
    people = Identities(engine.store, engine.clock).people
    session = await engine.session()
    await people.set_caps(engine.owner.id, Caps(day_tokens=1))
    assert (await engine.say(session)).state == "completed"
    refused = await engine.say(session)
    assert refused.state == "failed"
    assert refused.reason is not None
    assert refused.reason.startswith("budget: Today you have used")
    await people.set_caps(engine.owner.id, Caps())
    assert (await engine.say(session)).state == "completed"


async def test_what_another_session_takes_meanwhile_counts_at_the_next_step(engine: Engine) -> None:
    working, done = asyncio.Event(), asyncio.Event()

    async def work(arguments: str, context: ToolContext) -> str:
        working.set()
        await done.wait()
        return "Worked"

    engine.tools = [FunctionTool("work", work)]
    await engine.restart()
    people = Identities(engine.store, engine.clock).people
    await people.set_caps(engine.owner.id, Caps(day_tokens=100))
    one, other = await engine.session(), await engine.session()
    half = use(input_tokens=45, output_tokens=5)
    engine.server.plan(call("work", {}) + half, say("Done") + half)
    turn = await engine.account.send(one, "Work")
    await working.wait()
    assert (await engine.say(other)).state == "completed"
    done.set()
    ended = await engine.ended(turn.id)
    assert ended.state == "failed"
    assert ended.reason is not None
    assert ended.reason.startswith("budget: Today you have used 100 tokens")
    assert len(engine.server.requests) == 2


@pytest.mark.parametrize(
    ("limits", "caps", "refused"),
    [
        (NONE, Caps(), False),
        (NONE, Caps(day_tokens=51), False),
        (NONE, Caps(day_tokens=50), True),
        (NONE, Caps(day_tokens=0), True),
        (NONE, Caps(day_cost=0.5), True),
        (NONE, Caps(day_cost=0.51), False),
        (TOKENS, Caps(day_tokens=1000), False),
        (TOKENS, Caps(day_tokens=10), True),
        (LimitsConfig(day_tokens=Count(10)), Caps(day_tokens=1000), True),
        (COST, Caps(day_cost=0.4), True),
        (COST, Caps(day_tokens=60), False),
    ],
)
async def test_the_smaller_counts(
    store: Store,
    ada: Driver,
    bob: Driver,
    limits: LimitsConfig,
    caps: Caps,
    refused: bool,
) -> None:
    await store.users.set_caps(ada.user.id, caps)
    for user in (ada, bob):
        usage = Usage("p", "m", input_tokens=40, output_tokens=10, cost=NANO // 2)
        await store.of(user.user.id).usage.add(await user.session(), user.user.id, (usage,))
    if refused:
        with pytest.raises(Budget):
            await check_limits(store.of(ada.user.id), None, limits)
    else:
        await check_limits(store.of(ada.user.id), None, limits)
    await check_limits(store.of(bob.user.id), None, NONE)
