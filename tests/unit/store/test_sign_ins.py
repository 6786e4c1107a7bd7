"""Sign-ins in the store: links work once, sign-ins are each user's own, and what ended is swept."""

import asyncio

import pytest

from roost.core.errors import Conflict, NotFound
from roost.core.ids import SignInId, UserId, new_sign_in_id
from roost.store.sign_ins import MOST, NewSignIn
from roost.store.store import Store
from roost.store.upkeep import DAY
from roost.testing.clock import FakeClock
from tests.store_driver import Driver

pytestmark = pytest.mark.both

LINK, COOKIE = b"link", b"cookie"


def new(hash: bytes = COOKIE, *, ttl: float = DAY) -> NewSignIn:
    return NewSignIn(new_sign_in_id(), hash, "Firefox", ttl)


async def link_for(ada: Driver, hash: bytes = LINK, *, ttl: float = 60) -> None:
    await ada.store.of(ada.user.id).sign_ins.add_link(new_sign_in_id(), hash, ttl)


async def signed_in(ada: Driver, hash: bytes = COOKIE, *, ttl: float = DAY) -> SignInId:
    await link_for(ada, b"link of " + hash)
    admitted = await ada.store.sign_ins.redeem(b"link of " + hash, new(hash, ttl=ttl))
    assert admitted is not None
    return admitted.id


async def test_link_signs_in_one_browser(ada: Driver, clock: FakeClock) -> None:
    await link_for(ada)
    first = new()
    admitted = await ada.store.sign_ins.redeem(LINK, first)
    assert admitted is not None
    assert (admitted.user, admitted.id) == (ada.user, first.id)
    assert await ada.store.sign_ins.find(COOKIE) == admitted
    assert await ada.store.sign_ins.redeem(LINK, new(b"other")) is None
    (listed,) = await ada.store.of(ada.user.id).sign_ins.all()
    assert (listed.id, listed.agent, listed.seen_at) == (first.id, "Firefox", clock.now())


async def test_of_many_who_use_a_link_at_once_one_gets_in(ada: Driver) -> None:
    await link_for(ada)
    tries = [ada.store.sign_ins.redeem(LINK, new(b"%d" % number)) for number in range(50)]
    found = [each for each in await asyncio.gather(*tries) if each is not None]
    assert len(found) == 1
    assert len(await ada.store.of(ada.user.id).sign_ins.all()) == 1


async def test_link_is_no_cookie_and_a_cookie_no_link(ada: Driver) -> None:
    await link_for(ada)
    assert await ada.store.sign_ins.find(LINK) is None
    await signed_in(ada)
    assert await ada.store.sign_ins.redeem(COOKIE, new(b"other")) is None


async def test_new_link_voids_the_one_before(ada: Driver, bob: Driver) -> None:
    await link_for(ada, b"old")
    await link_for(bob, b"of bob")
    await link_for(ada, b"new")
    assert await ada.store.sign_ins.redeem(b"old", new(b"1")) is None
    assert await ada.store.sign_ins.redeem(b"new", new(b"2")) is not None
    assert await ada.store.sign_ins.redeem(b"of bob", new(b"3")) is not None


async def test_link_and_sign_in_expire(ada: Driver, clock: FakeClock) -> None:
    await link_for(ada, ttl=60)
    clock.advance(60)
    assert await ada.store.sign_ins.redeem(LINK, new()) is None
    id = await signed_in(ada, ttl=100)
    clock.advance(99)
    assert await ada.store.sign_ins.find(COOKIE) is not None
    await ada.store.sign_ins.touch([id], 100)
    clock.advance(99)
    assert await ada.store.sign_ins.find(COOKIE) is not None
    clock.advance(1)
    assert await ada.store.sign_ins.find(COOKIE) is None
    await ada.store.sign_ins.touch([id], 100)
    assert await ada.store.sign_ins.find(COOKIE) is None, "what has expired stays so"
    assert await ada.store.of(ada.user.id).sign_ins.all() == []


async def test_disabled_user_gets_no_link_and_uses_none(ada: Driver, bob: Driver) -> None:
    await link_for(bob)
    await ada.store.users.change(bob.user.id, disabled=True)
    assert await ada.store.sign_ins.redeem(LINK, new()) is None
    await ada.store.users.change(bob.user.id, disabled=False)
    assert await ada.store.sign_ins.redeem(LINK, new()) is None, "it was revoked with the rest"
    await ada.store.users.change(bob.user.id, disabled=True)
    with pytest.raises(Conflict, match="disabled"):
        await link_for(bob)
    with pytest.raises(NotFound):
        await ada.store.of(UserId("usr_x")).sign_ins.add_link(new_sign_in_id(), b"x", 1)


async def test_password_has_to_be_the_one_of_now(ada: Driver) -> None:
    sign_ins = ada.store.of(ada.user.id).sign_ins
    assert await sign_ins.add(new(), checked="hash") is None
    await ada.store.users.set_password(ada.user.id, "hash")
    assert await sign_ins.add(new(), checked="other") is None
    assert await sign_ins.add(new(), checked="hash") is not None


async def test_sign_ins_are_each_users_own(ada: Driver, bob: Driver) -> None:
    id = await signed_in(ada)
    theirs = bob.store.of(bob.user.id).sign_ins
    assert await theirs.all() == []
    with pytest.raises(NotFound):
        await theirs.revoke(id)
    await theirs.revoke_all()
    assert await ada.store.sign_ins.find(COOKIE) is not None


async def test_revoking_one_and_all_others(ada: Driver) -> None:
    sign_ins = ada.store.of(ada.user.id).sign_ins
    ids = [await signed_in(ada, b"%d" % number) for number in range(3)]
    await sign_ins.revoke(ids[0])
    await sign_ins.revoke(ids[0])
    assert {each.id for each in await sign_ins.all()} == set(ids[1:])
    await link_for(ada)
    await sign_ins.revoke_all(keep=ids[1])
    assert [each.id for each in await sign_ins.all()] == [ids[1]]
    assert await ada.store.sign_ins.redeem(LINK, new(b"late")) is None
    await ada.store.sign_ins.touch(ids, DAY)
    assert await ada.store.sign_ins.find(b"2") is None, "being seen does not bring it back"


async def test_too_many_at_once_push_out_those_not_seen_for_longest(
    ada: Driver, clock: FakeClock
) -> None:
    ids: list[SignInId] = []
    for number in range(MOST + 2):
        ids.append(await signed_in(ada, b"%d" % number))
        clock.advance(1)
    found = await ada.store.of(ada.user.id).sign_ins.all()
    assert [each.id for each in found] == ids[:1:-1]


async def test_first_link_is_for_a_roost_that_nobody_has_used(
    store: Store, ada: Driver, bob: Driver
) -> None:
    async def first(hash: bytes) -> bool:
        return await store.sign_ins.first_link(ada.user.id, new_sign_in_id(), hash, 60)

    assert await first(b"1")
    assert await first(b"2")
    assert await store.sign_ins.redeem(b"1", new(b"x")) is None
    assert await store.sign_ins.redeem(b"2", new(b"y")) is not None
    assert not await first(b"3")
    await store.of(ada.user.id).sign_ins.revoke_all()
    assert not await first(b"4")


async def test_no_first_link_where_somebody_has_a_password(
    store: Store, ada: Driver, bob: Driver
) -> None:
    await store.users.set_password(bob.user.id, "hash")
    assert not await store.sign_ins.first_link(ada.user.id, new_sign_in_id(), LINK, 60)


async def test_what_ended_long_ago_is_swept(
    store: Store, ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    for number in range(3):
        await signed_in(ada, b"%d" % number, ttl=1)
    stays = await signed_in(ada, b"stays", ttl=200 * DAY)
    await signed_in(bob, b"bob", ttl=1)
    clock.advance(90 * DAY)
    assert (await store.upkeep.run()).sign_ins == 0
    clock.advance(62)
    assert (await store.upkeep.run()).sign_ins == 3 + 5, "five links; of each user one stays"
    assert [each.id for each in await store.of(ada.user.id).sign_ins.all()] == [stays]
    assert not await store.sign_ins.first_link(ada.user.id, new_sign_in_id(), LINK, 60)
