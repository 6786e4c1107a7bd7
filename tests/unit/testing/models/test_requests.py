"""Requests that a strict vendor takes, and those it refuses."""

import aiohttp
import pytest

from roost.testing.models import ModelServer
from roost.testing.models.prompt import Json
from roost.testing.models.signature import sign
from tests.unit.testing.models.listening import Protocols

PATHS = {"chat": "chat/completions", "responses": "responses", "anthropic": "messages"}


async def answer(server: ModelServer, protocol: Protocols, body: Json) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession(headers={"anthropic-version": "2023-06-01"}) as session,
        session.post(f"{server.openai_url}/{PATHS[protocol]}", json=body) as response,
    ):
        return response.status, await response.text()


def chat(*messages: Json, **more: object) -> Json:
    return {"model": "m", "messages": list(messages), **more}


def claude(*messages: Json, **more: object) -> Json:
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **more}


def response(*items: Json, **more: object) -> Json:
    return {"model": "m", "input": list(items), **more}


USER: Json = {"role": "user", "content": "hi"}


def chat_calls(*ids: str) -> Json:
    calls = [
        {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(id: str) -> Json:
    return {"role": "tool", "tool_call_id": id, "content": "done"}


def claude_calls(*ids: str) -> Json:
    blocks: list[Json] = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]
    return {"role": "assistant", "content": blocks}


def claude_results(*ids: str, before: tuple[Json, ...] = ()) -> Json:
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": "done"} for id in ids]
    return {"role": "user", "content": [*before, *blocks]}


def thought(signature: str) -> Json:
    block = {"type": "thinking", "thinking": "hm", "signature": signature}
    return {"role": "assistant", "content": [block, {"type": "text", "text": "yes"}]}


CALL: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "c1", "output": "done"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
TEXT: Json = {"type": "text", "text": "and"}
MARKED: Json = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
TOOL: Json = {"name": "f", "input_schema": {"type": "object"}}

TAKEN: list[tuple[Protocols, Json]] = [
    ("chat", chat({"role": "developer", "content": "be"}, USER)),
    ("chat", chat(USER, chat_calls("a", "b"), chat_result("b"), chat_result("a"))),
    ("chat", chat(USER, chat_calls("a"), chat_result("a"), chat_calls("a"), chat_result("a"))),
    ("chat", chat({"role": "user", "content": [TEXT, {"type": "file", "file": {}}]})),
    ("responses", response(USER, REASONING, CALL, OUTPUT)),
    ("responses", response(USER, {**CALL, "id": "fc_1"}, OUTPUT, instructions="be")),
    ("anthropic", claude(USER, claude_calls("a", "b"), claude_results("b", "a"))),
    ("anthropic", claude(USER, USER, {"role": "assistant", "content": "prefilled"})),
    ("anthropic", claude(USER, thought(sign("hm")), USER, tools=[TOOL])),
    ("anthropic", claude(USER, thought("some other seal"), USER)),
]

REFUSED: dict[str, tuple[Protocols, Json, str]] = {
    "chat: no message": ("chat", chat(), "empty array"),
    "chat: unknown role": ("chat", chat({"role": "robot", "content": "x"}), "robot"),
    "chat: no model": ("chat", {"messages": [USER]}, "model"),
    "chat: wrong content": ("chat", chat({"role": "user", "content": 1}), "content"),
    "chat: unknown part": (
        "chat",
        chat({"role": "user", "content": [{"type": "input_text", "text": "x"}]}),
        "input_text",
    ),
    "chat: silence": ("chat", chat(USER, {"role": "assistant", "content": None}), "content"),
    "chat: call without result": ("chat", chat(USER, chat_calls("a", "b"), chat_result("a")), "b"),
    "chat: result too late": (
        "chat",
        chat(USER, chat_calls("a"), USER, chat_result("a")),
        "did not have response",
    ),
    "chat: result without call": ("chat", chat(USER, chat_result("a")), "preceding"),
    "chat: result twice": (
        "chat",
        chat(USER, chat_calls("a"), chat_result("a"), chat_result("a")),
        "preceding",
    ),
    "chat: same id twice": (
        "chat",
        chat(USER, chat_calls("a", "a"), chat_result("a"), chat_result("a")),
        "id of its own",
    ),
    "chat: stream options": ("chat", chat(USER, stream_options={}), "stream_options"),
    "chat: bad tool name": (
        "chat",
        chat(USER, tools=[{"type": "function", "function": {"name": "a b"}}]),
        "a b",
    ),
    "responses: call without result": ("responses", response(USER, CALL), "No tool output"),
    "responses: result without call": ("responses", response(USER, OUTPUT), "No tool call"),
    "responses: unknown item": ("responses", response({"type": "poem"}), "poem"),
    "responses: unknown field": ("responses", response(USER, mood="good"), "mood"),
    "responses: input text from the assistant": (
        "responses",
        response({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
        "input_text",
    ),
    "responses: foreign id": ("responses", response({**CALL, "id": "c1"}, OUTPUT), "fc"),
    "responses: thought alone": ("responses", response(REASONING, USER), "required"),
    "responses: unknown predecessor": (
        "responses",
        response(USER, previous_response_id="resp_1"),
        "not found",
    ),
    "anthropic: no max_tokens": ("anthropic", chat(USER), "max_tokens"),
    "anthropic: unknown role": (
        "anthropic",
        claude({"role": "system", "content": "x"}),
        "system",
    ),
    "anthropic: unknown field": ("anthropic", claude({**USER, "name": "x"}), "name"),
    "anthropic: assistant first": (
        "anthropic",
        claude({"role": "assistant", "content": "x"}, USER),
        "first message",
    ),
    "anthropic: empty text": (
        "anthropic",
        claude({"role": "user", "content": [{"type": "text", "text": ""}]}),
        "non-whitespace",
    ),
    "anthropic: call without result": (
        "anthropic",
        claude(USER, claude_calls("a", "b"), claude_results("a")),
        "without `tool_result`",
    ),
    "anthropic: call at the end": (
        "anthropic",
        claude(USER, claude_calls("a")),
        "without `tool_result`",
    ),
    "anthropic: result without call": (
        "anthropic",
        claude(claude_results("a")),
        "unexpected `tool_use_id`",
    ),
    "anthropic: result after text": (
        "anthropic",
        claude(USER, claude_calls("a"), claude_results("a", before=(TEXT,))),
        "must come before",
    ),
    "anthropic: forged thought": (
        "anthropic",
        claude(USER, thought(sign("something else")), USER),
        "Invalid `signature`",
    ),
    "anthropic: five marks": (
        "anthropic",
        claude({"role": "user", "content": [MARKED] * 5}),
        "maximum of 4",
    ),
    "anthropic: thinking beyond the limit": (
        "anthropic",
        claude(USER, thinking={"type": "enabled", "budget_tokens": 2000}),
        "budget_tokens",
    ),
}


@pytest.mark.parametrize(("protocol", "body"), TAKEN)
async def test_request_is_taken(protocol: Protocols, body: Json, server: ModelServer) -> None:
    assert (await answer(server, protocol, body))[0] == 200
    assert server.requests[0].refused is None


@pytest.mark.parametrize("name", REFUSED)
async def test_request_is_refused(name: str, server: ModelServer) -> None:
    protocol, body, reason = REFUSED[name]
    status, text = await answer(server, protocol, body)
    assert (status, "invalid_request_error" in text) == (400, True)
    refused = server.requests[0].refused
    assert refused is not None
    assert reason in refused


async def test_refused_request_takes_no_reply_from_the_plan(server: ModelServer) -> None:
    server.plan(lambda request: pytest.fail("was asked for"))
    await answer(server, "chat", chat())
    assert server.unplayed == 1


async def test_body_that_is_not_json_is_refused(server: ModelServer) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.openai_url}/responses", data=b"{") as response,
    ):
        assert response.status == 400


async def test_anthropics_version_header_is_required(server: ModelServer) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/v1/messages", json=claude(USER)) as response,
    ):
        assert response.status == 400
        assert "anthropic-version" in await response.text()


async def test_request_tells_what_the_model_was_told(server: ModelServer) -> None:
    await answer(server, "chat", chat(USER, chat_calls("a"), chat_result("a")))
    await answer(server, "responses", response(USER, CALL, OUTPUT))
    body = claude(USER, claude_calls("a"), claude_results("a"), tools=[TOOL])
    await answer(server, "anthropic", body)
    assert [request.results for request in server.requests] == [
        {"a": "done"},
        {"c1": "done"},
        {"a": "done"},
    ]
    assert [request.last_text for request in server.requests] == ["done"] * 3
    assert server.requests[2].tools == ("f",)
    assert server.requests[2].read(dict[str, object])["max_tokens"] == 100
