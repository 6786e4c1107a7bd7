"""Chat requests: what the oracle's one conversation does not show."""

from typing import Any

import msgspec
import pytest

from roost.core.ids import ToolCallId
from roost.core.messages import Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from roost.llm.base import Effort, Request
from roost.llm.openai_chat import encode
from tests.unit.llm.asking import message, profile, question
from tests.unit.llm.conversations import ARGUMENTS, BLOBS, IMAGE, MINE, TOOLS


def body(request: Request, **changes: object) -> dict[str, Any]:
    return msgspec.json.decode(encode(request, profile("chat", **changes), "nest"))


def assistant(*parts: Part, **changes: object) -> dict[str, Any]:
    """How an answer is sent back."""
    request = Request(model="heron", messages=(message("assistant", *parts),), blobs=BLOBS)
    return body(request, **changes)["messages"][0]


def with_settings(effort: Effort | None = None) -> Request:
    return msgspec.structs.replace(
        question(), effort=effort, temperature=0.5, max_output_tokens=9, tools=TOOLS
    )


def test_a_plain_question_is_a_plain_request() -> None:
    assert body(question(), asks_for_usage=False) == {
        "model": "heron",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_what_the_model_does_not_take_is_left_out() -> None:
    sent = body(with_settings("low"), temperature=False, tools=False, effort="none")
    assert not sent.keys() & {"temperature", "tools", "reasoning_effort", "reasoning"}
    assert sent["max_tokens"] == 9
    assert body(with_settings(), output_field="max_completion_tokens")["max_completion_tokens"] == 9
    assert body(with_settings())["temperature"] == 0.5


@pytest.mark.parametrize(
    ("knob", "off", "effort", "sent"),
    [
        ("reasoning_effort", "none", "high", {"reasoning_effort": "high"}),
        ("reasoning_effort", "none", "off", {"reasoning_effort": "none"}),
        ("reasoning_effort", "minimal", "off", {"reasoning_effort": "minimal"}),
        ("reasoning_effort", None, "off", {}),
        ("reasoning_effort", None, "low", {"reasoning_effort": "low"}),
        ("reasoning", "none", "high", {"reasoning": {"effort": "high"}}),
        ("reasoning", "none", "off", {"reasoning": {"enabled": False}}),
        ("reasoning_effort", "none", None, {}),
        ("none", "none", "high", {}),
    ],
)
def test_effort_is_said_as_the_vendor_has_it(
    knob: str, off: str | None, effort: Effort | None, sent: dict[str, object]
) -> None:
    asked = body(with_settings(effort), effort=knob, effort_off=off)
    assert {key: asked[key] for key in asked if key.startswith("reasoning")} == sent


def test_thoughts_go_back_as_the_vendor_wants_them() -> None:
    details = '[{"type":"reasoning.text","text":"Hm."}]'
    thought, text = ReasoningPart("Hm.", details, MINE), TextPart("Yes.")
    plain = {"role": "assistant", "content": "Yes."}
    assert assistant(thought, text) == plain
    back = assistant(thought, text, reasoning_back="reasoning_content")
    assert back == plain | {"reasoning_content": "Hm."}
    back = assistant(thought, text, reasoning_back="reasoning_details")
    assert back == plain | {"reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]}
    unsealed = ReasoningPart("Hm.", "", MINE)
    assert assistant(unsealed, text, reasoning_back="reasoning_details") == plain


@pytest.mark.parametrize("way", ["reasoning_content", "reasoning_details"])
def test_nobody_is_given_the_thoughts_of_another(way: str) -> None:
    text, plain = TextPart("Yes."), {"role": "assistant", "content": "Yes."}
    assert assistant(ReasoningPart("Hm.", "[{}]", "nest/owl"), text, reasoning_back=way) == plain
    assert assistant(text, reasoning_back=way) == plain


def test_results_are_cached_up_to_as_questions_are() -> None:
    call = ToolCallPart(ToolCallId("tcl_1"), "look", "{}")
    messages = (
        message("user", TextPart("")),
        message("user", TextPart("Look.")),
        message("assistant", call),
        message("tool", ToolResultPart(call.call, (TextPart("Seen."),))),
    )
    sent = body(Request(model="heron", messages=messages), cache="breakpoints")["messages"]
    mark = {"cache_control": {"type": "ephemeral"}}
    assert sent[0]["content"] == ""  # a block without text would be refused
    assert sent[1]["content"] == [{"type": "text", "text": "Look.", **mark}]
    assert sent[3]["content"] == [{"type": "text", "text": "Seen.", **mark}]


def test_an_answer_of_calls_alone_has_no_content() -> None:
    sent = assistant(ToolCallPart(ToolCallId("tcl_1"), "now", ""))
    assert sent["content"] is None
    assert sent["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}


@pytest.mark.parametrize(("written", "sent"), ARGUMENTS)
def test_arguments_go_back_as_an_object(written: str, sent: str) -> None:
    said = assistant(ToolCallPart(ToolCallId("tcl_1"), "now", written))
    assert said["tool_calls"][0]["function"]["arguments"] == sent


def test_pictures_of_several_results_follow_the_last_of_them() -> None:
    calls = [ToolCallPart(ToolCallId(f"tcl_{at}"), "look", "{}") for at in range(2)]
    results = [message("tool", ToolResultPart(each.call, (IMAGE,))) for each in calls]
    request = Request(model="heron", messages=(message("assistant", *calls), *results), blobs=BLOBS)
    sent = body(request)["messages"]
    assert [each["role"] for each in sent] == ["assistant", "tool", "tool", "user"]
    assert [each["type"] for each in sent[-1]["content"]] == ["image_url", "image_url"]
    blind = body(request, images=False)["messages"]
    assert [each["role"] for each in blind] == ["assistant", "tool", "tool"]
    assert blind[1]["content"] == "[image nest.png: not shown]"
