"""Anthropic's requests: what the oracle's one conversation does not show."""

from typing import Any

import msgspec
import pytest

from roost.core.ids import ToolCallId
from roost.core.messages import Part, ReasoningPart, TextPart, ToolCallPart
from roost.llm.anthropic import REDACTED, encode
from roost.llm.base import Effort, Request
from tests.unit.llm.asking import message, profile, question
from tests.unit.llm.conversations import MINE, TOOLS


def body(request: Request, **changes: object) -> dict[str, Any]:
    return msgspec.json.decode(encode(request, profile("anthropic", **changes), "nest"))


def assistant(*parts: Part) -> list[dict[str, Any]]:
    request = Request(model="heron", messages=(message("assistant", *parts),))
    return body(request)["messages"][0]["content"]


def test_the_limit_is_always_there() -> None:
    assert body(question())["max_tokens"] == 8192
    assert body(question(), output=64_000)["max_tokens"] == 64_000
    asked = msgspec.structs.replace(question(), max_output_tokens=7)
    assert body(asked, output=64_000)["max_tokens"] == 7


@pytest.mark.parametrize(
    ("knob", "off", "effort", "sent"),
    [
        ("thinking_budget", "disabled", "low", {"type": "enabled", "budget_tokens": 2048}),
        ("thinking_budget", "disabled", "off", None),
        ("output_effort", "disabled", "high", {"type": "adaptive"}),
        ("output_effort", "disabled", "off", {"type": "disabled"}),
        ("output_effort", "between_tools", "off", {"type": "between_tools"}),
        ("output_effort", None, "off", None),
        ("output_effort", "disabled", None, None),
        ("none", "disabled", "high", None),
    ],
)
def test_effort_is_said_as_the_model_has_it(
    knob: str, off: str | None, effort: Effort | None, sent: dict[str, object] | None
) -> None:
    asked = msgspec.structs.replace(question(), effort=effort)
    found = body(asked, effort=knob, effort_off=off)
    assert found.get("thinking") == sent
    adaptive = sent == {"type": "adaptive"}
    assert found.get("output_config") == ({"effort": effort} if adaptive else None)


def test_the_limit_has_room_for_the_budget() -> None:
    asked = msgspec.structs.replace(question(), effort="high", max_output_tokens=100)
    found = body(asked)
    assert found["max_tokens"] > found["thinking"]["budget_tokens"]


def test_temperature_is_left_out_where_it_is_not_taken() -> None:
    asked = msgspec.structs.replace(question(), temperature=0.5)
    assert body(asked)["temperature"] == 0.5
    assert "temperature" not in body(asked, temperature=False)
    thinking = msgspec.structs.replace(asked, effort="low")
    assert "temperature" not in body(thinking)


def test_tools_are_left_out_where_they_are_not_taken() -> None:
    asked = msgspec.structs.replace(question(), tools=TOOLS)
    assert len(body(asked)["tools"]) == len(TOOLS)
    assert "tools" not in body(asked, tools=False)


def test_thoughts_go_back_as_they_came() -> None:
    parts = (
        ReasoningPart("Hm.", "c2VhbA==", MINE),
        ReasoningPart("", "b21pdHRlZA==", MINE),
        ReasoningPart("", REDACTED + "aGlkZGVu", MINE),
        TextPart("Yes."),
    )
    assert assistant(*parts) == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2VhbA=="},
        {"type": "thinking", "thinking": "", "signature": "b21pdHRlZA=="},
        {"type": "redacted_thinking", "data": "aGlkZGVu"},
        {"type": "text", "text": "Yes."},
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("{broken", {"arguments": "{broken"}),
        ("[1]", {"arguments": "[1]"}),
        ("[" * 5000, {"arguments": "[" * 5000}),
        ('{"a":' * 5000 + "1" + "}" * 5000, {"arguments": '{"a":' * 5000 + "1" + "}" * 5000}),
    ],
    ids=range(6),
)
def test_arguments_go_back_as_an_object(arguments: str, sent: dict[str, object]) -> None:
    assert assistant(ToolCallPart(ToolCallId("tcl_1"), "read", arguments))[0]["input"] == sent


def test_messages_without_content_are_left_out() -> None:
    messages = (
        message("user", TextPart("hi")),
        message("assistant", ReasoningPart("Half a thought")),
        message("user", TextPart(" \n"), TextPart("there")),
        message("user"),
    )
    sent = body(Request(model="heron", messages=messages))["messages"]
    assert [[block["text"] for block in each["content"]] for each in sent] == [["hi"], ["there"]]
