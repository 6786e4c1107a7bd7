"""Parts as they are stored: every kind comes back, unknown ones byte for byte."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.ids import BlobId, ToolCallId
from roost.core.messages import (
    ContextPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
    attachments,
    check_text,
    decode_parts,
    encode_parts,
    plain_text,
    sent_files,
    shown,
)

words = st.text()
maybe_words = st.none() | words
blobs = words.map(BlobId)
calls = words.map(ToolCallId)
numbers = st.integers(0, 2**53)

texts = st.builds(TextPart, words)
images = st.builds(ImagePart, blobs, words, maybe_words)
files = st.builds(FilePart, blobs, words, words, numbers)
results = st.builds(
    ToolResultPart, calls, st.lists(texts | images | files).map(tuple), st.booleans()
)
known: st.SearchStrategy[Part] = st.one_of(
    texts,
    st.builds(ContextPart, words, words),
    st.builds(ReasoningPart, words, maybe_words, maybe_words, st.none() | numbers),
    images,
    files,
    st.builds(ToolCallPart, calls, words, words, maybe_words),
    results,
)
json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def unknown_part(fields: dict[str, object], indent: int) -> UnknownPart:
    raw = msgspec.json.encode({**fields, "kind": "hologram"})
    return UnknownPart(msgspec.json.format(raw, indent=indent))


unknown: st.SearchStrategy[Part] = st.builds(
    unknown_part, st.dictionaries(st.text(), json_values), st.sampled_from([-1, 0, 2])
)


@given(st.lists(known).map(tuple))
def test_known_parts_come_back(parts: tuple[Part, ...]) -> None:
    assert decode_parts(encode_parts(parts)) == parts


@given(st.lists(known | unknown).map(tuple))
def test_unknown_parts_come_back_byte_for_byte_among_the_known(parts: tuple[Part, ...]) -> None:
    stored = encode_parts(parts)
    assert decode_parts(stored) == parts
    assert encode_parts(decode_parts(stored)) == stored


@pytest.mark.parametrize(
    "raw",
    [
        b'{"kind":"text"}',
        b'{"kind":"text","text":7}',
        b'{"kind":"tool_result","call":"c","content":[{"kind":"hologram"}]}',
        b'{"no":"kind"}',
        b'"words"',
        b"7",
        b"null",
        b"[]",
    ],
)
def test_part_of_a_shape_that_is_not_known_is_kept_as_it_is(raw: bytes) -> None:
    stored = b'[{"kind":"text","text":"a"},' + raw + b"]"
    assert decode_parts(stored) == (TextPart("a"), UnknownPart(raw))
    assert encode_parts(decode_parts(stored)).encode() == stored


@pytest.mark.parametrize("stored", ["", "{", "{}", "7", "null", '[{"kind":"text"', "[] []"])
def test_what_is_not_a_list_of_parts_is_refused(stored: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_parts(stored)


def test_attachments_are_found_inside_tool_results_too() -> None:
    one, two, three = (BlobId(name) for name in ("one", "two", "three"))
    image = ImagePart(two, "image/png")
    parts = (
        TextPart("see"),
        FilePart(one, "text/plain", "a.txt", 1),
        ToolResultPart(ToolCallId("c"), (TextPart("x"), image)),
        ImagePart(three, "image/png"),
        UnknownPart(b'{"kind":"hologram","blob":"four"}'),
    )
    assert attachments(parts) == {one, two, three}


def test_what_the_agent_sent_is_the_persons_and_not_the_models() -> None:
    read, sent = BlobId("read"), BlobId("sent")
    given = FilePart(sent, "text/csv", "a.csv", 1, sent=True)
    again = FilePart(read, "text/csv", "b.csv", 1, sent=True)
    looked_at = ImagePart(read, "image/png")
    parts = (ToolResultPart(ToolCallId("c"), (TextPart("x"), given, again)), looked_at)
    assert sent_files(parts) == (given, again)
    assert shown(parts) == {read}
    assert attachments(parts) == {read, sent}
    assert decode_parts(encode_parts(parts)) == parts


def test_file_that_was_not_sent_is_written_as_before_there_was_sending() -> None:
    stored = '[{"kind":"file","blob":"b","media_type":"text/csv","name":"a.csv","size":1}]'
    assert encode_parts(decode_parts(stored)) == stored


def test_plain_text_is_what_a_person_reads() -> None:
    parts = (
        ContextPart("time", "noon"),
        TextPart("Hello"),
        ReasoningPart("hm"),
        TextPart("there"),
        UnknownPart(b"7"),
    )
    assert plain_text(parts) == "Hello\n\nthere"


@pytest.mark.parametrize(
    "value",
    ["\ud800", ("Owl", "\udc80"), (FilePart(BlobId("b"), "text/plain", "\udfff.txt", 1),)],
    ids=["words", "one of several", "a name"],
)
def test_lone_surrogate_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="The message has characters that are not text"):
        check_text(value)


def test_text_of_any_script_is_taken() -> None:
    check_text(("Grüße", "ふくろう", "🦉", "\0", "", None))
