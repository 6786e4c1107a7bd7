"""Streams of all three protocols, however their bytes are cut, and whatever is done to them."""

import re
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.errors import ModelError, ReplyMalformed, StreamCut
from roost.core.messages import ToolCallPart, plain_text
from roost.llm.base import Finished, StreamEvent
from roost.llm.client import WIRES
from roost.llm.reading import Reading
from roost.testing.models import Quirk, Reply, call, fail, finish, refuse, say, think, use
from roost.testing.models.performance import perform
from roost.testing.models.protocols import PROTOCOLS as SPOKEN
from roost.testing.models.protocols import read_request
from roost.testing.models.request import ModelRequest
from tests.unit.llm.asking import WIRES as NAMES
from tests.unit.llm.asking import profile, question
from tests.unit.testing.models.listening import PROTOCOLS, Protocols


def recorded(protocol: Protocols, reply: Reply) -> bytes:
    """The bytes that the scripted server sends for this reply."""
    wire = WIRES[NAMES[protocol]]
    body = wire.encode(question(), profile(protocol), "nest")
    headers = {"anthropic-version": "2023-06-01"}
    request = ModelRequest(
        number=1, protocol=protocol, path="", headers=headers, body=body, at=time.time()
    )
    read_request(request)
    writer = SPOKEN[protocol].writer(request, reply.quirks)
    steps = perform(reply, writer, stream=True).steps
    return b"".join([step for step in steps if isinstance(step, bytes)])


def read(protocol: Protocols, *chunks: bytes) -> list[StreamEvent]:
    reading = Reading("nest", WIRES[NAMES[protocol]].decoder("nest", "heron"))
    events = [event for chunk in chunks for event in reading.feed(chunk)]
    return events + list(reading.end())


def outcome(protocol: Protocols, *chunks: bytes) -> tuple[type[object], str]:
    """The last event or the error, and everything in words, without random ids."""
    reading = Reading("nest", WIRES[NAMES[protocol]].decoder("nest", "heron"))
    told: list[StreamEvent | ModelError] = []
    try:
        for chunk in chunks:
            told += reading.feed(chunk)
        told += reading.end()
    except ModelError as error:
        told.append(error)
    return type(told[-1]), re.sub(r"cal_[0-9a-z]{26}", "cal", "".join([*map(repr, told)]))


EVERYTHING = (
    think("Let me see, 世界.", "seal")
    + think("hidden", "more", redacted=True)
    + say("Grüße 🐦 \r\n\n and\ttabs \u2028")
    + call("read", {"path": "ä.txt", "lines": [1, 2]}, size=3)
    + call("now")
    + use(input_tokens=10, cached_tokens=5, output_tokens=3, reasoning_tokens=2)
)
QUIRKS: dict[Protocols, list[tuple[Quirk, ...]]] = {
    "chat": [
        (),
        ("crlf", "keep_alive"),
        ("no_usage", "no_index", "no_done", "no_final_newline"),
        ("reasoning_details", "index_zero", "usage_on_finish"),
        ("reasoning", "no_call_ids", "no_finish_reason"),
    ],
    "responses": [(), ("crlf", "keep_alive"), ("no_final_newline",)],
    "anthropic": [(), ("crlf", "keep_alive"), ("no_final_newline",)],
}
OTHERS = [
    say("cut") + finish("length"),
    say("Well") + refuse("no"),
    say("Well") + fail("overloaded"),
    (say("Well") + fail("rate_limit")).quirky("failed_event"),
]
REPLIES: list[tuple[Protocols, Reply]] = [
    *[(name, EVERYTHING.quirky(*quirks)) for name in PROTOCOLS for quirks in QUIRKS[name]],
    *[(name, reply) for name in PROTOCOLS for reply in OTHERS],
]
STREAMS: list[tuple[Protocols, bytes]] = [
    (protocol, recorded(protocol, reply)) for protocol, reply in REPLIES
]

streams = st.sampled_from(STREAMS)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(streams, st.lists(st.integers(0, 1 << 20), max_size=60))
def test_any_cut_gives_the_same_events(recording: tuple[Protocols, bytes], cuts: list[int]) -> None:
    protocol, stream = recording
    assert outcome(protocol, *pieces(stream, cuts)) == outcome(protocol, stream)


@pytest.mark.parametrize("at", range(len(STREAMS)))
def test_byte_by_byte_gives_the_same_events(at: int) -> None:
    protocol, stream = STREAMS[at]
    single = [stream[place : place + 1] for place in range(len(stream))]
    assert outcome(protocol, *single) == outcome(protocol, stream)


def test_recorded_streams_are_understood() -> None:
    """That the properties above and below start from something."""
    for protocol in PROTOCOLS:
        for quirks in QUIRKS[protocol]:
            finished = read(protocol, recorded(protocol, EVERYTHING.quirky(*quirks)))[-1]
            assert isinstance(finished, Finished)
            assert plain_text(finished.parts) == "Grüße 🐦 \r\n\n and\ttabs \u2028"
            calls = [part for part in finished.parts if isinstance(part, ToolCallPart)]
            assert [(call.name, call.arguments) for call in calls] == [
                ("read", '{"path":"ä.txt","lines":[1,2]}'),
                ("now", "{}"),
            ], quirks


def check_harmless(protocol: Protocols, *chunks: bytes) -> None:
    """An answer or one of our own errors, with words a person can read; nothing else."""
    kind, words = outcome(protocol, *chunks)
    assert kind is Finished or issubclass(kind, ModelError)
    words.encode()


protocols = st.sampled_from(PROTOCOLS)


@given(protocols, st.lists(st.binary(max_size=60), max_size=10))
def test_garbage_is_an_error_of_ours(protocol: Protocols, chunks: list[bytes]) -> None:
    check_harmless(protocol, *chunks)


@given(protocols, st.lists(st.binary(max_size=40), max_size=5))
def test_garbage_in_events_is_an_error_of_ours(protocol: Protocols, datas: list[bytes]) -> None:
    check_harmless(protocol, *[b"data: " + data + b"\n\n" for data in datas])


@given(
    streams,
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8),
)
def test_flipped_bytes_are_harmless(
    recording: tuple[Protocols, bytes], flips: list[tuple[int, int]]
) -> None:
    protocol, stream = recording
    damaged = bytearray(stream)
    for place, value in flips:
        damaged[place % len(damaged)] = value
    check_harmless(protocol, bytes(damaged))


@given(streams, st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_missing_bytes_are_harmless(
    recording: tuple[Protocols, bytes], start: int, length: int
) -> None:
    protocol, stream = recording
    start %= len(stream)
    check_harmless(protocol, stream[:start], stream[start + length % (len(stream) - start + 1) :])


@given(streams, st.integers(0, 1 << 20))
def test_a_stream_that_ends_early_is_never_taken_for_a_whole_one(
    recording: tuple[Protocols, bytes], end: int
) -> None:
    """Whole is what says so: after a finish, or the stream's own last word, nothing is missed."""
    protocol, stream = recording
    early = stream[: end % len(stream)]
    told = (b"finish_reason", b"[DONE]", b"message_delta", b"response.completed", b"incomplete")
    if not any(each in early.replace(b'"finish_reason":null', b"") for each in told):
        kind, _ = outcome(protocol, early)
        assert issubclass(kind, ModelError)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=300)
@given(streams, st.integers(0, 1 << 20), st.integers(0, 1 << 20), JSON)
def test_values_of_other_types_are_harmless(
    recording: tuple[Protocols, bytes], event: int, place: int, value: object
) -> None:
    protocol, stream = recording
    lines = stream.replace(b"\r\n", b"\n").split(b"\n")
    written = [at for at, line in enumerate(lines) if line.startswith(b"data: {")]
    chosen = written[event % len(written)]
    tree = msgspec.json.decode(lines[chosen][6:])
    swaps = _swaps(tree)
    swaps[place % len(swaps)](value)
    lines[chosen] = b"data: " + msgspec.json.encode(tree)
    check_harmless(protocol, b"\n".join(lines))


def _swaps(tree: object) -> list[Callable[[object], None]]:
    """A way to replace each value in a tree."""
    found: list[Callable[[object], None]] = []
    if isinstance(tree, dict):
        fields = cast("dict[str, object]", tree)
        for key, inner in fields.items():
            found += [partial(fields.__setitem__, key), *_swaps(inner)]
    elif isinstance(tree, list):
        items = cast("list[object]", tree)
        for at, inner in enumerate(items):
            found += [partial(items.__setitem__, at), *_swaps(inner)]
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "data",
    [
        b'{"a":' * 100_000,
        b"[" * 100_000,
        b'{"type":"error","error":' + b'{"a":' * 100_000,
        b'{"choices":[{"delta":{"reasoning_details":[' + b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"type":"\xff\xfe"}',
        b'{"choices":[{"delta":{"content":"\xc3"}}]}',
        b'{"type":"content_block_delta","delta":{"type":"text_delta","text":"\xff"}}',
        b'{"type":"response.output_text.delta","delta":"\xff"}',
        b'{"usage":{"prompt_tokens":' + b"9" * 5000 + b"}}",
    ],
    ids=lambda data: str(data[:30]),
)
def test_what_breaks_a_json_reader_is_a_malformed_reply(protocol: Protocols, data: bytes) -> None:
    check_harmless(protocol, b"data: " + data + b"\n\n")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_page_is_not_a_stream(protocol: Protocols) -> None:
    with pytest.raises(ReplyMalformed, match="not a stream"):
        read(protocol, b"<html>\n<h1>It works!</h1>\n</html>")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lines_that_mean_nothing_here_are_passed_over(protocol: Protocols) -> None:
    odd = b"colour: green\nid: 7\nretry: 10\n\n"
    assert isinstance(read(protocol, odd + recorded(protocol, say("Yes.")))[-1], Finished)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_that_says_nothing_was_cut(protocol: Protocols) -> None:
    """That passes: whoever asked may ask again, as they would not after a page."""
    with pytest.raises(StreamCut):
        read(protocol, b": hello\nid: 7\nretry: 10\n\n")


def test_an_error_with_odd_digits_for_a_code_is_told() -> None:
    for code in ('"²"', '"' + "9" * 5000 + '"', "429", '"429"'):
        data = f'data: {{"error":{{"message":"no","code":{code}}}}}\n\n'.encode()
        with pytest.raises(ModelError, match="no"):
            read("chat", data)
