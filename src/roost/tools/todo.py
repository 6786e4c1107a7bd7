"""The `todo` tool: the plan of a longer task. The list lives in the conversation, nowhere else."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from roost.tools.base import Tool, ToolContext
from roost.tools.schema import tool

State = Literal["open", "doing", "done"]

_BOXES: dict[State, str] = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=300)]
    state: State = "open"


async def todo(
    context: ToolContext, items: Annotated[tuple[Item, ...], Meta(max_length=50)]
) -> str:
    """Keep a plan for a task of several steps, shown to the user. Give the whole list each time, in
    order; have one item `doing`, and mark each `done` as soon as it is."""
    return _listed(items) or "The list is empty."


def _listed(items: Sequence[Item]) -> str:
    done = sum(item.state == "done" for item in items)
    lines = [f"{_BOXES[item.state]} {item.text}" for item in items]
    return "\n".join([f"{done} of {len(items)} done", *lines]) if items else ""


TODO: Tool = tool(todo, seconds=5)
