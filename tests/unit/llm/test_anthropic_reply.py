"""Anthropic's replies, in the details that the scripted server does not vary."""

import msgspec
import pytest

from roost.core.errors import ContentRefused, ContextTooLong, StreamCut
from roost.core.messages import ReasoningPart, TextPart, ToolCallPart
from roost.core.usage import Usage
from roost.llm.anthropic import REDACTED
from roost.llm.anthropic_reply import MessagesDecoder
from roost.llm.base import Finished

Event = dict[str, object]
STOP: Event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def answer(*events: Event) -> Finished:
    decoder = MessagesDecoder("nest", "heron")
    for event in events:
        list(decoder.feed("", msgspec.json.encode(event)))
    return decoder.end()


def block(index: int, **fields: object) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def delta(index: int, **fields: object) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


TEXT = block(9, type="text", text="Yes.")


def test_a_thought_that_is_not_shown_is_not_a_redacted_one() -> None:
    """Both come without text, and go back in different ways."""
    finished = answer(
        block(0, type="thinking", thinking="", signature=""),
        delta(0, type="signature_delta", signature="c2Vh"),
        delta(0, type="signature_delta", signature="bA=="),
        stop(0),
        block(1, type="redacted_thinking", data="aGlkZGVu"),
        stop(1),
        TEXT,
        STOP,
    )
    assert finished.parts == (
        ReasoningPart("", "c2VhbA==", "nest/heron"),
        ReasoningPart("", REDACTED + "aGlkZGVu", "nest/heron"),
        TextPart("Yes."),
    )


def test_thoughts_without_a_signature_are_apart_from_redacted_ones() -> None:
    finished = answer(
        block(0, type="thinking", thinking="Hm."),
        stop(0),
        block(1, type="redacted_thinking", data="aGlkZGVu"),
        stop(1),
        block(2, type="thinking", thinking="So.", signature="c2VhbA=="),
        stop(2),
        TEXT,
        STOP,
    )
    assert finished.parts == (
        ReasoningPart("Hm.", None, "nest/heron"),
        ReasoningPart("", REDACTED + "aGlkZGVu", "nest/heron"),
        ReasoningPart("So.", "c2VhbA==", "nest/heron"),
        TextPart("Yes."),
    )


def test_each_thought_of_an_answer_in_one_piece_has_its_own_signature() -> None:
    thoughts = [
        {"type": "thinking", "thinking": "One.", "signature": "c2Vh"},
        {"type": "thinking", "thinking": "Two."},
    ]
    text = {"type": "text", "text": "Yes."}
    finished = answer({"type": "message", "content": [*thoughts, text], "stop_reason": "end_turn"})
    assert finished.parts == (
        ReasoningPart("One.", "c2Vh", "nest/heron"),
        ReasoningPart("Two.", None, "nest/heron"),
        TextPart("Yes."),
    )


def test_a_call_may_come_with_its_input_or_with_none() -> None:
    parts = answer(
        block(0, type="tool_use", id="a", name="read", input={"x": 1}),
        stop(0),
        block(1, type="tool_use", id="b", name="now", input={}),
        delta(1, type="input_json_delta", partial_json=""),
        stop(1),
        STOP,
    ).parts
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [(call.wire_id, call.arguments) for call in calls] == [("a", '{"x":1}'), ("b", "{}")]


def test_half_an_input_is_kept_as_it_came() -> None:
    finished = answer(
        block(0, type="tool_use", id="a", name="read", input={}),
        delta(0, type="input_json_delta", partial_json='{"path": "a'),
        stop(0),
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
    )
    part = finished.parts[0]
    assert isinstance(part, ToolCallPart)
    assert (part.arguments, finished.reason) == ('{"path": "a', "length")


def test_counts_that_are_not_repeated_stay() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 15}
    finished = answer(
        {"type": "message_start", "message": {"usage": usage | {"output_tokens": 1}}},
        TEXT,
        STOP | {"usage": {"output_tokens": 7}},
    )
    assert finished.usage == Usage(
        "nest",
        "heron",
        input_tokens=100,
        cached_tokens=80,
        cache_write_tokens=15,
        output_tokens=7,
    )
    assert answer(TEXT, STOP).usage is None
    counted = answer(TEXT, STOP | {"usage": {"output_tokens": 7}}).usage
    assert counted == Usage("nest", "heron", output_tokens=7)


def test_why_it_stopped_is_said_once() -> None:
    cut: Event = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}
    counts: Event = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}}
    assert answer(TEXT, cut, counts).reason == "length"


def test_a_stream_that_says_that_it_ends_is_whole() -> None:
    assert answer(TEXT, {"type": "message_stop"}).parts == (TextPart("Yes."),)


def test_a_refusal_is_explained() -> None:
    why = {"stop_reason": "refusal", "stop_details": {"explanation": "I would rather not"}}
    with pytest.raises(ContentRefused, match="I would rather not"):
        answer(TEXT, {"type": "message_delta", "delta": why})


def test_what_is_to_come_is_passed_over() -> None:
    news: list[Event] = [
        {"type": "ping"},
        {"type": "news", "index": 3, "delta": {"type": "x", "y": []}},
        block(0, type="news", text="no"),
        delta(0, type="citations_delta", citation={}),
    ]
    assert answer(*news, TEXT, STOP).parts == (TextPart("Yes."),)


@pytest.mark.parametrize(
    ("reason", "error"),
    [("refusal", ContentRefused), ("model_context_window_exceeded", ContextTooLong)],
)
def test_some_ends_are_errors(reason: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        answer(TEXT, {"type": "message_delta", "delta": {"stop_reason": reason}})


def test_without_an_end_it_was_cut() -> None:
    with pytest.raises(StreamCut):
        answer(TEXT)
