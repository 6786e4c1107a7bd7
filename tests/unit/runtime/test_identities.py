"""Signing in, and whom requests come from: once, for so long, and never after a revocation."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import structlog
from argon2 import PasswordHasher
from structlog.processors import KeyValueRenderer

from roost.core.errors import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    SignInRefused,
    TooManyTries,
)
from roost.core.identities import SignedIn
from roost.core.ids import SignInId
from roost.runtime import identities as runtime_identities
from roost.runtime import passwords, people, sightings
from roost.runtime.identities import FIRST_LINK, LINK, Identities
from roost.runtime.passwords import Passwords
from roost.runtime.principals import KEPT
from roost.store.store import Store
from roost.testing import faults
from roost.testing.clock import FakeClock
from tests.identities import HOME, QUICK, RIGHT, WRONG, identities_of, opens
from tests.store_driver import Driver, opened


@pytest.fixture
def identities(store: Store, clock: FakeClock) -> Identities:
    return identities_of(store, clock)


async def by_link(identities: Identities, ada: Driver) -> SignedIn:
    secret = await identities.link(ada.user.id)
    return await identities.sign_in_with_link(secret.reveal(), "Firefox")


async def by_password(
    identities: Identities, password: str = RIGHT, *, name: str = "Ada"
) -> SignedIn:
    return await identities.sign_in_with_password(name, password, "Firefox", HOME)


# Links.


async def test_link_signs_in_and_the_cookie_says_who(identities: Identities, ada: Driver) -> None:
    signed_in = await by_link(identities, ada)
    found = await identities.authenticate(cookie=signed_in.secret.reveal())
    assert (found.user, found.via, found.id) == (ada.user, "browser", signed_in.id)
    assert found.may("read")
    assert found.may("chat")
    assert found.may("admin")


async def test_link_works_once_and_for_a_while(
    identities: Identities, ada: Driver, clock: FakeClock
) -> None:
    used = await identities.link(ada.user.id)
    await identities.sign_in_with_link(used.reveal(), None)
    late = await identities.link(ada.user.id)
    clock.advance(LINK)
    for secret in (used.reveal(), late.reveal(), "x" * 43, "", "nonsense"):
        with pytest.raises(SignInRefused, match="roost user link"):
            await identities.sign_in_with_link(secret, None)


async def test_of_two_who_use_a_link_at_once_one_gets_in(
    identities: Identities, ada: Driver
) -> None:
    secret = (await identities.link(ada.user.id)).reveal()
    tries = [identities.sign_in_with_link(secret, str(number)) for number in range(2)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["SignInRefused", "SignedIn"]


@pytest.mark.parametrize("place", ["store.commit.before", "store.commit.after"])
async def test_store_that_fails_for_a_moment_loses_no_link(
    identities: Identities, ada: Driver, place: str
) -> None:
    secret = await identities.link(ada.user.id)
    with faults.failing(place):
        signed_in = await identities.sign_in_with_link(secret.reveal(), None)
    assert await opens(identities, signed_in.secret)
    assert len(await identities.sign_ins(ada.user.id)) == 1


async def test_first_start_has_a_link_for_its_owner_until_somebody_signed_in(
    identities: Identities, clock: FakeClock
) -> None:
    first = await identities.first_link()
    again = await identities.first_link()
    assert first is not None
    assert again is not None
    with pytest.raises(SignInRefused):
        await identities.sign_in_with_link(first.reveal(), None)
    clock.advance(FIRST_LINK - 1)
    signed_in = await identities.sign_in_with_link(again.reveal(), None)
    assert (signed_in.user.name, signed_in.user.role) == ("owner", "admin")
    assert await identities.first_link() is None
    await identities.revoke_sign_in(signed_in.user.id, signed_in.id)
    assert await identities.first_link() is None


async def test_no_first_link_for_an_owner_who_is_disabled(identities: Identities) -> None:
    owner = await identities.people.owner()
    await identities.people.create("Ada", role="admin")
    await identities.people.disable(owner.id)
    assert await identities.first_link() is None


async def test_no_first_link_once_there_is_a_password(identities: Identities) -> None:
    owner = await identities.people.owner()
    await identities.people.set_password(owner.id, RIGHT)
    assert await identities.first_link() is None


# Passwords.


async def test_password_signs_in(identities: Identities, ada: Driver) -> None:
    await identities.people.set_password(ada.user.id, RIGHT)
    first = await by_password(identities)
    second = await by_password(identities, name=" ada ")
    assert first.secret != second.secret, "nobody's cookie of before becomes a sign-in"
    for each in (first, second):
        assert await opens(identities, each.secret)


async def test_refusals_are_all_alike(identities: Identities, ada: Driver, bob: Driver) -> None:
    await identities.people.set_password(bob.user.id, RIGHT)
    said: set[str] = set()
    await identities.people.disable(bob.user.id)
    for name, password in (
        ("Bob", RIGHT),  # disabled
        ("Ada", RIGHT),  # without a password
        ("nobody", RIGHT),
        ("x" * 10_000, RIGHT),
        ("\udc80", ""),
    ):
        with pytest.raises(SignInRefused) as refused:
            await by_password(identities, password, name=name)
        said.add(str(refused.value))
    await identities.people.enable(bob.user.id)
    with pytest.raises(SignInRefused) as refused:
        await by_password(identities, WRONG, name="Bob")
    assert said | {str(refused.value)} == {"The name or the password is not right."}


async def test_guessing_is_slowed_down_and_the_right_one_too(
    identities: Identities, ada: Driver, clock: FakeClock
) -> None:
    await identities.people.set_password(ada.user.id, RIGHT)
    for _ in range(5):
        with pytest.raises(SignInRefused):
            await by_password(identities, WRONG)
    with pytest.raises(TooManyTries) as refused:
        await by_password(identities)
    clock.advance(refused.value.seconds)
    await by_password(identities)
    with pytest.raises(SignInRefused):
        await by_password(identities, WRONG)
    await by_password(identities)


async def test_hundred_guesses_at_once_are_five(identities: Identities, ada: Driver) -> None:
    await identities.people.set_password(ada.user.id, RIGHT)
    tries = [by_password(identities, f"{WRONG} {number}") for number in range(100)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert len([each for each in outcomes if isinstance(each, SignInRefused)]) == 5
    assert len([each for each in outcomes if isinstance(each, TooManyTries)]) == 95


async def test_unknown_names_are_slowed_down_alike(identities: Identities) -> None:
    for _ in range(5):
        with pytest.raises(SignInRefused):
            await by_password(identities, name="nobody")
    with pytest.raises(TooManyTries):
        await by_password(identities, name="Nobody")


async def test_password_that_is_changed_meanwhile_lets_nobody_stay_in(
    identities: Identities, ada: Driver, clock: FakeClock
) -> None:
    for number in range(20):
        await identities.people.set_password(ada.user.id, f"{RIGHT} {number}")
        racing = asyncio.create_task(by_password(identities, f"{RIGHT} {number}"))
        for _ in range(number):
            await asyncio.sleep(0)
        await identities.people.set_password(ada.user.id, f"{RIGHT} new")
        (outcome,) = await asyncio.gather(racing, return_exceptions=True)
        if isinstance(outcome, SignedIn):
            assert not await opens(identities, outcome.secret)
        else:
            assert isinstance(outcome, SignInRefused)
        assert await identities.sign_ins(ada.user.id) == []
        clock.advance(3600)


async def test_password_hashed_as_of_old_is_hashed_anew(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    older = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
    before = Identities(store, clock, passwords=Passwords(older))
    await before.people.set_password(ada.user.id, RIGHT)
    identities = identities_of(store, clock)
    signed_in = await by_password(identities)
    hash = await store.users.password(ada.user.id)
    assert hash is not None
    assert not QUICK.check_needs_rehash(hash)
    assert await opens(identities, signed_in.secret)
    await by_password(identities)


# Requests.


@pytest.mark.parametrize("cookie", [None, "", "x" * 43, "é" * 43, "x" * 100_000, "a\r\nb"])
async def test_without_a_sign_in_nobody_is_known(
    identities: Identities, cookie: str | None
) -> None:
    with pytest.raises(NotSignedIn):
        await identities.authenticate(cookie=cookie)
    if cookie is not None:
        with pytest.raises(NotSignedIn):
            await identities.authenticate(bearer=cookie)


async def test_one_kind_of_secret_is_of_no_use_as_another(
    identities: Identities, ada: Driver
) -> None:
    link = (await identities.link(ada.user.id)).reveal()
    with pytest.raises(NotSignedIn):
        await identities.authenticate(cookie=link)
    cookie = (await identities.sign_in_with_link(link, None)).secret.reveal()
    token = await identities.create_token(ada.user.id, name="x", scopes=["chat"])
    for wrong in (
        identities.authenticate(bearer=cookie),
        identities.authenticate(cookie=token.secret.reveal()),
        identities.authenticate(cookie=cookie, bearer="wrong"),
    ):
        with pytest.raises(NotSignedIn):
            await wrong
    with pytest.raises(SignInRefused):
        await identities.sign_in_with_link(cookie, None)
    both = await identities.authenticate(cookie=cookie, bearer=token.secret.reveal())
    assert both.via == "token"


Change = Callable[[Identities, Driver, SignInId], Awaitable[object]]

REVOKING: dict[str, Change] = {
    "this one": lambda of, bob, id: of.revoke_sign_in(bob.user.id, id),
    "all": lambda of, bob, _: of.revoke_sign_ins(bob.user.id),
    "others": lambda of, bob, _: of.revoke_sign_ins(bob.user.id, keep=SignInId("sgn_other")),
    "disable": lambda of, bob, _: of.people.disable(bob.user.id),
    "password": lambda of, bob, _: of.people.set_password(bob.user.id, RIGHT),
}


@pytest.mark.parametrize("name", REVOKING)
async def test_revocation_counts_with_the_next_request(
    identities: Identities, ada: Driver, bob: Driver, name: str
) -> None:
    signed_in = await by_link(identities, bob)
    assert await opens(identities, signed_in.secret)
    await REVOKING[name](identities, bob, signed_in.id)
    assert not await opens(identities, signed_in.secret)


@pytest.mark.parametrize("name", REVOKING)
async def test_revocation_counts_also_if_its_answer_is_lost(
    identities: Identities, ada: Driver, bob: Driver, name: str
) -> None:
    signed_in = await by_link(identities, bob)
    assert await opens(identities, signed_in.secret)
    with faults.failing("store.commit.after"):
        await REVOKING[name](identities, bob, signed_in.id)
    assert not await opens(identities, signed_in.secret)


async def test_requests_during_a_revocation_outlast_it_by_nothing(
    identities: Identities, bob: Driver
) -> None:
    for _ in range(20):
        signed_in = await by_link(identities, bob)
        asking = [asyncio.create_task(opens(identities, signed_in.secret)) for _ in range(10)]
        await identities.revoke_sign_in(bob.user.id, signed_in.id)
        assert not await opens(identities, signed_in.secret)
        await asyncio.gather(*asking)
        assert not await opens(identities, signed_in.secret)


async def test_another_servers_revocation_counts_within_seconds(
    store: Store, ada: Driver, clock: FakeClock
) -> None:
    here, there = identities_of(store, clock), identities_of(store, clock)
    signed_in = await by_link(here, ada)
    assert await opens(here, signed_in.secret)
    await there.revoke_sign_in(ada.user.id, signed_in.id)
    clock.advance(KEPT)
    assert not await opens(here, signed_in.secret)


async def test_role_of_now_counts(identities: Identities, ada: Driver, bob: Driver) -> None:
    signed_in = await by_link(identities, bob)
    await identities.people.set_role(bob.user.id, "admin")
    token = await identities.create_token(bob.user.id, name="x", scopes=["admin"])
    for secret in (signed_in.secret, token.secret):
        found = await opens(identities, secret)
        assert found is not None
        assert found.may("admin")
    await identities.people.set_role(bob.user.id, "member")
    for secret in (signed_in.secret, token.secret):
        found = await opens(identities, secret)
        assert found is not None
        assert not found.may("admin")


async def test_end_counts_to_the_millisecond_also_from_memory(
    identities: Identities, ada: Driver, clock: FakeClock
) -> None:
    token = await identities.create_token(ada.user.id, name="x", scopes=["read"], seconds=1)
    clock.advance(0.999)
    assert await opens(identities, token.secret)
    clock.advance(0.001)
    assert not await opens(identities, token.secret)


async def test_everything_outlasts_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    async with opened(tmp_path, clock) as store:
        identities = identities_of(store, clock)
        owner = await identities.people.owner()
        link = await identities.link(owner.id)
        cookie = (await identities.sign_in_with_link(link.reveal(), None)).secret
        unused = await identities.link(owner.id)
        token = (await identities.create_token(owner.id, name="x", scopes=["read"])).secret
        await identities.people.set_password((await identities.people.create("Bob")).id, RIGHT)
    for path in tmp_path.rglob("*"):
        kept = path.read_bytes() if path.is_file() else b""
        for secret in (link, cookie, unused, token):
            assert secret.reveal().encode() not in kept, path
        assert RIGHT.encode() not in kept, path
    async with opened(tmp_path, clock) as store:
        identities = identities_of(store, clock)
        assert await opens(identities, cookie)
        assert await opens(identities, token)
        await identities.sign_in_with_link(unused.reveal(), None)
        await by_password(identities, name="Bob")
        with pytest.raises(SignInRefused):
            await identities.sign_in_with_link(link.reveal(), None)


# What is listed.


async def test_sign_ins_are_listed_with_what_browsers_say_made_harmless(
    identities: Identities, ada: Driver, bob: Driver
) -> None:
    for agent in ("Fire\x1b[2Jfox\r\n\u202e", "x" * 1000, "", None):
        secret = await identities.link(ada.user.id)
        await identities.sign_in_with_link(secret.reveal(), agent)
    agents = {each.agent for each in await identities.sign_ins(ada.user.id)}
    assert agents == {"Fire[2Jfox", "x" * 200, None}
    assert await identities.sign_ins(bob.user.id) == []


async def test_others_things_are_not_found(
    identities: Identities, ada: Driver, bob: Driver
) -> None:
    signed_in = await by_link(identities, ada)
    token = await identities.create_token(ada.user.id, name="x", scopes=["read"])
    with pytest.raises(NotFound):
        await identities.revoke_sign_in(bob.user.id, signed_in.id)
    with pytest.raises(NotFound):
        await identities.revoke_token(bob.user.id, token.token.id)
    assert await opens(identities, signed_in.secret)
    assert await opens(identities, token.secret)


# Tokens.


async def test_token_may_what_it_was_made_for(identities: Identities, ada: Driver) -> None:
    made = await identities.create_token(ada.user.id, name="  my \n laptop ", scopes=["read"])
    found = await opens(identities, made.secret)
    assert found is not None
    assert (found.user, found.via, found.id) == (ada.user, "token", made.token.id)
    assert found.may("read")
    assert not found.may("chat")
    assert [each.name for each in await identities.tokens(ada.user.id)] == ["my laptop"]
    await identities.revoke_token(ada.user.id, made.token.id)
    assert not await opens(identities, made.secret)
    assert await identities.tokens(ada.user.id) == []


async def test_token_that_makes_no_sense_is_refused(
    identities: Identities, ada: Driver, bob: Driver
) -> None:
    for name, seconds in (("", None), ("x" * 65, None), ("a\x1bb", None), ("x", 0), ("x", 1e12)):
        with pytest.raises(InvalidInput):
            await identities.create_token(ada.user.id, name=name, scopes=["read"], seconds=seconds)
    with pytest.raises(InvalidInput):
        await identities.create_token(ada.user.id, name="x", scopes=[])
    with pytest.raises(NotAllowed):
        await identities.create_token(bob.user.id, name="x", scopes=["admin"])
    await identities.people.disable(bob.user.id)
    with pytest.raises(Conflict):
        await identities.create_token(bob.user.id, name="x", scopes=["read"])


async def test_no_secret_is_logged(
    identities: Identities, ada: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    # Of their own: whoever ran before may have set logging up for good.
    log = structlog.wrap_logger(structlog.PrintLogger(written), [KeyValueRenderer()])
    for module in (runtime_identities, people, passwords, sightings):
        monkeypatch.setattr(module, "log", log)
    link = await identities.link(ada.user.id)
    cookie = (await identities.sign_in_with_link(link.reveal(), None)).secret
    token = (await identities.create_token(ada.user.id, name="x", scopes=["read"])).secret
    await identities.people.set_password(ada.user.id, RIGHT)
    for name, password in (("Ada", WRONG), (RIGHT, "Ada")):
        with pytest.raises(SignInRefused):
            await by_password(identities, password, name=name)
    logged = written.getvalue()
    assert "a browser signed in" in logged
    assert "a sign-in was refused" in logged
    for secret in (link.reveal(), cookie.reveal(), token.reveal(), RIGHT, WRONG):
        assert secret not in logged
