"""The system prompt, and the tools as they are stored with it."""

import msgspec

from roost.agent.context import turn_context
from roost.agent.prompt import freeze_tools, system_prompt, thaw_tools
from roost.core.messages import ContextPart
from roost.llm.base import ToolSchema
from roost.llm.profiles import Profile


def test_tools_are_spoken_of_only_where_there_are_some() -> None:
    assert "# Tools" in system_prompt(Profile(), tools=True)
    assert "# Tools" not in system_prompt(Profile(), tools=False)


def test_tiny_model_gets_a_sentence() -> None:
    assert len(system_prompt(Profile(brief=True), tools=False)) < 200


def test_instructions_come_last() -> None:
    prompt = system_prompt(Profile(), tools=True, instructions="  Speak like a bird. \n")
    assert prompt.endswith("Speak like a bird.\n")
    assert system_prompt(Profile(), tools=False, instructions=" ") == system_prompt(
        Profile(), tools=False
    )


def test_tools_come_back_byte_for_byte() -> None:
    raw = b'{"type": "object",  "properties": {"b": {}, "a": {}}}'
    schemas = (ToolSchema("t", "Does it.", msgspec.Raw(raw)),)
    stored = freeze_tools(schemas)
    (thawed,) = thaw_tools(stored)
    assert bytes(thawed.parameters) == raw
    assert freeze_tools((thawed,)) == stored


def test_time_is_told_where_the_user_is() -> None:
    noon = 1_794_744_000_000
    assert turn_context(noon, "Europe/Berlin", None) == (
        ContextPart("time", "Sunday, 2026-11-15 13:00 (Europe/Berlin)"),
    )


def test_unknown_time_zone_is_no_reason_to_fail() -> None:
    (part,) = turn_context(0, "Mars/Olympus", "cli")
    assert part.text == "Thursday, 1970-01-01 00:00 (UTC)"


def test_channel_is_named() -> None:
    assert turn_context(0, "UTC", "telegram:dm:42")[1] == ContextPart("route", "telegram:dm:42")
