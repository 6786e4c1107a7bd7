"""Tries by name and by address: both are counted, and neither is a way around the other."""

import pytest

from roost.core.errors import TooManyTries
from roost.runtime.attempts import Attempts
from roost.testing.clock import FakeClock
from tests.identities import HOME


@pytest.fixture
def attempts(clock: FakeClock) -> Attempts:
    return Attempts(lambda: clock.now() / 1000)


def fail(attempts: Attempts, name: str, address: str, times: int = 1) -> None:
    for _ in range(times):
        with attempts.one(name, address):
            pass


def test_name_is_one_however_it_is_written_and_from_wherever(attempts: Attempts) -> None:
    for number, name in enumerate(["ada", "Ada", " ADA ", "\uff41da", "ada"]):
        fail(attempts, name, f"192.0.2.{number}")
    with pytest.raises(TooManyTries) as refused:
        fail(attempts, "ada", "198.51.100.1")
    assert refused.value.seconds == 1
    fail(attempts, "bob", "198.51.100.1")


@pytest.mark.parametrize(
    ("address", "alike", "other"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"),
        ("fe80::1%eth0", "fe80::2%eth1", "fd00::1"),
        ("", "a socket", "192.0.2.1"),
    ],
)
def test_address_is_one_whatever_names_are_tried(
    attempts: Attempts, address: str, alike: str, other: str
) -> None:
    for number in range(20):
        fail(attempts, f"user {number}", address)
    with pytest.raises(TooManyTries):
        fail(attempts, "ada", alike)
    fail(attempts, "ada", other)


def test_account_of_ones_own_is_no_way_to_guess_others(
    attempts: Attempts, clock: FakeClock
) -> None:
    guesses = 0
    for _ in range(600):
        try:
            with attempts.one("mallory", HOME) as attempt:
                attempt.succeeded()
            fail(attempts, f"victim {guesses}", HOME)
            guesses += 1
        except TooManyTries:
            pass
        clock.advance(1)
    assert guesses < 20 + 10 + 10


def test_those_in_flight_count(attempts: Attempts) -> None:
    under_way = [attempts.one("ada", HOME) for _ in range(5)]
    for each in under_way:
        each.__enter__()
    with pytest.raises(TooManyTries):
        fail(attempts, "ada", HOME)


def test_what_is_turned_away_for_lack_of_time_is_not_counted(attempts: Attempts) -> None:
    for _ in range(50):
        with pytest.raises(TooManyTries), attempts.one("ada", HOME):
            raise TooManyTries(2)
    fail(attempts, "ada", HOME)


def test_what_is_broken_off_is_counted(attempts: Attempts) -> None:
    for _ in range(5):
        with pytest.raises(OSError, match="gone"), attempts.one("ada", HOME):
            raise OSError("gone")
    with pytest.raises(TooManyTries):
        fail(attempts, "ada", HOME)
