"""Our requests are those the vendors' own packages send for the same conversation.

The packages' types check what is written here, and the scripted server refuses what they would.
"""

from typing import cast, get_args

import aiohttp
import msgspec
import pytest
from anthropic.types import MessageParam, TextBlockParam, ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from openai.types.responses import FunctionToolParam, ResponseInputItemParam

from roost.llm.base import Request
from roost.testing.models import ModelServer
from tests.unit.llm.asking import asking, events_of, question
from tests.unit.llm.conversations import (
    BLOBS,
    PDF_64,
    PNG_64,
    SCHEMA,
    SYSTEM,
    TOOLS,
    conversation,
)
from tests.unit.testing.models.listening import Clients, Protocols

NO_SCHEMA: dict[str, object] = {"type": "object", "properties": {}}
CONTEXT = "<context name='time'>\n10:00\n</context>"
LIST = "<file name='list.txt'>\nBuy seeds.\n\n</file>"
NOTE = "<note>\nThe user was away.\n</note>"
PNG_URL = f"data:image/png;base64,{PNG_64}"
PDF_URL = f"data:application/pdf;base64,{PDF_64}"


def request(payload: str | None) -> Request:
    return Request(
        model="heron",
        messages=conversation(payload),
        system=SYSTEM,
        tools=TOOLS,
        effort="low",
        max_output_tokens=5000,
        blobs=BLOBS,
    )


async def both(
    protocol: Protocols, ours: Request, server: ModelServer, connections: aiohttp.ClientSession
) -> tuple[dict[str, object], dict[str, object]]:
    """What was asked by the package (before) and is now by us, both as strict vendors took it."""
    await events_of(asking(connections, server, protocol), ours)
    theirs, mine = server.requests
    assert (theirs.refused, mine.refused) == (None, None)
    assert mine.headers["content-type"] == theirs.headers["content-type"]
    return mine.json, theirs.json


async def test_chat(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": SYSTEM},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": CONTEXT},
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PNG_URL}},
                {"type": "file", "file": {"filename": "map.pdf", "file_data": PDF_URL}},
                {"type": "text", "text": LIST},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "type": "function",
                    "id": "call_named",
                    "function": {"name": "read", "arguments": '{"path": "a.txt"}'},
                },
                {
                    "type": "function",
                    "id": "tcl_2",
                    "function": {"name": "now", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call_named", "content": "A nest:"},
        {"role": "tool", "tool_call_id": "tcl_2", "content": "no clock"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG_URL}}]},
        {"role": "assistant", "content": "It is a nest."},
        {"role": "user", "content": NOTE},
        {"role": "user", "content": "Thanks."},
    ]
    tools: list[ChatCompletionFunctionToolParam] = [
        {
            "type": "function",
            "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA},
        },
        {
            "type": "function",
            "function": {"name": "now", "description": "The time.", "parameters": NO_SCHEMA},
        },
    ]
    async with await vendors.openai.chat.completions.create(
        model="heron",
        messages=messages,
        tools=tools,
        stream=True,
        stream_options={"include_usage": True},
        reasoning_effort="low",
        max_tokens=5000,
    ):
        pass
    ours, theirs = await both("chat", request(None), server, connections)
    assert ours == theirs


async def test_responses(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    thought = '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"sealed"}'
    items: list[ResponseInputItemParam] = [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": CONTEXT},
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "detail": "auto", "image_url": PNG_URL},
                {"type": "input_file", "filename": "map.pdf", "file_data": PDF_URL},
                {"type": "input_text", "text": LIST},
            ],
        },
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"},
        _said("I look."),
        {
            "type": "function_call",
            "call_id": "call_named",
            "name": "read",
            "arguments": '{"path": "a.txt"}',
        },
        {"type": "function_call", "call_id": "tcl_2", "name": "now", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "call_named",
            "output": [
                {"type": "input_text", "text": "A nest:"},
                {"type": "input_image", "detail": "auto", "image_url": PNG_URL},
            ],
        },
        {"type": "function_call_output", "call_id": "tcl_2", "output": "no clock"},
        _said("It is a nest."),
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": NOTE}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]},
    ]
    tools: list[FunctionToolParam] = [
        {
            "type": "function",
            "name": "read",
            "description": "Read a file.",
            "parameters": SCHEMA,
            "strict": False,
        },
        {
            "type": "function",
            "name": "now",
            "description": "The time.",
            "parameters": NO_SCHEMA,
            "strict": False,
        },
    ]
    async with await vendors.openai.responses.create(
        model="heron",
        instructions=SYSTEM,
        input=items,
        tools=tools,
        stream=True,
        store=False,
        include=["reasoning.encrypted_content"],
        reasoning={"effort": "low", "summary": "auto"},
        max_output_tokens=5000,
    ):
        pass
    ours, theirs = await both("responses", request(thought), server, connections)
    assert ours == theirs


def _said(text: str) -> ResponseInputItemParam:
    """The type asks for an id, which only the vendor's storage uses."""
    said = {"type": "output_text", "text": text}
    item = {"type": "message", "role": "assistant", "content": [said]}
    return cast(ResponseInputItemParam, item)


async def test_anthropic(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    system: list[TextBlockParam] = [
        {"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}
    ]
    messages: list[MessageParam] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": CONTEXT},
                {"type": "text", "text": "What is this?"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG_64},
                },
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_64},
                },
                {"type": "text", "text": LIST},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "sealed"},
                {"type": "text", "text": "I look."},
                {
                    "type": "tool_use",
                    "id": "call_named",
                    "name": "read",
                    "input": {"path": "a.txt"},
                },
                {"type": "tool_use", "id": "tcl_2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_named",
                    "is_error": False,
                    "content": [
                        {"type": "text", "text": "A nest:"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PNG_64},
                        },
                    ],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "tcl_2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no clock"}],
                },
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It is a nest."}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": NOTE, "cache_control": {"type": "ephemeral"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Thanks.", "cache_control": {"type": "ephemeral"}}
            ],
        },
    ]
    tools: list[ToolParam] = [
        {"name": "read", "description": "Read a file.", "input_schema": SCHEMA},
        {
            "name": "now",
            "description": "The time.",
            "input_schema": NO_SCHEMA,
            "cache_control": {"type": "ephemeral"},
        },
    ]
    async with await vendors.anthropic.messages.create(
        model="heron",
        max_tokens=5000,
        system=system,
        messages=messages,
        tools=tools,
        thinking={"type": "enabled", "budget_tokens": 2048},
        stream=True,
    ):
        pass
    ours, theirs = await both("anthropic", request("sealed"), server, connections)
    assert ours == theirs


ANSWER: dict[str, object] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def asked_for_an_answer() -> Request:
    schema = msgspec.Raw(msgspec.json.encode(ANSWER))
    return msgspec.structs.replace(question("Who?"), schema=schema, max_output_tokens=100)


async def held(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> tuple[dict[str, object], dict[str, object]]:
    ours = asking(connections, server, protocol, {"schemas": True, "effort": "none"})
    await events_of(ours, asked_for_an_answer())
    theirs, mine = server.requests
    assert (theirs.refused, mine.refused) == (None, None)
    return mine.json, theirs.json


async def test_schema_of_an_answer_by_chat(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    async with await vendors.openai.chat.completions.create(
        model="heron",
        messages=[{"role": "user", "content": "Who?"}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": ANSWER, "strict": True},
        },
        max_tokens=100,
        stream=True,
        stream_options={"include_usage": True},
    ):
        pass
    ours, theirs = await held("chat", server, connections)
    assert ours == theirs


async def test_schema_of_an_answer_by_responses(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    async with await vendors.openai.responses.create(
        model="heron",
        input=[
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Who?"}],
            }
        ],
        text={
            "format": {"type": "json_schema", "name": "answer", "schema": ANSWER, "strict": True}
        },
        max_output_tokens=100,
        stream=True,
        store=False,
        include=["reasoning.encrypted_content"],
    ):
        pass
    ours, theirs = await held("responses", server, connections)
    assert ours == theirs


async def test_schema_of_an_answer_by_anthropic(
    server: ModelServer, vendors: Clients, connections: aiohttp.ClientSession
) -> None:
    async with await vendors.anthropic.messages.create(
        model="heron",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Who?", "cache_control": {"type": "ephemeral"}}
                ],
            }
        ],
        output_config={"format": {"type": "json_schema", "schema": ANSWER}},
        max_tokens=100,
        stream=True,
    ):
        pass
    ours, theirs = await held("anthropic", server, connections)
    assert ours == theirs


@pytest.mark.parametrize("protocol", get_args(Protocols))
async def test_model_that_can_not_be_held_to_a_schema_gets_none(
    server: ModelServer, connections: aiohttp.ClientSession, protocol: Protocols
) -> None:
    await events_of(asking(connections, server, protocol), asked_for_an_answer())
    assert b"additionalProperties" not in server.requests[0].body
