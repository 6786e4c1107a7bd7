"""Server-sent events, however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import ReplyMalformed
from roost.llm import sse
from roost.llm.sse import EventReader


def events(*chunks: bytes) -> list[tuple[str, bytes]]:
    reader = EventReader("test")
    found = [event for chunk in chunks for event in reader.feed(chunk)]
    return found + list(reader.end())


STREAM = (
    b": keep-alive\r\n\r\n"
    b'event: message_start\r\ndata: {"a":1}\r\n\r\n'
    b"data:no space\n\n"
    b"id: 7\nretry: 10\ndata: first\ndata: second\n\n"
    b"event: lonely\n\n"
    b"data:  two spaces \n\n"
    b"data: old mac\r\r"
    b"data: \xe6\x97\xa5\xe6\x9c\xac\n\n"
    b"data: last, without a newline"
)
EXPECTED = [
    ("message_start", b'{"a":1}'),
    ("", b"no space"),
    ("", b"first\nsecond"),
    ("", b" two spaces "),
    ("", b"old mac"),
    ("", "日本".encode()),
    ("", b"last, without a newline"),
]


def test_reads_every_way_of_ending_a_line() -> None:
    assert events(STREAM) == EXPECTED


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cut_gives_the_same_events(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[a:b] for a, b in pairwise(edges)]
    assert events(*chunks) == EXPECTED


def test_byte_by_byte_gives_the_same_events() -> None:
    assert events(*[bytes([byte]) for byte in STREAM]) == EXPECTED


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_garbage_is_read_without_harm(chunks: list[bytes]) -> None:
    assert events(*chunks) == events(b"".join(chunks))


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LIMIT", 100)
    with pytest.raises(ReplyMalformed):
        events(b"data: " + b"x" * 101)


@pytest.mark.parametrize("begun", [b"x" * 100, b"data: 1\n\n" + b"x" * 100])
def test_a_line_that_does_not_end_is_refused_while_it_comes(
    begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing need ever end it: what waits for its end is bounded."""
    monkeypatch.setattr(sse, "LIMIT", 100)
    reader = EventReader("test")
    list(reader.feed(begun))
    with pytest.raises(ReplyMalformed):
        list(reader.feed(b"x"))
    with pytest.raises(ReplyMalformed):
        list(EventReader("test").feed(begun + b"x"))


def test_a_stream_may_be_longer_than_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LIMIT", 100)
    assert events(*[b"data: 1234", b"5678\n\n"] * 30) == [("", b"12345678")] * 30


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LIMIT", 100)
    with pytest.raises(ReplyMalformed):
        events(*[b"data: 12345678\n"] * 20)
