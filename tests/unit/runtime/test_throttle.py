"""Delays: none at first, then growing, never longer than a minute, and in bounded memory."""

from hypothesis import given
from hypothesis import strategies as st

from roost.runtime.throttle import FORGET, LONGEST, Throttle
from roost.testing.clock import FakeClock

FREE = 5


def throttle(clock: FakeClock, *, limit: int = 100) -> Throttle:
    return Throttle(lambda: clock.now() / 1000, free=FREE, limit=limit)


def test_delays_grow_to_a_minute(clock: FakeClock) -> None:
    tries, waits = throttle(clock), list[int]()
    for _ in range(FREE + 8):
        tries.count("ada")
        waits.append(wait := tries.wait("ada"))
        clock.advance(wait)
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert tries.wait("bob") == 0


def test_quiet_hour_forgets_and_so_does_success(clock: FakeClock) -> None:
    tries = throttle(clock)
    for _ in range(FREE + 3):
        tries.count("ada")
        tries.count("bob")
    tries.forget("ada")
    assert (tries.wait("ada"), tries.wait("bob")) == (0, 8)
    clock.advance(FORGET)
    assert tries.wait("bob") == 0
    tries.count("bob")
    assert tries.wait("bob") == 0


def test_one_that_went_well_takes_back_itself_alone(clock: FakeClock) -> None:
    tries = throttle(clock)
    for _ in range(FREE + 2):
        tries.count("ada")
    tries.forgive("ada")
    assert tries.wait("ada") == 0
    tries.count("ada")
    assert tries.wait("ada") == 4
    tries.forgive("nobody")
    tries.count("bob")
    tries.forgive("bob")
    assert len(tries) == 1


def test_memory_is_bounded(clock: FakeClock) -> None:
    tries = throttle(clock, limit=10)
    for number in range(100):
        tries.count(str(number))
        tries.count("busy")
    assert len(tries) == 10
    assert tries.wait("busy") == LONGEST


@given(st.lists(st.floats(0, 120), max_size=300))
def test_whoever_guesses_gets_few_tries_and_whoever_waits_gets_one(steps: list[float]) -> None:
    clock = FakeClock()
    tries, began, let_through = throttle(clock), clock.now(), 0
    for step in steps:
        clock.advance(step)
        if tries.wait("ada") == 0:
            tries.count("ada")
            let_through += 1
        assert tries.wait("ada") <= LONGEST
    passed = (clock.now() - began) / 1000
    assert let_through <= FREE + 7 + passed / LONGEST
    clock.advance(LONGEST)
    assert tries.wait("ada") == 0
