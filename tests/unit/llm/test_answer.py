"""An answer put together from its pieces."""

import pytest

from roost.core.errors import NoAnswer, ReplyMalformed
from roost.core.events import ReasoningDelta, TextDelta, ToolCallDelta
from roost.core.messages import ReasoningPart, TextPart, ToolCallPart
from roost.core.usage import Usage
from roost.llm.answer import Answer

MINE = "nest/heron"


@pytest.fixture
def answer() -> Answer:
    return Answer("nest", "heron")


def test_pieces_of_one_kind_grow_together_in_the_order_they_came(answer: Answer) -> None:
    assert answer.empty
    assert answer.think("Let me ") == ReasoningDelta("Let me ")
    answer.think("see.")
    assert answer.say("It ") == TextDelta("It ")
    answer.say("is.")
    answer.think("Really?")
    answer.say("Yes.")
    assert not answer.empty
    assert answer.finish("stop", None).parts == (
        ReasoningPart("Let me see.", None, MINE),
        TextPart("It is."),
        ReasoningPart("Really?", None, MINE),
        TextPart("Yes."),
    )


def test_a_thought_with_its_payload_is_complete(answer: Answer) -> None:
    answer.think("One.")
    answer.keep("first")
    answer.think("Two.")
    answer.keep("second")
    answer.keep("hidden", apart=True)
    answer.think("Three.")
    answer.keep("hidden too", apart=True)
    answer.say("Done.")
    assert answer.finish("stop", None).parts == (
        ReasoningPart("One.", "first", MINE),
        ReasoningPart("Two.", "second", MINE),
        ReasoningPart("", "hidden", MINE),
        ReasoningPart("Three.", None, MINE),
        ReasoningPart("", "hidden too", MINE),
        TextPart("Done."),
    )


def test_a_payload_without_a_thought_makes_one(answer: Answer) -> None:
    answer.say("Hm.")
    answer.keep("sealed")
    answer.keep("sealed too")
    assert answer.finish("stop", None).parts[1:] == (
        ReasoningPart("", "sealed", MINE),
        ReasoningPart("", "sealed too", MINE),
    )


def test_one_payload_for_all_goes_with_the_first_thought(answer: Answer) -> None:
    answer.think("One.")
    answer.say("Well.")
    answer.think("Two.")
    answer.own("[1,2]")
    payloads = [
        p.payload for p in answer.finish("stop", None).parts if isinstance(p, ReasoningPart)
    ]
    assert payloads == ["[1,2]", ""]


def test_one_payload_for_no_thought_comes_first(answer: Answer) -> None:
    answer.say("Well.")
    answer.own("[1,2]")
    assert answer.finish("stop", None).parts[0] == ReasoningPart("", "[1,2]", MINE)


def test_calls_grow_apart(answer: Answer) -> None:
    first = answer.call(0, "read", "one", "")
    second = answer.call(1, "read", None, '{"b"')
    assert answer.extend(0, '{"a":1}') == ToolCallDelta(first.call, "read", '{"a":1}')
    answer.extend(1, ":2}")
    finished = answer.finish("stop", Usage("nest", "heron"))
    assert finished.parts == (
        ToolCallPart(first.call, "read", '{"a":1}', "one"),
        ToolCallPart(second.call, "read", '{"b":2}'),
    )
    assert first.call != second.call
    assert finished.reason == "tool_calls"
    assert finished.usage == Usage("nest", "heron")


def test_a_call_without_arguments_has_an_empty_object(answer: Answer) -> None:
    answer.call(0, "now", "", "")
    part = answer.finish("stop", None).parts[0]
    assert isinstance(part, ToolCallPart)
    assert (part.arguments, part.wire_id) == ("{}", None)


def test_an_answer_cut_by_the_limit_says_so_even_with_calls(answer: Answer) -> None:
    answer.call(0, "read", None, '{"path": "a')
    assert answer.finish("length", None).reason == "length"


def test_calls_must_have_a_name_and_arguments_a_call(answer: Answer) -> None:
    for name in (None, ""):
        with pytest.raises(ReplyMalformed, match="without a name"):
            answer.call(0, name, "one", "{}")
    with pytest.raises(ReplyMalformed, match="no tool call"):
        answer.extend(0, "{}")


def test_nothing_but_thoughts_is_no_answer(answer: Answer) -> None:
    with pytest.raises(NoAnswer):
        answer.finish("stop", None)
    answer.think("Hm.")
    with pytest.raises(NoAnswer):
        answer.finish("stop", None)
