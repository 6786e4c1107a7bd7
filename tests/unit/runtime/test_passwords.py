"""Passwords: what is one, and that hashing them gives nothing away and takes a bounded share."""

import asyncio
import threading
from typing import Literal

import pytest
from argon2 import PasswordHasher, extract_parameters

from roost.core.errors import InvalidInput, TooManyTries
from roost.runtime.passwords import Passwords
from tests.identities import QUICK, RIGHT, WRONG


async def test_password_is_known_again() -> None:
    passwords = Passwords(QUICK)
    hash = await passwords.hash(RIGHT)
    assert await passwords.check(hash, RIGHT)
    assert not await passwords.check(hash, WRONG)
    assert RIGHT not in hash
    assert await passwords.hash(RIGHT) != hash


async def test_password_is_the_same_from_every_keyboard() -> None:
    passwords = Passwords(QUICK)
    hash = await passwords.hash("Zo\u00eb and friends")
    assert await passwords.check(hash, "Zoe\u0308 and friends")


@pytest.mark.parametrize("password", ["", "short", "x" * 9, "x" * 1001])
async def test_what_is_no_password_is_refused_without_repeating_it(password: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await Passwords(QUICK).hash(password)
    assert not password or password not in str(refused.value)


async def test_any_text_can_be_checked() -> None:
    passwords = Passwords(QUICK)
    hash = await passwords.hash("x" * 1000)
    assert not await passwords.check(hash, "x" * 1001)
    for text in ("", "\udc80 half a pair", "\x00", "x" * 100_000):
        assert not await passwords.check(hash, text)
        assert not await passwords.check("no hash at all", text)


class Counting(PasswordHasher):
    """Notes which hashes it is asked about."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.asked: list[str | bytes] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        self.asked.append(hash)
        return super().verify(hash, password)


async def test_nobodys_password_is_as_much_work_as_anyones() -> None:
    hasher = Counting()
    passwords = Passwords(hasher)
    assert not await passwords.check(None, RIGHT)
    (asked,) = hasher.asked
    real = await passwords.hash(RIGHT)
    assert extract_parameters(str(asked)) == extract_parameters(real)
    assert len(str(asked)) == len(real)


async def test_hash_of_older_times_is_outdated() -> None:
    older = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1)
    hash = await Passwords(older).hash(RIGHT)
    passwords = Passwords(QUICK)
    assert passwords.is_outdated(hash)
    assert await passwords.check(hash, RIGHT)
    assert not passwords.is_outdated(await passwords.rehash(RIGHT))


class Gated(PasswordHasher):
    """Takes until it may go on."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.may_go_on = threading.Event()
        self.lock = threading.Lock()
        self.at_once = self.most = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        with self.lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        assert self.may_go_on.wait(30)
        with self.lock:
            self.at_once -= 1
        return super().verify(hash, password)


async def test_few_are_hashed_at_once_and_a_flood_is_turned_away() -> None:
    hasher = Gated()
    passwords = Passwords(hasher)
    checks = [asyncio.create_task(passwords.check(None, WRONG)) for _ in range(100)]
    refused, _ = await asyncio.wait(checks, return_when=asyncio.FIRST_COMPLETED)
    hasher.may_go_on.set()
    outcomes = await asyncio.gather(*checks, return_exceptions=True)
    assert len([each for each in outcomes if isinstance(each, TooManyTries)]) == 100 - 32
    assert all(isinstance(each.exception(), TooManyTries) for each in refused)
    assert hasher.most <= 2
    assert not await passwords.check(None, WRONG), "there is room again"


async def test_real_parameters_are_those_that_are_recommended() -> None:
    passwords = Passwords()
    hash = await passwords.hash(RIGHT)
    assert hash.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await passwords.check(hash, RIGHT)
