"""A typed function is a tool: its signature is the schema, and its check."""

from typing import Annotated, Literal

import msgspec
import pytest

from roost.core.messages import plain_text
from roost.tools.base import Intent, ToolContext, ToolError, ToolOutput
from roost.tools.schema import tool
from tests.unit.tools.calling import context_of


class Edit(msgspec.Struct, frozen=True):
    old: str
    new: str = ""


async def change(
    context: ToolContext,
    path: Annotated[str, msgspec.Meta(description="of the file")],
    mode: Literal["once", "all"] = "once",
    lines: Annotated[int, msgspec.Meta(ge=1)] | None = None,
    edits: tuple[Edit, ...] = (),
) -> str:
    """Change a file.

    All edits, or none.
    """
    return f"{path} {mode} {lines} {[edit.old for edit in edits]}"


CHANGE = tool(change)


def test_schema_is_in_one_piece_and_says_no_more_than_it_must() -> None:
    assert CHANGE.schema.name == "change"
    assert CHANGE.schema.description == "Change a file.\n\nAll edits, or none."
    assert msgspec.json.decode(CHANGE.schema.parameters) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "of the file"},
            "mode": {"type": "string", "enum": ["all", "once"]},
            "lines": {"type": "integer", "minimum": 1},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "additionalProperties": False,
                    "required": ["old"],
                },
            },
        },
        "additionalProperties": False,
        "required": ["path"],
    }


async def test_arguments_arrive_typed_with_their_defaults() -> None:
    written = '{"path":"a","edits":[{"old":"x"}],"lines":null}'
    output = await CHANGE.run(written, context_of())
    assert plain_text(output.content) == "a once None ['x']"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{}", "missing required field `path`"),
        ('{"path":1}', "path: Expected `str`, got `int`"),
        ('{"path":"a","lines":0}', "lines: Expected `int` >= 1"),
        ('{"path":"a","mode":"twice"}', "mode: Invalid enum value 'twice'"),
        ('{"path":"a","pth":"b"}', "unknown field `pth`"),
        ('{"path":"a","edits":[{}]}', "edits[0]: Object missing required field `old`"),
        ("[]", "Expected `object`"),
        ('{"path":', "not JSON"),
        ('{"path":"\\ud800"}', "not JSON"),
    ],
)
async def test_wrong_argument_is_an_error_that_can_be_mended(arguments: str, says: str) -> None:
    with pytest.raises(ToolError) as raised:
        await CHANGE.run(arguments, context_of())
    assert says in str(raised.value)
    if "JSON" not in says:
        assert "change takes path, mode (optional), lines (optional), edits (optional)." in str(
            raised.value
        )


async def test_intent_is_made_of_the_same_arguments() -> None:
    async def would(
        context: ToolContext,
        path: str,
        mode: Literal["once", "all"] = "once",
        lines: int | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> Intent:
        return Intent(does="Change a file", subject=path)

    careful = tool(change, name="careful", intent=would)
    intent = await careful.intent('{"path":"a"}', context_of())
    assert intent == Intent(does="Change a file", subject="a")
    with pytest.raises(ToolError):
        await careful.intent('{"pat":"a"}', context_of())
    assert await CHANGE.intent('{"path":"a"}', context_of()) is None


async def test_output_may_be_more_than_text() -> None:
    async def picture(context: ToolContext) -> ToolOutput:
        """Show a picture."""
        return ToolOutput.of("half", error=True)

    assert (await tool(picture).run("{}", context_of())).error


def test_tool_has_to_say_what_it_does() -> None:
    async def silent(context: ToolContext) -> str:
        return ""

    with pytest.raises(TypeError, match="says nothing of itself"):
        tool(silent)
