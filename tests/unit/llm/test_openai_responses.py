"""Responses requests: what the oracle's one conversation does not show."""

from typing import Any

import msgspec
import pytest

from roost.core.ids import ToolCallId
from roost.core.messages import ReasoningPart, TextPart, ToolCallPart
from roost.llm.base import Effort, Request
from roost.llm.openai_responses import encode
from tests.unit.llm.asking import message, profile, question
from tests.unit.llm.conversations import ARGUMENTS, MINE, TOOLS


def body(request: Request, **changes: object) -> dict[str, Any]:
    return msgspec.json.decode(encode(request, profile("responses", **changes), "nest"))


def test_nothing_is_stored_at_the_vendor() -> None:
    assert body(question()) == {
        "model": "heron",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "hi"}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("off", "effort", "sent"),
    [
        ("none", "high", "high"),
        ("none", "off", "none"),
        ("minimal", "off", "minimal"),
        (None, "off", None),
        ("none", None, None),
    ],
)
def test_effort_is_said_as_the_model_has_it(
    off: str | None, effort: Effort | None, sent: str | None
) -> None:
    asked = body(msgspec.structs.replace(question(), effort=effort), effort_off=off)
    assert asked.get("reasoning", {}).get("effort") == sent


def test_what_the_model_does_not_take_is_left_out() -> None:
    request = msgspec.structs.replace(question(), effort="low", temperature=0.5)
    assert body(request)["temperature"] == 0.5
    request = msgspec.structs.replace(request, tools=TOOLS)
    sent = body(request, effort="none", temperature=False, tools=False)
    assert not sent.keys() & {"reasoning", "temperature", "tools"}


@pytest.mark.parametrize(("written", "sent"), ARGUMENTS)
def test_arguments_go_back_as_an_object(written: str, sent: str) -> None:
    said = message("assistant", ToolCallPart(ToolCallId("tcl_1"), "now", written))
    (item,) = body(Request(model="heron", messages=(said,)))["input"]
    assert item["arguments"] == sent


def test_items_keep_the_order_of_the_parts() -> None:
    sealed = '{"type":"reasoning","id":"rs_1","summary":[]}'
    parts = (TextPart("a"), TextPart("b"), ReasoningPart("", sealed, MINE), TextPart("c"))
    request = Request(model="heron", messages=(message("assistant", *parts),))
    assert [item["type"] for item in body(request)["input"]] == ["message", "reasoning", "message"]
    texts = [[each["text"] for each in item.get("content", ())] for item in body(request)["input"]]
    assert texts == [["a", "b"], [], ["c"]]


def test_a_thought_that_nothing_is_wanted_back_of_is_left_out() -> None:
    parts = (ReasoningPart("Hm.", "", MINE), TextPart("Yes."))
    request = Request(model="heron", messages=(message("assistant", *parts),))
    assert [item["type"] for item in body(request)["input"]] == ["message"]
