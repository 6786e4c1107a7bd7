"""Cursors: what is printed can be read again, and nothing else can."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.events import Cursor, parse_cursor
from roost.core.ids import TurnId

TURN = "trn_01m7hmdvvfyfp7ckdvqdr13ek5"

numbers = st.integers(0, 10**15 - 1)
turns = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=26, max_size=26).map(
    lambda tail: TurnId("trn_" + tail)
)


@given(st.builds(Cursor, numbers, numbers) | st.builds(Cursor, numbers, numbers, turns, numbers))
def test_printed_cursor_is_read_again(cursor: Cursor) -> None:
    assert parse_cursor(str(cursor)) == cursor


@given(st.builds(Cursor, numbers, numbers, turns, numbers, numbers))
def test_cursor_within_a_turn_is_read_again(cursor: Cursor) -> None:
    assert parse_cursor(str(cursor)) == cursor


@given(st.text())
@example("1.2\n")
@example("\u0661.\u0662")
def test_whatever_is_accepted_prints_the_same(garbage: str) -> None:
    try:
        cursor = parse_cursor(garbage)
    except InvalidInput:
        return
    assert parse_cursor(str(cursor)) == cursor
    assert len(str(cursor)) <= len(garbage)
    assert garbage.isascii()


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "1",
        "1.",
        ".1",
        "1.2.",
        "-1.2",
        "1.-2",
        "1.2.3",
        " 1.2",
        "1.2 ",
        "1.2\n",
        "a.b",
        "\u0661.\u0662",
        "1.2.trn_short.1.1",
        f"1.2.{TURN}",
        f"1.2.{TURN}.1",
        f"1.2.{TURN}.1.1.1",
        f"1.2.{TURN.replace('trn', 'msg')}.1.1",
        "9" * 16 + ".1",
        "1.2" * 10_000,
    ],
)
def test_garbage_is_refused_in_a_short_sentence(garbage: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_cursor(garbage)
    assert len(str(refused.value)) < 200
