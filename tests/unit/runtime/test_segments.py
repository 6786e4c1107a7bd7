"""How long a commit that failed waits for its next try."""

import pytest

from roost.runtime.segments import FIRST_DELAY, LONGEST_DELAY, retry_delay


def test_delays_double_up_to_a_limit() -> None:
    for tries in range(1, 60):
        planned = min(LONGEST_DELAY, FIRST_DELAY * 2 ** (tries - 1))
        assert planned * 0.75 <= retry_delay(tries) <= planned * 1.25


def test_those_that_failed_together_do_not_come_back_together() -> None:
    assert len({retry_delay(5) for _ in range(20)}) > 10


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_next_delay_is_never_shorter(tries: int) -> None:
    assert max(retry_delay(tries) for _ in range(50)) < min(
        retry_delay(tries + 1) for _ in range(50)
    )
