"""Users, as admins see to them and as they see to themselves."""

import asyncio

import pytest

from roost.core.errors import Conflict, InvalidInput, SignInRefused, TooManyTries
from roost.core.users import Caps, Profile
from roost.runtime.identities import Identities
from roost.store.store import Store
from roost.testing.clock import FakeClock
from tests.identities import HOME, RIGHT, WRONG, identities_of, opens
from tests.store_driver import Driver

NEW = "a quite different horse"


@pytest.fixture
def identities(store: Store, clock: FakeClock) -> Identities:
    return identities_of(store, clock)


async def test_user_is_added_with_what_is_right(identities: Identities) -> None:
    people = identities.people
    ada = await people.create("  Ada  L ", role="admin", time_zone="Europe/Zurich", locale="de-CH")
    assert (ada.name, ada.role, ada.time_zone, ada.locale) == (
        "Ada L",
        "admin",
        "Europe/Zurich",
        "de-CH",
    )
    assert await people.all() == [ada]
    assert await people.named("ada l") == await people.get(ada.id) == ada


@pytest.mark.parametrize(
    "profile",
    [
        Profile(name=" "),
        Profile(name="ADA"),
        Profile(time_zone="Mars/Olympus"),
        Profile(time_zone="../../etc/passwd"),
        Profile(time_zone="Europe"),
        Profile(time_zone=""),
        Profile(time_zone="UTC\x00"),
        Profile(locale="german"),
    ],
    ids=repr,
)
async def test_what_makes_no_sense_changes_nothing(
    identities: Identities, ada: Driver, bob: Driver, profile: Profile
) -> None:
    with pytest.raises(InvalidInput):
        await identities.people.change(bob.user.id, profile)
    assert await identities.people.get(bob.user.id) == bob.user


async def test_change_is_seen_with_the_next_request(identities: Identities, ada: Driver) -> None:
    link = await identities.link(ada.user.id)
    cookie = (await identities.sign_in_with_link(link.reveal(), None)).secret
    await opens(identities, cookie)
    await identities.people.change(ada.user.id, Profile(name="Augusta", time_zone="Asia/Tokyo"))
    found = await opens(identities, cookie)
    assert found is not None
    assert (found.user.name, found.user.time_zone) == ("Augusta", "Asia/Tokyo")


async def test_disabling_revokes_everything_for_good(
    identities: Identities, ada: Driver, bob: Driver
) -> None:
    people, id = identities.people, bob.user.id
    link = await identities.link(id)
    cookie = (await identities.sign_in_with_link(link.reveal(), None)).secret
    token = (await identities.create_token(id, name="x", scopes=["read"])).secret
    unused = await identities.link(id)
    assert (await people.disable(id)).disabled_at is not None
    assert (await people.enable(id)).disabled_at is None
    assert not await opens(identities, cookie)
    assert not await opens(identities, token)
    with pytest.raises(SignInRefused):
        await identities.sign_in_with_link(unused.reveal(), None)
    with pytest.raises(Conflict):
        await people.disable(ada.user.id)


async def test_own_password_is_changed_by_who_knows_it_and_others_are_signed_out(
    identities: Identities, ada: Driver
) -> None:
    people = identities.people
    link = await identities.link(ada.user.id)
    here = await identities.sign_in_with_link(link.reveal(), None)
    await people.change_password(ada.user, None, RIGHT, keep=here.id, address=HOME)
    there = await identities.sign_in_with_password("Ada", RIGHT, None, HOME)
    for wrong in (WRONG, "", None):
        with pytest.raises(SignInRefused, match="old password"):
            await people.change_password(ada.user, wrong, NEW, keep=here.id, address=HOME)
    with pytest.raises(InvalidInput):
        await people.change_password(ada.user, RIGHT, "short", keep=here.id, address=HOME)
    assert await opens(identities, there.secret)
    await people.change_password(ada.user, RIGHT, NEW, keep=here.id, address=HOME)
    assert await opens(identities, here.secret)
    assert not await opens(identities, there.secret)
    await identities.sign_in_with_password("Ada", NEW, None, HOME)


async def test_guessing_the_old_password_is_slowed_down(
    identities: Identities, ada: Driver
) -> None:
    people = identities.people
    await people.set_password(ada.user.id, RIGHT)
    link = await identities.link(ada.user.id)
    here = await identities.sign_in_with_link(link.reveal(), None)
    for _ in range(5):
        with pytest.raises(SignInRefused):
            await people.change_password(ada.user, WRONG, NEW, keep=here.id, address=HOME)
    with pytest.raises(TooManyTries):
        await people.change_password(ada.user, RIGHT, NEW, keep=here.id, address=HOME)


async def test_of_two_changes_at_once_one_counts(identities: Identities, ada: Driver) -> None:
    people = identities.people
    link = await identities.link(ada.user.id)
    here = await identities.sign_in_with_link(link.reveal(), None)
    await people.set_password(ada.user.id, RIGHT, keep=here.id)
    changes = [
        people.change_password(ada.user, RIGHT, f"{NEW} {number}", keep=here.id, address=HOME)
        for number in range(4)
    ]
    outcomes = await asyncio.gather(*changes, return_exceptions=True)
    (won,) = [number for number, each in enumerate(outcomes) if each is None]
    assert all(isinstance(each, SignInRefused) for each in outcomes if each is not None)
    await identities.sign_in_with_password("Ada", f"{NEW} {won}", None, HOME)


async def test_caps(identities: Identities, bob: Driver) -> None:
    await identities.people.set_caps(bob.user.id, Caps(day_cost=1.5))
    assert await identities.people.caps(bob.user.id) == Caps(day_cost=1.5)
