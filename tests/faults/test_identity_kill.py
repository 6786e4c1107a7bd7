"""`kill -9` while somebody comes in or is shut out: all of it happened, or nothing."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from roost.core.clock import SystemClock
from roost.core.errors import SignInRefused
from roost.core.keys import Key
from roost.core.users import User
from roost.runtime.identities import Identities
from roost.runtime.passwords import Passwords
from tests.faults.identity_process import NEW_PASSWORD
from tests.identities import HOME, QUICK, RIGHT, opens
from tests.store_driver import opened

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 60.0

Moment = Literal["before", "after"]
MOMENTS: tuple[Moment, ...] = ("before", "after")


@asynccontextmanager
async def identities_in(folder: Path) -> AsyncGenerator[Identities]:
    clock = SystemClock()
    async with opened(folder, clock) as store:
        yield Identities(store, clock, passwords=Passwords(QUICK))


async def bob_in(identities: Identities) -> tuple[User, Key, Key]:
    """A user with a password, a browser that is signed in, and a token."""
    await identities.people.owner()
    bob = await identities.people.create("Bob")
    await identities.people.set_password(bob.id, RIGHT)
    cookie = (await identities.sign_in_with_password("Bob", RIGHT, None, HOME)).secret
    token = (await identities.create_token(bob.id, name="x", scopes=["read"])).secret
    return bob, cookie, token


async def die(folder: Path, what: str, given: str, moment: Moment) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.faults.identity_process", folder, what, given),
        cwd=REPOSITORY,
        env={**os.environ, "ROOST_FAULTS": f"store.commit.{moment}=kill"},
    )
    async with asyncio.timeout(DEADLINE):
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("moment", MOMENTS)
async def test_link_is_used_with_the_sign_in_it_gave_or_not_at_all(
    tmp_path: Path, moment: Moment
) -> None:
    async with identities_in(tmp_path) as identities:
        first = await identities.first_link()
    assert first is not None
    await die(tmp_path, "redeem", first.reveal(), moment)
    async with identities_in(tmp_path) as identities:
        owner = await identities.people.owner()
        if moment == "before":
            signed_in = await identities.sign_in_with_link(first.reveal(), None)
            assert await opens(identities, signed_in.secret)
        else:
            with pytest.raises(SignInRefused):
                await identities.sign_in_with_link(first.reveal(), None)
        assert len(await identities.sign_ins(owner.id)) == 1
        assert await identities.first_link() is None


@pytest.mark.parametrize("moment", MOMENTS)
async def test_user_is_disabled_with_all_they_have_or_not_at_all(
    tmp_path: Path, moment: Moment
) -> None:
    async with identities_in(tmp_path) as identities:
        bob, cookie, token = await bob_in(identities)
    await die(tmp_path, "disable", bob.id, moment)
    async with identities_in(tmp_path) as identities:
        disabled = (await identities.people.get(bob.id)).disabled_at is not None
        assert disabled == (moment == "after")
        await identities.people.enable(bob.id)
        for secret in (cookie, token):
            assert bool(await opens(identities, secret)) == (not disabled)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_password_changes_with_what_it_ends_or_not_at_all(
    tmp_path: Path, moment: Moment
) -> None:
    async with identities_in(tmp_path) as identities:
        bob, cookie, token = await bob_in(identities)
    await die(tmp_path, "password", bob.id, moment)
    async with identities_in(tmp_path) as identities:
        assert bool(await opens(identities, cookie)) == (moment == "before")
        assert await opens(identities, token)
        now, other = (RIGHT, NEW_PASSWORD) if moment == "before" else (NEW_PASSWORD, RIGHT)
        await identities.sign_in_with_password("Bob", now, None, HOME)
        with pytest.raises(SignInRefused):
            await identities.sign_in_with_password("Bob", other, None, HOME)
