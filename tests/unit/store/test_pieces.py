"""A long JSON object in pieces: together they are what it was."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.store import pieces as cutting
from roost.store.pieces import NotJson, depth_of, pieces

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NAMES = st.text("abc_é", max_size=5)


def joined(text: bytes | bytearray) -> dict[str, Any]:
    """The object again, its lists put together."""
    whole: dict[str, Any] = {}
    for name, piece in pieces(text):
        value = json.loads(piece)
        whole[name] = whole.get(name, []) + value if isinstance(value, list) else value
    return whole


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(NAMES, VALUES), st.sampled_from([None, 1]))
def test_pieces_are_the_whole(value: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert joined(text) == value


@pytest.mark.parametrize(
    "words",
    ["", 'a "quote" \\', "[{" * 40, "é" * 5000, "\\" * 9001],
    ids=["none", "quotes", "brackets", "long", "escapes"],
)
def test_long_list_comes_in_several(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "PIECE", 50_000)
    count = 4 * cutting.PIECE // (len(words) + 10)
    value: dict[str, Any] = {
        "a": 1,
        "list": [{"text": words, "n": n} for n in range(count)],
        "z": [[]],
    }
    text = msgspec.json.encode(value)
    found = [piece for piece in pieces(text) if piece.name == "list"]
    assert len(found) > 2
    assert max(len(piece.json) for piece in found) < 2 * cutting.PIECE
    assert joined(bytearray(text)) == value


@pytest.mark.parametrize("text", [b"", b" \n"])
def test_nothing_is_said_to_be_nothing(text: bytes) -> None:
    with pytest.raises(NotJson, match="there is nothing in it"):
        joined(text)


def test_long_string_is_passed_in_one_step() -> None:
    value = {"list": ["x" * (8 * cutting.PIECE), "]"], "after": "y" * cutting.PIECE}
    assert joined(msgspec.json.encode(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[1]",
        b"null",
        b"{",
        b"{} {}",
        b"{a:1}",
        b'{"a"}',
        b'{"a":}',
        b'{"a":1',
        b'{"a":1,}',
        b'{"a":[1}',
        b'{"a":[1,,2',
        b'{"a":"x}',
        b'{"a":{"b":[}',
        b'{"a":[{"b":"' + b"x" * 9000,
    ],
)
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(NotJson):
        list(pieces(text))


def test_depth_is_that_of_brackets_outside_of_strings() -> None:
    assert depth_of(b'"[[[["') == 0
    assert depth_of(b'[{"a":["[[["]}]') == 3
