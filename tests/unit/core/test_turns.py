"""Which state may follow which, of turns and of tool calls."""

from itertools import product
from typing import get_args

import pytest

from roost.core.errors import Conflict
from roost.core.ids import ToolCallId, TurnId
from roost.core.turns import (
    TOOL_CALL_MOVES,
    TURN_MOVES,
    ToolCallState,
    TurnState,
    check_tool_call_move,
    check_turn_move,
)

TURN_STATES: tuple[TurnState, ...] = get_args(TurnState)
CALL_STATES: tuple[ToolCallState, ...] = get_args(ToolCallState)

LEGAL_TURN_MOVES = {
    ("queued", "running"),
    ("queued", "failed"),
    ("queued", "removed"),
    ("queued", "merged"),
    ("running", "waiting"),
    ("running", "completed"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "interrupted"),
    ("waiting", "running"),
    ("waiting", "failed"),
    ("waiting", "cancelled"),
    ("interrupted", "running"),
    ("failed", "running"),
    ("cancelled", "running"),
}
LEGAL_CALL_MOVES = {
    ("requested", "waiting"),
    ("requested", "running"),
    ("requested", "failed"),
    ("requested", "denied"),
    ("requested", "cancelled"),
    ("waiting", "running"),
    ("waiting", "denied"),
    ("waiting", "cancelled"),
    ("waiting", "requested"),
    ("running", "done"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("running", "unknown"),
}


@pytest.mark.parametrize(("before", "after"), product(TURN_STATES, TURN_STATES))
def test_turn_makes_legal_moves_only(before: TurnState, after: TurnState) -> None:
    if (before, after) in LEGAL_TURN_MOVES:
        check_turn_move(TurnId("trn_x"), before, after)
    else:
        with pytest.raises(Conflict, match=f"trn_x is {before} and can't become {after}"):
            check_turn_move(TurnId("trn_x"), before, after)


@pytest.mark.parametrize(("before", "after"), product(CALL_STATES, CALL_STATES))
def test_tool_call_makes_legal_moves_only(before: ToolCallState, after: ToolCallState) -> None:
    if (before, after) in LEGAL_CALL_MOVES:
        check_tool_call_move(ToolCallId("cal_x"), before, after)
    else:
        with pytest.raises(Conflict, match=f"cal_x is {before} and can't become {after}"):
            check_tool_call_move(ToolCallId("cal_x"), before, after)


def test_every_state_says_what_may_follow() -> None:
    assert set(TURN_MOVES) == set(TURN_STATES)
    assert set(TOOL_CALL_MOVES) == set(CALL_STATES)
