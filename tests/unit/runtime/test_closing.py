"""How a turn that stops short is written down."""

from typing import Literal

import pytest

from roost.core.events import Delta, NoticeDelta, TextDelta, ToolCallDelta, ToolOutputDelta
from roost.core.ids import ToolCallId, TurnId
from roost.core.messages import TextPart, ToolCallPart, ToolResultPart, plain_text
from roost.core.turns import CallEnd, ToolCall, ToolCallState, TurnEnd
from roost.runtime.closing import closing

ONE, TWO = ToolCallId("cal_1"), ToolCallId("cal_2")


def a_call(id: ToolCallId, state: ToolCallState, result: ToolResultPart | None = None) -> ToolCall:
    kept = None if result is None else (result,)
    return ToolCall(
        call=id, turn=TurnId("trn_1"), name="t", arguments="{}", state=state, result=kept
    )


def results(end: TurnEnd) -> list[tuple[ToolCallId, str]]:
    parts = end.messages[-1].parts
    return [(p.call, plain_text(p.content)) for p in parts if isinstance(p, ToolResultPart)]


def test_nothing_said_is_nothing_written() -> None:
    end = closing("cancelled", None, [NoticeDelta("Trying again.")], [], running="cancelled")
    assert (end.messages, end.calls) == ((), ())


def test_what_was_said_is_kept_as_partial() -> None:
    said: list[Delta] = [TextDelta("Half "), TextDelta("an answer")]
    end = closing("failed", "why", said, [], running="cancelled")
    (message,) = end.messages
    assert (message.role, message.partial) == ("assistant", True)
    assert message.parts == (TextPart("Half an answer"),)
    assert (end.state, end.reason) == ("failed", "why")


@pytest.mark.parametrize("fate", ["cancelled", "unknown"])
def test_every_open_call_gets_a_result_in_order(fate: Literal["cancelled", "unknown"]) -> None:
    done, waits = ToolResultPart(ONE, (TextPart("It is done."),)), ToolCallId("cal_3")
    calls = [a_call(ONE, "done", done), a_call(TWO, "running"), a_call(waits, "requested")]
    shown: list[Delta] = [ToolOutputDelta(TWO, "line 1\n"), ToolOutputDelta(TWO, "line 2")]
    end = closing("interrupted", None, shown, calls, running=fate)
    first, second, third = results(end)
    assert first == (ONE, "It is done.")
    assert second[0] == TWO
    assert second[1].endswith("line 1\nline 2")
    assert third[1].startswith("Not run")
    assert end.calls == (CallEnd(TWO, fate), CallEnd(waits, "cancelled"))


def test_settled_calls_are_left_alone() -> None:
    states: tuple[ToolCallState, ...] = ("done", "failed", "denied", "unknown")
    end = closing("failed", None, [], [a_call(ONE, state) for state in states], running="unknown")
    assert end.messages == ()


def test_call_that_was_being_asked_for_is_kept_and_answered() -> None:
    asked: list[Delta] = [TextDelta("See:"), ToolCallDelta(ONE, "t", '{"a": ')]
    end = closing("cancelled", None, asked, [], running="cancelled")
    said, answered = end.messages
    assert said.parts[1] == ToolCallPart(ONE, "t", '{"a": ')
    assert [call for call, _ in results(end)] == [ONE]
    assert answered.role == "tool"
    assert end.calls == (CallEnd(ONE, "cancelled"),)
