"""Chat replies of servers whose ways the scripted server does not have."""

from collections.abc import Sequence

import msgspec
import pytest

from roost.core.errors import ContentRefused, ReplyMalformed, StreamCut
from roost.core.messages import Part, ReasoningPart, TextPart, ToolCallPart
from roost.core.usage import Usage
from roost.llm.base import Finished
from roost.llm.openai_chat_reply import ChatDecoder

Delta = dict[str, object]


def answer(*deltas: Delta, finish: str = "stop", usage: object = None) -> Finished:
    decoder = ChatDecoder("nest", "heron")
    for delta in deltas:
        list(decoder.feed("", msgspec.json.encode({"choices": [{"delta": delta}]})))
    choice: Delta = {"delta": {}, "finish_reason": finish}
    last: Delta = {"choices": [choice], "usage": usage}
    list(decoder.feed("", msgspec.json.encode(last)))
    return decoder.end()


def calls(*pieces: Sequence[Delta]) -> list[tuple[str | None, str, str]]:
    deltas: list[Delta] = [{"tool_calls": piece} for piece in pieces]
    parts = answer(*deltas).parts
    found = [part for part in parts if isinstance(part, ToolCallPart)]
    return [(part.wire_id, part.name, part.arguments) for part in found]


def piece(arguments: object, name: str | None = None, **fields: object) -> Delta:
    named = {} if name is None else {"name": name}
    return {"function": {**named, "arguments": arguments}, **fields}


def test_an_id_may_come_with_every_piece() -> None:
    assert calls(
        [piece("", "read", index=0, id="a")],
        [piece('{"x"', index=0, id="a")],
        [piece("", "now", index=0, id="b")],
        [piece(":1}", index=0, id="a")],
    ) == [("a", "read", '{"x":1}'), ("b", "now", "{}")]


def test_calls_may_come_whole_and_in_one_piece() -> None:
    whole = [piece("{}", "read", id="a"), piece("{}", "read", id="b"), piece("{}", "now", id="c")]
    assert calls(whole) == [("a", "read", "{}"), ("b", "read", "{}"), ("c", "now", "{}")]


def test_calls_without_ids_or_indices_begin_with_a_name() -> None:
    assert calls(
        [piece('{"x"', "read")], [piece(":1}")], [piece('{"y"', "read")], [piece(":2}")]
    ) == [(None, "read", '{"x":1}'), (None, "read", '{"y":2}')]


def test_arguments_may_be_an_object() -> None:
    assert calls([piece({"x": 1}, "read", index=0, id="a")]) == [("a", "read", '{"x":1}')]


def test_empty_ids_are_none() -> None:
    assert calls([piece("{}", "read", index=0, id="")]) == [(None, "read", "{}")]


def test_a_name_may_be_repeated_with_the_same_id() -> None:
    assert calls([piece("{", "read", index=0, id="a")], [piece("}", "read", index=0, id="a")]) == [
        ("a", "read", "{}")
    ]


def test_pieces_for_no_call_are_malformed() -> None:
    with pytest.raises(ReplyMalformed):
        calls([piece("{}", index=3)])


def parts(*deltas: Delta) -> tuple[Part, ...]:
    return answer(*deltas).parts


def test_blocks_of_reasoning_are_kept_whole() -> None:
    thought, said = parts(
        {"reasoning": "Let ", "reasoning_details": [{"type": "t", "index": 0, "text": "Let "}]},
        {"reasoning": "me.", "reasoning_details": [{"type": "t", "index": 0, "text": "me."}]},
        {"reasoning_details": [{"type": "t", "index": 0, "signature": "seal", "text": None}]},
        {"reasoning_details": [{"type": "e", "index": 1, "data": "x"}]},
        {"reasoning_details": [{"type": "e", "index": 1, "data": "y"}]},
        {"content": "Yes."},
    )
    assert said == TextPart("Yes.")
    assert isinstance(thought, ReasoningPart)
    assert thought.text == "Let me."
    assert msgspec.json.decode(thought.payload or "") == [
        {"type": "t", "index": 0, "text": "Let me.", "signature": "seal"},
        {"type": "e", "index": 1, "data": "xy"},
    ]


def test_content_may_come_in_pieces_of_thought_and_text() -> None:
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
    assert parts({"content": thinking}, {"content": [{"type": "text", "text": "Yes."}]}) == (
        ReasoningPart("Hm.", "", "nest/heron"),
        TextPart("Yes."),
    )


def test_cached_tokens_may_be_counted_in_another_field() -> None:
    usage = {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "completion_tokens": 2}
    counted = answer({"content": "hi"}, usage=usage).usage
    assert counted == Usage("nest", "heron", input_tokens=9, cached_tokens=4, output_tokens=2)
    assert answer({"content": "hi"}).usage is None


def test_a_refusal_is_an_error_with_its_words() -> None:
    with pytest.raises(ContentRefused, match="I would rather not"):
        answer({"refusal": "I would "}, {"refusal": "rather not"})


def test_a_filtered_answer_is_an_error() -> None:
    with pytest.raises(ContentRefused, match="content filter"):
        answer({"content": "Well"}, finish="content_filter")


def test_why_it_stopped_is_said_once() -> None:
    decoder = ChatDecoder("nest", "heron")
    choices: list[Delta] = [{"delta": {"content": "Well"}, "finish_reason": "length"}, {}]
    for choice in choices:
        list(decoder.feed("", msgspec.json.encode({"choices": [choice]})))
    assert decoder.end().reason == "length"


def test_an_end_before_anything_was_said_is_a_cut() -> None:
    """Asking again may help; it would not where a model has nothing to say."""
    decoder = ChatDecoder("nest", "heron")
    list(decoder.feed("", b"[DONE]"))
    with pytest.raises(StreamCut):
        decoder.end()
