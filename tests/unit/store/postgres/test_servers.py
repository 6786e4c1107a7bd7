"""Servers as members of one PostgreSQL: who is there, who fell silent, who has a workspace."""

import asyncio
from pathlib import Path

import pytest

from roost.core.errors import Fenced
from roost.core.ids import SessionId
from roost.store.leases import session_lease
from roost.store.servers import Servers, Settled
from roost.testing.clock import FakeClock
from tests.store_driver import AnyStore, Driver
from tests.unit.store.postgres.writers import somebody_waits, transaction

pytestmark = pytest.mark.postgres

SILENCE = 15.0


def members(store: AnyStore) -> Servers:
    assert store.servers is not None
    return store.servers


async def claimed(store: AnyStore, session: SessionId) -> bool:
    holder = store.leases.new_holder("turn")
    return await store.leases.claim(session_lease(session), holder) is not None


async def test_server_is_known_from_its_first_beat_until_it_leaves(
    store: AnyStore, other: AnyStore, clock: FakeClock
) -> None:
    here, there = members(store), members(other)
    await there.beat()
    there.address = "http://127.0.0.1:1"
    clock.advance(4)
    await there.beat()
    clock.advance(2)
    (known,) = await here.all()
    assert (known.id, known.address, known.silent) == (there.id, "http://127.0.0.1:1", 2000)
    assert not known.draining
    await there.drain()
    assert [each.draining for each in await here.all()] == [True]
    await there.leave()
    assert await here.all() == []


@pytest.mark.contract("B3")
async def test_what_a_silent_server_held_is_free_and_what_it_writes_is_refused(
    store: AnyStore, other: AnyStore, ada: Driver, clock: FakeClock
) -> None:
    here, there = members(store), members(other)
    await here.beat()
    await there.beat()
    session = await ada.session()
    turn = await ada.submit(session)
    run = await ada.start(turn, await ada.claim(session, other.leases.new_holder("turn")))
    clock.advance(SILENCE)
    await here.beat()
    assert await here.bury(SILENCE) == [], "not a moment before"
    assert not await claimed(store, session)
    clock.advance(0.001)
    assert await here.bury(SILENCE) == [there.id]
    assert [each.id for each in await here.all()] == [here.id]
    assert [orphan.turn for orphan in await store.work.orphans()] == [turn]
    for _ in range(2):  # nobody has taken it so far; then somebody has
        with pytest.raises(Fenced):
            await ada.say(run, "I was only asleep")
        assert (await ada.stream(run, "I was")).stored == {}
        assert (await ada.stream(run, "")).lost == {run.lease.name}
        await claimed(store, session)
    await there.beat()
    assert len(await here.all()) == 2, "it is back, without what it had"


@pytest.mark.contract("B3")
async def test_session_that_is_just_claimed_stays_with_whoever_claims_it(
    ada: Driver, store: AnyStore, other: AnyStore, folder: Path, clock: FakeClock
) -> None:
    session, here = await ada.session(), members(store)
    await members(other).beat()
    assert await claimed(other, session)
    clock.advance(60)
    async with transaction(folder) as claim:
        await claim.execute(f"UPDATE sessions SET token = token + 1 WHERE id = '{session}'")
        await claim.execute(
            f"UPDATE leases SET token = token + 1, holder = 'third:1', until = {clock.now() + 1}"
        )
        burying = asyncio.ensure_future(here.bury(SILENCE))
        await somebody_waits(claim)
    assert len(await burying) == 1
    lease = await store.leases.holder(session_lease(session))
    assert lease is not None
    assert (lease.holder, lease.token) == ("third:1", (await ada.sessions.get(session)).token)


async def test_only_the_silent_ones_lose_their_leases(
    store: AnyStore, other: AnyStore, ada: Driver, clock: FakeClock
) -> None:
    session, mine = await ada.session(), await ada.session()
    await ada.claim(session, other.leases.new_holder("turn"))
    await ada.claim(mine, store.leases.new_holder("turn"))
    clock.advance(SILENCE + 1)
    await members(other).beat()
    assert await members(store).bury(SILENCE) == [], "nor does whoever looks bury itself"
    assert not await claimed(store, session)
    assert not await claimed(other, mine)


async def test_workspace_is_taken_only_from_whom_the_taker_names(
    store: AnyStore, other: AnyStore, ada: Driver
) -> None:
    session, here, there = await ada.session(), members(store), members(other)
    assert await there.settle(session) == Settled()
    assert await claimed(store, session)
    for taking in (None, "another"):
        assert await here.settle(session, taking=taking) == Settled(before=there.id)
    assert await there.over_among([session]) == frozenset(), "it has it still"
    assert await here.settle(session, taking=there.id) == Settled(before=there.id)
    assert await there.over_among([session]) == {session}
    assert await here.settle(session, taking=there.id) == Settled(), "as if the answer was lost"
