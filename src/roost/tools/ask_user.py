"""The `ask_user` tool: a question that only the person can answer."""

from typing import Annotated

from msgspec import Meta

from roost.tools.base import Intent, Tool, ToolContext, ToolError
from roost.tools.schema import tool

Choice = Annotated[str, Meta(min_length=1, max_length=200)]


async def ask_user(
    context: ToolContext,
    question: Annotated[str, Meta(min_length=1, max_length=4000)],
    choices: Annotated[tuple[Choice, ...], Meta(max_length=10)] = (),
) -> str:
    """Ask the user something that you can't find out yourself and can't go on without. Offer
    `choices` where there are few sensible answers; the user may still answer otherwise."""
    said = context.approval.answer if context.approval is not None else None
    if not said:
        raise ToolError("The user gave no answer.")
    return said


async def _intent(context: ToolContext, question: str, choices: tuple[str, ...] = ()) -> Intent:
    return Intent(
        does="Answer a question", subject=question, asks=True, kind="question", choices=choices
    )


ASK_USER: Tool = tool(ask_user, seconds=5, intent=_intent)
