"""Responses' replies, in the details that the scripted server does not vary."""

import msgspec
import pytest

from roost.core.errors import ContentRefused, ModelError, RateLimited, ReplyMalformed, StreamCut
from roost.core.messages import ReasoningPart, TextPart, ToolCallPart
from roost.llm.base import Finished
from roost.llm.openai_responses_reply import ResponsesDecoder

Event = dict[str, object]
DONE: Event = {"type": "response.completed", "response": {"status": "completed"}}


def answer(*events: Event) -> Finished:
    decoder = ResponsesDecoder("nest", "heron")
    for event in events:
        list(decoder.feed("", msgspec.json.encode(event)))
    return decoder.end()


def said(text: str) -> Event:
    return {"type": "response.output_text.delta", "output_index": 0, "delta": text}


def test_a_thought_is_kept_as_the_item_it_was() -> None:
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "new": {"a": [1, None]}}
    thought = answer(
        {"type": "response.reasoning_summary_text.delta", "delta": "Hm."},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        said("Yes."),
        DONE,
    ).parts[0]
    assert isinstance(thought, ReasoningPart)
    assert msgspec.json.decode(thought.payload or "") == item


def test_a_thought_without_its_content_does_not_go_back() -> None:
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": None}
    done: Event = {"type": "response.output_item.done", "output_index": 0, "item": item}
    text: Event = {"type": "response.reasoning_text.delta", "delta": "Hm."}
    assert answer(text, done, said("Yes."), DONE).parts == (
        ReasoningPart("Hm.", None, "nest/heron"),
        TextPart("Yes."),
    )


def test_a_call_is_named_by_its_call_id_or_else_by_its_own() -> None:
    def added(index: int, **fields: object) -> Event:
        item = {"type": "function_call", "name": "now", "arguments": "", **fields}
        return {"type": "response.output_item.added", "output_index": index, "item": item}

    parts = answer(added(0, id="fc_1", call_id="call_1"), added(1, id="fc_2"), DONE).parts
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    assert [call.wire_id for call in calls] == ["call_1", "fc_2"]


def test_arguments_for_no_call_are_malformed() -> None:
    with pytest.raises(ReplyMalformed):
        answer({"type": "response.function_call_arguments.delta", "output_index": 7, "delta": "{"})


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
        {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        {
            "type": "response.failed",
            "response": {"error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        },
        {"error": {"code": 429, "message": "slow down"}},
    ],
)
def test_errors_come_in_several_forms(event: Event) -> None:
    with pytest.raises(RateLimited, match="slow down"):
        answer(said("Well"), event)


def test_a_failure_in_one_piece_is_an_error() -> None:
    with pytest.raises(ModelError, match="broken"):
        answer({"object": "response", "error": {"message": "broken"}, "output": []})


def test_thoughts_of_an_answer_in_one_piece_are_not_said() -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}
    text = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
    finished = answer({"object": "response", "output": [thought, text]})
    assert finished.parts == (TextPart("Yes."),)


def test_the_last_word_of_chat_is_passed_over() -> None:
    decoder = ResponsesDecoder("nest", "heron")
    for data in msgspec.json.encode(said("Yes.")), msgspec.json.encode(DONE), b"[DONE]":
        list(decoder.feed("", data))
    assert decoder.end().parts == (TextPart("Yes."),)


def test_what_is_to_come_is_passed_over() -> None:
    news: list[Event] = [
        {"type": "response.news", "delta": {"a": 1}},
        {"type": "response.output_item.added", "item": {"type": "news_call", "action": {}}},
    ]
    assert answer(*news, said("Yes."), DONE).parts == (TextPart("Yes."),)


def test_without_an_end_it_was_cut_and_a_filter_refuses() -> None:
    with pytest.raises(StreamCut):
        answer(said("Yes."))
    details = {"incomplete_details": {"reason": "content_filter"}}
    with pytest.raises(ContentRefused):
        answer(said("Yes."), {"type": "response.incomplete", "response": details})
