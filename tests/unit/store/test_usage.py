"""What a user spent today."""

import json
from functools import partial

import msgspec
import pytest

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.core.turns import Step, TurnEnd
from roost.core.usage import Usage
from roost.store.usage import Spent
from roost.testing.clock import FakeClock
from tests.store_driver import AnyStore, Driver, Run, draft, eventually, summary

pytestmark = pytest.mark.both

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


async def test_what_is_dated_in_days_to_come_counts_on_its_day(
    ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    """As what was imported from a machine whose clock is wrong."""
    await spend(ada, 7)
    (session,) = await ada.sessions.page()
    document = json.loads(await ada.transfer.export(session.id))
    document["usage"][0]["at"] += DAY * 1000
    await bob.transfer.load(json.dumps(document).encode())
    for spent in (Spent(tokens=0, cost=0), Spent(tokens=30, cost=14), Spent(tokens=0, cost=0)):
        assert await bob.usage.today() == spent
        listed = await bob.usage.by_day(days=1)
        assert sum(each.used.cost for each in listed) == spent.cost
        clock.advance(DAY)


async def test_what_a_deleted_session_used_was_used(ada: Driver) -> None:
    await spend(ada, 7)
    for session in await ada.sessions.page():
        await ada.sessions.delete(session.id)
    assert await ada.usage.today() == Spent(tokens=30, cost=14)


@pytest.mark.parametrize("purged", [False, True])
async def test_what_comes_to_be_known_after_a_session_was_deleted_counts(
    ada: Driver, bob: Driver, clock: FakeClock, purged: bool
) -> None:
    session, usage = await ada.session(), (Usage("p", "m", input_tokens=10, cost=7),)
    await ada.sessions.delete(session)
    if purged:
        clock.advance(61)
        await eventually(partial(_is_purged, ada, session))
    await ada.usage.add(session, f"memory:{session}", usage)
    assert not await ada.sessions.suggest_title(session, "Too late", usage)
    assert await ada.usage.today() == Spent(tokens=20, cost=14)
    assert await bob.usage.today() == Spent(tokens=0, cost=0)


async def test_nothing_is_counted_for_what_was_anothers_session(
    ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    session, usage = await ada.session(), (Usage("p", "m", input_tokens=10, cost=7),)
    await ada.usage.add(session, f"memory:{session}", usage)
    await ada.sessions.delete(session)
    clock.advance(61)
    await eventually(partial(_is_purged, ada, session))
    with pytest.raises(NotFound):
        await bob.usage.add(session, f"memory:{session}", usage)
    assert await ada.usage.today() == Spent(tokens=10, cost=7)


async def _is_purged(ada: Driver, session: SessionId) -> bool:
    await ada.settings.put("nudge", "1")
    return await ada.store.work.owner(session) is None


async def test_nothing_is_counted_for_a_user_who_was_removed(bob: Driver, store: AnyStore) -> None:
    session = await bob.session()
    await store.users.remove(bob.user.id)
    await bob.usage.add(session, f"memory:{session}", (Usage("p", "m", cost=7),))
    assert await bob.usage.today() == Spent(tokens=0, cost=0)


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


async def test_what_a_session_used_is_told_by_model_and_to_its_user(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    usages = (Usage("p", "cheap", cost=1), Usage("p", "dear", cost=9))
    await ada.usage.add(session, f"memory:{session}", usages)
    assert [each.model for each in await ada.usage.of_session(session)] == ["dear", "cheap"]
    with pytest.raises(NotFound):
        await bob.usage.of_session(session)


async def answer(who: Driver, run: Run, *usages: Usage) -> None:
    step = Step(messages=(draft("Well."),), usage=usages)
    await who.turns.append(run.session, run.token, run.turn, step)


async def test_turn_names_the_model_that_answered_last(ada: Driver, session: SessionId) -> None:
    run = await ada.run(session)
    assert (await ada.turns.get(run.turn)).model is None
    await answer(ada, run, Usage("p", "first", input_tokens=10))
    assert (await ada.turns.get(run.turn)).model == "p/first"
    await answer(ada, run, Usage("p", "first", input_tokens=10), Usage("q", "other"))
    assert (await ada.turns.get(run.turn)).model == "q/other", "it answered for the first"
    await ada.end(run)
    page = await ada.history.whole_page(session)
    shown = await ada.history.snapshot(session)
    read = (*page.turns, *shown.turns, *await ada.turns.of(session))
    assert [turn.model for turn in read] == ["q/other"] * 3


async def test_session_says_what_its_last_answer_took_of_the_window(
    ada: Driver, session: SessionId
) -> None:
    async def taken() -> int:
        (listed,) = await ada.sessions.page()
        found = await ada.sessions.get(session)
        assert listed.context_tokens == found.context_tokens
        return found.context_tokens

    run = await ada.run(session)
    assert await taken() == 0
    summary_made = Usage("p", "small", input_tokens=9000, output_tokens=70)
    await answer(ada, run, summary_made, Usage("p", "m", input_tokens=500, output_tokens=20))
    assert await taken() == 520
    await ada.usage.add(session, f"memory:{session}", (summary_made,))
    assert await taken() == 520, "what was used besides is not in the window"
    await ada.end(run)
    assert await taken() == 520


async def test_rewritten_history_takes_what_the_compaction_says_or_nobody_knows(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    await answer(ada, run, Usage("p", "m", input_tokens=500, output_tokens=20))
    replaced = tuple([message.id for message in await ada.live(session)])
    made = msgspec.structs.replace(summary(0, replaced), tokens_after=40)
    await ada.history.compact(session, run.token, made)
    assert (await ada.sessions.get(session)).context_tokens == 40
    await answer(ada, run, Usage("p", "m", input_tokens=50, output_tokens=5))
    await ada.end(run)
    lease = await ada.claim(session)
    assert (await ada.sessions.get(session)).context_tokens == 55
    await ada.history.clear(session, lease.token)
    assert (await ada.sessions.get(session)).context_tokens == 0
