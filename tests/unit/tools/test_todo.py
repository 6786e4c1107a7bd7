"""The `todo` tool: the whole list in, the whole list out."""

import pytest

from roost.tools.base import ToolError
from roost.tools.todo import TODO
from tests.unit.tools.calling import context_of, told


async def test_list_is_repeated_with_its_states() -> None:
    items = [
        {"text": "Read the code", "state": "done"},
        {"text": "Fix the bug", "state": "doing"},
        {"text": "Run the tests"},
    ]
    said = await told(TODO, items=items)
    assert said == "1 of 3 done\n[x] Read the code\n[>] Fix the bug\n[ ] Run the tests"


async def test_empty_list_is_a_list() -> None:
    assert await told(TODO, items=[]) == "The list is empty."


@pytest.mark.parametrize(
    "items",
    [[{"state": "done"}], [{"text": "x", "state": "later"}], [{"text": "x"}] * 51, "read, fix"],
)
async def test_wrong_list_is_refused_in_words(items: object) -> None:
    with pytest.raises(ToolError, match="todo takes items"):
        await told(TODO, items=items)


async def test_nobody_has_to_allow_a_plan() -> None:
    assert await TODO.intent('{"items":[]}', context_of()) is None
