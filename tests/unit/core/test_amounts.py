"""How many there are of something, in words."""

import pytest

from roost.core.amounts import amount


@pytest.mark.parametrize(
    ("number", "thing", "words"),
    [
        (1, "tool call", "1 tool call"),
        (0, "turn", "0 turns"),
        (12_000, "memory", "12,000 memories"),
        (2, "day", "2 days"),
    ],
)
def test_thing_is_counted(number: int, thing: str, words: str) -> None:
    assert amount(number, thing) == words
