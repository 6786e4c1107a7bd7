"""Leases beyond their contracts: odd names, odd holders, sessions that are not there."""

import pytest

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.store.leases import session_lease
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.store_driver import HOLDER, OTHER_HOLDER, Driver

pytestmark = pytest.mark.both


async def test_claim_without_a_holder_is_not_granted(store: Store) -> None:
    assert await store.leases.claim("scheduler", "") is None
    assert await store.leases.claim("scheduler", HOLDER) is not None


async def test_claim_repeated_by_its_holder_gives_the_same_lease(
    store: Store, clock: FakeClock
) -> None:
    first = await store.leases.claim("scheduler", HOLDER)
    clock.advance(10)
    assert await store.leases.claim("scheduler", HOLDER) == first


async def test_lapsed_lease_that_nobody_took_can_be_renewed(store: Store, clock: FakeClock) -> None:
    lease = await store.leases.claim("scheduler", HOLDER)
    assert lease is not None
    clock.advance(31)
    assert await store.leases.renew(lease)
    assert await store.leases.claim("scheduler", OTHER_HOLDER) is None


async def test_released_lease_can_not_be_renewed(store: Store) -> None:
    lease = await store.leases.claim("scheduler", HOLDER)
    assert lease is not None
    await store.leases.release(lease)
    assert not await store.leases.renew(lease)
    assert await store.leases.holder("scheduler") is None


async def test_lease_of_a_session_that_is_not_there_is_not_found(store: Store) -> None:
    name = session_lease(SessionId("ses_unknown"))
    with pytest.raises(NotFound):
        await store.leases.claim(name, HOLDER)
    assert await store.leases.holder(name) is None


async def test_claiming_is_no_write_to_the_session(ada: Driver, session: SessionId) -> None:
    before = await ada.sessions.get(session)
    lease = await ada.claim(session)
    after = await ada.sessions.get(session)
    assert after.token == lease.token
    assert (after.revision, after.active_at) == (before.revision, before.active_at)
