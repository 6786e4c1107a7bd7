"""Tool calls of a turn: read, and moved from state to state."""

from collections.abc import Sequence

import msgspec

from roost.core.errors import NotFound
from roost.core.events import Event, ToolCallUpdated
from roost.core.ids import SessionId, ToolCallId, TurnId
from roost.core.messages import Part, decode_parts, encode_parts
from roost.core.turns import TOOL_CALL_MOVES, ToolCall, ToolCallState, check_tool_call_move
from roost.store.operations import Operation, Rows, every, maybe, query


class _ToolCallRow(msgspec.Struct, frozen=True, array_like=True):
    call: ToolCallId
    turn: TurnId
    name: str
    arguments: str
    state: ToolCallState
    result: str | None
    started_at: int | None
    ended_at: int | None


class _State(msgspec.Struct, frozen=True, array_like=True):
    state: ToolCallState


def calls_of(rows: Rows) -> Sequence[ToolCall]:
    return [
        ToolCall(
            call=row.call,
            turn=row.turn,
            name=row.name,
            arguments=row.arguments,
            state=row.state,
            result=None if row.result is None else decode_parts(row.result),
            started_at=row.started_at,
            ended_at=row.ended_at,
        )
        for row in every(rows, _ToolCallRow)
    ]


def call_state(session: SessionId, turn: TurnId, call: ToolCallId) -> Operation[ToolCallState]:
    found = maybe((yield query("find_tool_call", session=session, call=call, turn=turn)), _State)
    if found is None:
        raise NotFound("tool call", call)
    return found.state


def move_call(
    session: SessionId,
    turn: TurnId,
    call: ToolCallId,
    state: ToolCallState,
    result: tuple[Part, ...] | None = None,
) -> Operation[list[Event]]:
    """Move a call on, where that is legal. One that is there already stays, and is no news."""
    before = yield from call_state(session, turn, call)
    if before == state:
        return []
    check_tool_call_move(call, before, state)
    yield query(
        "set_tool_call",
        session=session,
        call=call,
        state=state,
        result=None if result is None else encode_parts(result),
        ended=not TOOL_CALL_MOVES[state],
    )
    return [ToolCallUpdated(call, state)]
