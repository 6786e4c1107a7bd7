"""Who was seen is noted, not more than once a minute, and not while somebody waits."""

import asyncio

from roost.core.keys import Key
from roost.runtime.identities import SIGNED_IN, Identities
from roost.store.store import Store
from roost.testing import faults
from roost.testing.clock import FakeClock
from tests.identities import identities_of, opens
from tests.store_driver import Driver, eventually


async def signed_in(identities: Identities, ada: Driver) -> Key:
    secret = await identities.link(ada.user.id)
    return (await identities.sign_in_with_link(secret.reveal(), "Firefox")).secret


async def seen_at(identities: Identities, ada: Driver) -> int | None:
    (found,) = await identities.sign_ins(ada.user.id)
    return found.seen_at


async def test_browser_that_is_used_stays_signed_in(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    identities = identities_of(store, clock)
    cookie = await signed_in(identities, ada)
    for _ in range(4):
        clock.advance(SIGNED_IN - 1)
        assert await opens(identities, cookie)
        await identities.sightings.write()
        assert await seen_at(identities, ada) == clock.now()
    clock.advance(SIGNED_IN)
    assert not await opens(identities, cookie)
    await identities.sightings.write()
    assert await identities.sign_ins(ada.user.id) == []


async def test_not_more_than_once_a_minute(store: Store, ada: Driver, clock: FakeClock) -> None:
    identities = identities_of(store, clock)
    cookie = await signed_in(identities, ada)
    began = clock.now()
    for _ in range(59):
        clock.advance(1)
        assert await opens(identities, cookie)
        await identities.sightings.write()
        assert await seen_at(identities, ada) == began
    clock.advance(10)
    assert await opens(identities, cookie)
    await identities.sightings.write()
    assert await seen_at(identities, ada) == clock.now()


async def test_clock_that_was_set_back_is_followed(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    identities = identities_of(store, clock)
    clock.advance(365 * 86400)
    cookie = await signed_in(identities, ada)
    clock.advance(-365 * 86400)
    assert await opens(identities, cookie)
    await identities.sightings.write()
    (found,) = await identities.sign_ins(ada.user.id)
    assert (found.seen_at, found.expires_at) == (clock.now(), clock.now() + SIGNED_IN * 1000)


async def test_tokens_are_seen_and_their_end_stays(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    identities = identities_of(store, clock)
    made = await identities.create_token(ada.user.id, name="x", scopes=["read"], seconds=100)
    clock.advance(10)
    assert await opens(identities, made.secret)
    await identities.sightings.write()
    (found,) = await identities.tokens(ada.user.id)
    assert (found.used_at, found.expires_at) == (clock.now(), made.token.expires_at)


async def test_it_is_noted_in_the_background_and_a_failure_ends_nothing(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    identities = identities_of(store, clock)
    cookie = await signed_in(identities, ada)
    clock.advance(60)

    async def noted() -> bool:
        return await seen_at(identities, ada) == clock.now()

    running = asyncio.create_task(identities.run())
    try:
        with faults.failing("store.commit.after"):
            assert await opens(identities, cookie)
            await eventually(noted)
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.wait([running])
