"""What is kept of an answer that breaks off."""

from roost.core.events import (
    Delta,
    NoticeDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolOutputDelta,
)
from roost.core.ids import ToolCallId
from roost.core.messages import ReasoningPart, TextPart, ToolCallPart
from roost.core.partial import partial_parts

LS = ToolCallId("cal_1")
CAT = ToolCallId("cal_2")


def test_nothing_streamed_is_nothing_kept() -> None:
    assert partial_parts([]) == ()


def test_consecutive_deltas_of_a_kind_become_one_part() -> None:
    streamed: list[Delta] = [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("Good"),
        TextDelta(" day"),
        ReasoningDelta("?"),
        TextDelta("!"),
    ]
    assert partial_parts(streamed) == (
        ReasoningPart("hm"),
        TextPart("Good day"),
        ReasoningPart("?"),
        TextPart("!"),
    )


def test_tool_calls_arguments_stand_as_far_as_they_came() -> None:
    streamed: list[Delta] = [
        TextDelta("Let me see"),
        ToolCallDelta(LS, "ls", ""),
        ToolCallDelta(LS, "ls", '{"pa'),
    ]
    assert partial_parts(streamed) == (TextPart("Let me see"), ToolCallPart(LS, "ls", '{"pa'))


def test_interleaved_tool_calls_are_one_part_each_in_the_order_they_began() -> None:
    streamed: list[Delta] = [
        ToolCallDelta(LS, "ls", "{"),
        ToolCallDelta(CAT, "cat", "["),
        ToolCallDelta(LS, "ls", "}"),
        TextDelta("and"),
        ToolCallDelta(CAT, "cat", "]"),
    ]
    assert partial_parts(streamed) == (
        ToolCallPart(LS, "ls", "{}"),
        ToolCallPart(CAT, "cat", "[]"),
        TextPart("and"),
    )


def test_name_that_comes_late_is_the_calls_name() -> None:
    streamed = [ToolCallDelta(LS, "", "{"), ToolCallDelta(LS, "ls", "}")]
    assert partial_parts(streamed) == (ToolCallPart(LS, "ls", "{}"),)


def test_what_tools_and_roost_say_meanwhile_is_left_out_and_parts_nothing() -> None:
    streamed: list[Delta] = [
        TextDelta("Good"),
        NoticeDelta("Asking again"),
        ToolOutputDelta(LS, "total 0"),
        TextDelta(" day"),
    ]
    assert partial_parts(streamed) == (TextPart("Good day"),)


def test_empty_text_is_dropped_and_parts_nothing() -> None:
    assert partial_parts([TextDelta(""), ReasoningDelta("")]) == ()
    streamed: list[Delta] = [TextDelta("Good"), ReasoningDelta(""), TextDelta(" day")]
    assert partial_parts(streamed) == (TextPart("Good day"),)
