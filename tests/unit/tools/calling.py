"""Calls a tool as the agent's execution does."""

from collections.abc import Awaitable, Callable

import msgspec

from roost.core.approvals import Approval
from roost.core.ids import (
    BlobId,
    SessionId,
    ToolCallId,
    TurnId,
    UserId,
    new_approval_id,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
    new_user_id,
)
from roost.core.messages import plain_text
from roost.tools.base import Tool, ToolContext


async def keep_nothing(data: bytes, media_type: str) -> BlobId:
    raise AssertionError("there was nothing to keep")


def context_of(
    *,
    user: UserId | None = None,
    session: SessionId | None = None,
    call: ToolCallId | None = None,
    show: Callable[[str], None] = lambda text: None,
    keep: Callable[[bytes, str], Awaitable[BlobId]] = keep_nothing,
    approval: Approval | None = None,
) -> ToolContext:
    return ToolContext(
        user=user or new_user_id(),
        session=session or new_session_id(),
        turn=new_turn_id(),
        call=call or new_tool_call_id(),
        show=show,
        keep=keep,
        approval=approval,
    )


def answered(words: str, turn: TurnId | None = None) -> Approval:
    """What a person said when they were asked."""
    return Approval(
        id=new_approval_id(),
        session=new_session_id(),
        turn=turn or new_turn_id(),
        call=new_tool_call_id(),
        kind="question",
        arguments=b"",
        directory=None,
        workspace=None,
        body="{}",
        state="answered",
        answer=words,
        asked_at=0,
        expires_at=0,
        answered_at=0,
        answered_by=None,
        answered_on=None,
    )


def written(**arguments: object) -> str:
    return msgspec.json.encode(arguments).decode()


async def told(tool: Tool, context: ToolContext | None = None, **arguments: object) -> str:
    """What a call gives the model, in words."""
    output = await tool.run(written(**arguments), context or context_of())
    return plain_text(output.content)
