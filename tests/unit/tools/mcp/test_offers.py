"""Names and schemas that every vendor takes."""

import re
from typing import Any

import msgspec
import pytest

from roost.tools.mcp.offers import Offer, distinct, named, schema_of

ALLOWED = re.compile("[a-zA-Z0-9_-]{1,64}")


def parameters(**schema: object) -> dict[str, Any] | None:
    made = schema_of("server", Offer("tool", "Does it.", schema))
    return None if made is None else msgspec.json.decode(made.parameters, type=dict[str, Any])


def test_name_says_the_server_and_the_tool() -> None:
    assert named("github", "create-issue") == "mcp_github_create-issue"


@pytest.mark.parametrize("tool", ["a b", "Eule/füttern", "x" * 200, "", "a\nb", "日本"])
def test_any_name_becomes_one_that_vendors_take(tool: str) -> None:
    assert ALLOWED.fullmatch(named("my server", tool))


def test_names_that_look_alike_stay_apart() -> None:
    assert len({named("s", tool) for tool in ("a b", "a/b", "a_b", "a.b")}) == 4
    assert named("s", "x" * 99) != named("s", "x" * 98)
    assert distinct("mcp_a_b_c", "a", "b_c") != distinct("mcp_a_b_c", "a_b", "c")


def test_schema_goes_on_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "required": ["a"],
        "$defs": {"A": {"type": "string"}},
    }
    assert parameters(**schema) == schema


def test_schema_without_properties_gets_them() -> None:
    assert parameters() == {"type": "object", "properties": {}}


def test_what_vendors_refuse_at_the_top_is_left_out() -> None:
    made = parameters(**{"$schema": "x", "title": "T", "anyOf": [{"required": ["a"]}]})
    assert made == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": ["object", "null"]},
        {"properties": ["a"]},
        {"properties": {"a b": {}}},
        {"properties": {"x" * 65: {}}},
        {"description": "x" * 20_000},
    ],
)
def test_tool_that_no_model_could_be_told_of_is_left_out(schema: dict[str, object]) -> None:
    assert parameters(**schema) is None


def test_long_description_is_cut() -> None:
    made = schema_of("server", Offer("tool", "x" * 9000, {}))
    assert made is not None
    assert len(made.description) == 2000
