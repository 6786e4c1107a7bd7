"""What a user spent today."""

import pytest

from roost.core.errors import NotFound
from roost.core.turns import TurnEnd
from roost.core.usage import Usage
from roost.store.usage import Spent
from roost.testing.clock import FakeClock
from tests.store_driver import Driver

DAY = 86_400


async def spend(who: Driver, cost: int | None) -> None:
    run = await who.run()
    usage = Usage("p", "m", input_tokens=10, output_tokens=5, cost=cost)
    end = TurnEnd(state="completed", usage=(usage, usage))
    await who.turns.end(run.session, run.token, run.turn, end)


async def test_today_is_since_midnight_and_ones_own(
    ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    clock.advance(DAY - clock.now() / 1000 % DAY - 1)
    await spend(ada, 7)
    await spend(bob, 100)
    assert await ada.usage.today() == Spent(tokens=30, cost=14)
    clock.advance(1)
    assert await ada.usage.today() == Spent(tokens=0, cost=0)
    await spend(ada, None)
    await spend(ada, 3)
    assert await ada.usage.today() == Spent(tokens=60, cost=6)


async def test_what_a_deleted_session_used_was_used(ada: Driver) -> None:
    await spend(ada, 7)
    for session in await ada.sessions.page():
        await ada.sessions.delete(session.id)
    assert await ada.usage.today() == Spent(tokens=30, cost=14)


async def test_use_outside_of_turns_counts_for_the_session_too(ada: Driver, bob: Driver) -> None:
    session = await ada.session()
    usage = Usage("p", "m", input_tokens=10, output_tokens=5, cost=7)
    for _ in range(2):
        await ada.usage.add(session, f"memory:{session}", (usage,))
    assert await ada.usage.today() == Spent(tokens=30, cost=14)
    assert (await ada.sessions.get(session)).counters.cost == 14
    with pytest.raises(NotFound):
        await bob.usage.add(session, f"memory:{session}", (usage,))


async def test_what_a_turn_used_is_told_by_model_and_to_its_user(ada: Driver, bob: Driver) -> None:
    run = await ada.run()
    dear = Usage("p", "dear", input_tokens=10, cached_tokens=4, output_tokens=5, cost=9)
    cheap = Usage("p", "cheap", input_tokens=1, output_tokens=2, reasoning_tokens=1, cost=1)
    end = TurnEnd(state="completed", usage=(cheap, dear, dear))
    await ada.turns.end(run.session, run.token, run.turn, end)
    first, second = await ada.usage.by_turn(run.turn)
    assert (first.model, first.calls, first.input_tokens, first.cached_tokens) == ("dear", 2, 20, 8)
    assert (second.model, second.output_tokens, second.reasoning_tokens) == ("cheap", 2, 1)
    assert await bob.usage.by_turn(run.turn) == []
