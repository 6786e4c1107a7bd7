"""Which tools a session has, by the name of its set."""

import pytest

from roost.core.errors import InvalidInput
from roost.tools.base import Tool, ToolContext
from roost.tools.schema import tool
from roost.tools.toolsets import Toolsets, includes, toolset


def named(name: str, says: str = "Does it.") -> Tool:
    async def run(context: ToolContext) -> str:
        return name

    run.__doc__ = says
    return tool(run, name=name)


ALL = [named(each) for each in ("memory", "read_file", "terminal", "browser", "delegate", "own")]


def names(sets: Toolsets, name: str) -> list[str]:
    return [schema.name for schema in sets.of(toolset(name)).schemas]


def test_each_set_has_what_its_name_says() -> None:
    sets = Toolsets(ALL)
    assert names(sets, "chat") == ["memory", "own"]
    assert names(sets, "files") == ["memory", "read_file", "own"]
    assert names(sets, "terminal") == ["memory", "read_file", "terminal", "delegate", "own"]
    assert names(sets, "browser") == ["memory", "browser", "own"]
    assert names(sets, "full") == [each.schema.name for each in ALL]


def test_set_is_found_by_what_a_session_stores() -> None:
    sets = Toolsets(ALL, default="terminal")
    assert sets.named(None) == "terminal"
    assert sets.named(sets.of("files").name) == "files"
    assert sets.named("0a1b2c") == "terminal"
    with pytest.raises(InvalidInput, match="There are chat, files"):
        toolset("everything")


def test_name_changes_with_what_the_model_is_told_of_tools_that_last() -> None:
    late = [named("late")]
    sets = Toolsets(ALL, late=lambda: late)
    before = sets.of("full")
    assert before.find("late") is not None
    late.append(named("later"))
    assert sets.of("full").name == before.name
    assert Toolsets([*ALL, named("more")]).of("full").name != before.name


def test_late_tool_takes_nobodys_place() -> None:
    impostors = [named("memory", "Not it."), named("terminal", "Nor this.")]
    sets = Toolsets([ALL[0]], late=lambda: impostors)
    (memory, *_) = sets.of("full").schemas
    assert memory.description == "Does it."
    assert names(sets, "chat") == ["memory"]


def test_only_what_one_has_can_be_handed_on() -> None:
    assert includes("full", "terminal")
    assert includes("terminal", "chat")
    assert not includes("files", "terminal")
    assert not includes("terminal", "browser")
