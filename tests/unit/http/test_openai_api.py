"""OpenAI's API as Roost speaks it: what is taken, what is refused, how streams run and end."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from roost.core.ids import SessionId, new_session_id, new_user_id
from roost.core.users import User
from roost.http import openai_turn
from roost.http.openai_turn import AGAIN
from roost.testing.models import ModelServer, call, cut, fail, finish, say, stall, think, use
from tests.engine import ASKS, ECHO, FunctionTool, eventually
from tests.unit.http.served import Client, Served, started

PATH = "/v1/chat/completions"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


class Sent(msgspec.Struct):
    """What a model was asked."""

    messages: list[dict[str, Any]]


async def _act(arguments: str, context: object) -> str:
    return "done"


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    tools = (ECHO, FunctionTool("careful", _act, asks=ASKS))
    async with started(Served(folder, server, tools=tools, heartbeat=0.05)) as served:
        yield served


@pytest.fixture
async def program(served: Served) -> AsyncGenerator[Client]:
    async with served.program() as program:
        yield program


def asking(*texts: str, **more: object) -> dict[str, object]:
    """The user's words, with answers in between."""
    roles = ["user" if place % 2 == 0 else "assistant" for place in range(len(texts))]
    said = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return {"model": "roost", "messages": said, **more}


async def answered(
    client: Client, body: object, headers: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], str]:
    """The completion, and the session it came from."""
    url = client.served.url.with_path(PATH)
    async with client.connections.post(url, json=body, headers=headers) as response:
        completion = await response.json()
        assert response.status == 200, completion
        return completion, response.headers["x-roost-session"]


def words(completion: dict[str, Any]) -> str:
    (choice,) = completion["choices"]
    return choice["message"]["content"]


async def refused(client: Client, body: object, **headers: str) -> tuple[int, dict[str, Any]]:
    status, answer = await client.post(PATH, body, headers=headers)
    return status, answer["error"]


class Chunks:
    """A stream, read line by line: `lines` are all of them, `next` the JSON of the next."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.lines: list[str] = []

    async def next(self) -> dict[str, Any] | None:
        async with asyncio.timeout(60):
            while line := (await self.response.content.readline()).decode():
                self.lines.append(line)
                if line == "data: [DONE]\n":
                    return None
                if line.startswith("data: "):
                    return msgspec.json.decode(line.removeprefix("data: "))
        return None

    async def until(self, words: str) -> str:
        """What was said, as soon as these words were."""
        said = ""
        while words not in said:
            chunk = await self.next()
            assert chunk is not None, said
            said += spoken([chunk])
        return said

    async def rest(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while (chunk := await self.next()) is not None:
            found.append(chunk)
        return found


@asynccontextmanager
async def streaming(
    client: Client, body: dict[str, object], headers: Mapping[str, str] | None = None
) -> AsyncGenerator[Chunks]:
    url = client.served.url.with_path(PATH)
    request = client.connections.post(url, json={**body, "stream": True}, headers=headers)
    async with request as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Chunks(response)
        response.close()


def spoken(chunks: list[dict[str, Any]]) -> str:
    return "".join(
        [choice["delta"].get("content", "") for each in chunks for choice in each["choices"]]
    )


# Whole answers.


async def test_answer_has_openais_shape(program: Client, server: ModelServer) -> None:
    server.plan(say("Good day.") + use(input_tokens=7, output_tokens=3, cached_tokens=2))
    completion, session = await answered(program, asking("Hello"))
    id = completion.pop("id")
    assert id.startswith("chatcmpl-trn_")
    assert completion.pop("created") > 1_700_000_000
    assert completion == {
        "object": "chat.completion",
        "model": "roost",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Good day.", "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": 7,
            "completion_tokens": 3,
            "total_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }
    assert session.startswith("ses_")


async def test_request_of_its_own_is_marked_titled_and_ended(
    program: Client, server: ModelServer
) -> None:
    _, session = await answered(program, asking("What is a roost?"))
    listed = (await program.get("/api/sessions"))["sessions"]
    (found,) = [each for each in listed if each["id"] == session]
    assert (found["origin"], found["title"]) == ("request", "What is a roost?")
    assert found["ended_at"] is not None
    assert len(server.requests) == 1, "no model is asked for a title"


async def test_answer_that_was_too_long_says_so(program: Client, server: ModelServer) -> None:
    server.plan(say("Once upon") + finish("length"))
    completion, _ = await answered(program, asking("Tell me"))
    assert completion["choices"][0]["finish_reason"] == "length"


async def test_tools_and_thoughts_are_not_shown_and_all_steps_count(
    program: Client, server: ModelServer
) -> None:
    first = think("Hm.") + say("Let me see.") + call("echo", {"text": "a"})
    server.plan(first + use(input_tokens=10, output_tokens=1), say("There.") + use(input_tokens=20))
    completion, _ = await answered(program, asking("Look"))
    assert words(completion) == "Let me see.\n\nThere."
    assert completion["usage"]["prompt_tokens"] == 30


async def test_whole_conversation_is_what_the_model_reads(
    program: Client, server: ModelServer
) -> None:
    said = [
        {"role": "system", "content": "Speak like a bird."},
        {"role": "user", "content": [{"type": "text", "text": "One?"}]},
        {"role": "assistant", "content": "Tweet."},
        {"role": "developer", "content": "Only in tweets."},
        {"role": "user", "content": "Two?"},
        {"role": "user", "content": "And three?"},
    ]
    _, session = await answered(program, {"model": "test/other", "messages": said})
    (request,) = server.requests
    system, *rest = request.read(Sent).messages
    assert "Speak like a bird.\n\nOnly in tweets." in system["content"]
    assert [each["role"] for each in rest] == ["user", "assistant", "user"]
    assert "One?" in str(rest[0])
    assert "Two?" in str(rest[2])
    assert "And three?" in str(rest[2])
    assert request.model == "other"
    page = await program.get(f"/api/sessions/{session}/messages")
    roles = [message["role"] for message in page["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_each_request_begins_with_the_bytes_of_the_one_before(
    program: Client, server: ModelServer
) -> None:
    await answered(program, asking("One"))
    await answered(program, asking("One", "Good day.", "Two"))
    assert server.requests[1].cache.hit_tokens > 0


async def test_picture_comes_as_a_data_address(program: Client, server: ModelServer) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    picture = {"type": "image_url", "image_url": {"url": url, "detail": "low"}}
    content = [{"type": "text", "text": "What is this?"}, picture]
    await answered(program, {"model": "roost", "messages": [{"role": "user", "content": content}]})
    assert url in server.requests[0].body.decode()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/secret.png",
        "https://example.com/a.png",
        "file:///etc/passwd",
        "data:text/html;base64,PGI+",
        "data:image/png,abc",
        "data:image/png;base64,%%%",
        f"data:image/png;base64,{base64.b64encode(b'<svg onload=alert(1)>').decode()}",
        "",
    ],
)
async def test_picture_that_is_none_is_refused_and_nothing_is_fetched(
    program: Client, server: ModelServer, url: str
) -> None:
    content = [{"type": "image_url", "image_url": {"url": url}}]
    body = {"model": "roost", "messages": [{"role": "user", "content": content}]}
    status, error = await refused(program, body)
    assert (status, error["param"]) == (400, "messages.content.image_url.url")
    assert server.requests == []
    assert (await program.get("/api/sessions"))["sessions"] == []


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("n", 2),
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("tool_choice", "required"),
        ("functions", [{"name": "f"}]),
        ("function_call", {"name": "f"}),
        ("logprobs", True),
        ("top_logprobs", 3),
        ("logit_bias", {"50256": -100}),
        ("stop", ["END"]),
        ("response_format", {"type": "json_object"}),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "alloy"}),
        ("web_search_options", {}),
    ],
)
async def test_what_would_be_another_answer_is_refused(
    program: Client, param: str, value: object
) -> None:
    status, error = await refused(program, asking("Hello", **{param: value}))
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert (error["code"], error["param"]) == ("unsupported_parameter", param)
    assert (await program.get("/api/sessions"))["sessions"] == []


async def test_what_is_a_hint_is_ignored(program: Client) -> None:
    hints: dict[str, object] = {
        "temperature": 0.1,
        "max_tokens": 5,
        "seed": 1,
        "user": "me",
        "n": 1,
        "stop": None,
        "tools": [],
        "tool_choice": "none",
        "response_format": {"type": "text"},
        "parallel_tool_calls": False,
        "a_field_of_next_year": {},
    }
    completion, _ = await answered(program, asking("Hello", **hints))
    assert words(completion) == "Good day."


async def test_effort_is_the_turns(program: Client) -> None:
    _, session = await answered(program, asking("Hello", reasoning_effort="xhigh"))
    (turn,) = (await program.get(f"/api/sessions/{session}/turns"))["turns"]
    assert turn["effort"] == "high"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {"role": "function", "name": "f", "content": "42"},
        {"role": "assistant", "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "function_call": {"name": "f"}},
    ],
)
async def test_calls_of_a_clients_tools_are_refused(
    program: Client, message: dict[str, object]
) -> None:
    said = [{"role": "user", "content": "Hello"}, message, {"role": "user", "content": "Go on"}]
    status, error = await refused(program, {"model": "roost", "messages": said})
    assert (status, error["param"]) == (400, "messages[1]")


NO_QUESTION: list[object] = [
    {"model": "roost", "messages": []},
    {"model": "roost"},
    {"messages": [{"role": "user", "content": "Hello"}]},
    asking("Hello", "Good day."),
    asking(""),
    asking(" \n"),
    {"model": "roost", "messages": [{"role": "user", "content": []}]},
    {"model": "roost", "messages": [{"role": "system", "content": "Be good."}]},
    {"model": "roost", "messages": [{"role": "bird", "content": "Tweet"}]},
    {
        "model": "roost",
        "messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}],
    },
    [],
    "Hello",
]


@pytest.mark.parametrize("body", NO_QUESTION)
async def test_request_without_a_question_is_refused(program: Client, body: object) -> None:
    status, error = await refused(program, body)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert error["message"]


async def test_unknown_model_is_not_found(program: Client) -> None:
    status, error = await refused(program, {**asking("Hello"), "model": "nowhere/nothing"})
    assert (status, error["code"], error["param"]) == (404, "model_not_found", "model")


async def test_failure_of_the_model_is_one_of_the_request(
    program: Client, server: ModelServer
) -> None:
    server.plan(fail(401, "wrong key"))
    url = program.served.url.with_path(PATH)
    async with program.connections.post(url, json=asking("Hello")) as response:
        error = (await response.json())["error"]
    assert (response.status, error["type"], error["code"]) == (502, "server_error", "key_refused")
    assert response.headers["x-should-retry"] == "false"


async def test_spent_budget_is_too_many_requests(served: Served, program: Client) -> None:
    async with served.browser() as browser:
        caps = f"/api/users/{served.engine.owner.id}/caps"
        assert (await browser.ask("PUT", caps, {"day_tokens": 0}))[0] == 200
    status, error = await refused(program, asking("Hello"))
    assert (status, error["type"], error["code"]) == (429, "insufficient_quota", "budget")


async def test_errors_of_every_kind_have_openais_shape(served: Served, program: Client) -> None:
    async with served.stranger() as stranger, served.program("read") as reader:
        answers = [
            (401, await stranger.post(PATH, asking("Hello"))),
            (403, await reader.post(PATH, asking("Hello"))),
            (404, await program.ask("GET", "/v1/nothing")),
            (405, await program.ask("PUT", "/v1/models")),
            (415, await program.ask("POST", PATH, data=b"Hello")),
            (400, await program.ask("GET", "/v1/models?page=2")),
        ]
    for expected, (status, answer) in answers:
        assert status == expected
        assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert answers[0][1][1]["error"]["code"] == "invalid_api_key"


async def test_models_are_listed_and_read(program: Client) -> None:
    listed = await program.get("/v1/models")
    assert listed["object"] == "list"
    names = [each["id"] for each in listed["data"]]
    assert names[0] == "roost"
    assert {"test/model", "test/other", "test/small"} <= set(names)
    assert (await program.get("/v1/models/test/other"))["owned_by"] == "test"
    assert (await program.get("/v1/models/roost"))["id"] == "roost"
    assert (await program.ask("GET", "/v1/models/nowhere/x"))[0] == 404


# Streams.


async def test_stream_says_role_words_reason_and_done(program: Client, server: ModelServer) -> None:
    server.plan(say("One two three."))
    async with streaming(program, asking("Count")) as chunks:
        found = await chunks.rest()
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert spoken(found) == "One two three."
    assert found[-1]["choices"] == [
        {"delta": {}, "finish_reason": "stop", "index": 0, "logprobs": None}
    ]
    assert {each["object"] for each in found} == {"chat.completion.chunk"}
    assert len({each["id"] for each in found}) == 1
    assert not any("usage" in each for each in found)
    assert chunks.lines[-1] == "data: [DONE]\n"
    assert all(line[:6] == "data: " or line in ("\n", ":\n") for line in chunks.lines)


async def test_stream_tells_its_usage_if_asked(program: Client, server: ModelServer) -> None:
    server.plan(say("Yes.") + use(input_tokens=5, output_tokens=2))
    body = asking("Really?", stream_options={"include_usage": True})
    async with streaming(program, body) as chunks:
        *others, last = await chunks.rest()
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 7)
    assert {each["usage"] for each in others} == {None}


async def test_stream_of_several_steps_is_what_is_stored(
    program: Client, server: ModelServer
) -> None:
    server.plan(say("Let me see.") + call("echo", {"text": "a"}), say("There."))
    async with streaming(program, asking("Look")) as chunks:
        assert spoken(await chunks.rest()) == "Let me see.\n\nThere."


async def test_silence_is_filled_with_comments(program: Client, server: ModelServer) -> None:
    server.plan(stall() + say("At last."))
    async with streaming(program, asking("Wait")) as chunks:
        await chunks.next()
        async with asyncio.timeout(60):
            while await chunks.response.content.readline() != b":\n":
                pass
        await (await server.request(0)).stalled()
        server.release()
        assert spoken(await chunks.rest()) == "At last."


async def test_answer_that_breaks_off_is_begun_again_and_says_so(
    program: Client, server: ModelServer
) -> None:
    server.plan(say("The first words") + stall() + cut(), say("Other words."))
    async with streaming(program, asking("Tell me")) as chunks:
        said = await chunks.until("words")
        server.release()
        said += spoken(await chunks.rest())
    assert said == f"The first words{AGAIN}Other words."


async def test_answer_that_breaks_off_and_repeats_itself_is_told_once(
    program: Client, server: ModelServer
) -> None:
    server.plan(say("The same") + stall() + cut(), say("The same words."))
    async with streaming(program, asking("Tell me")) as chunks:
        said = await chunks.until("same")
        server.release()
        said += spoken(await chunks.rest())
    assert said == "The same words."


async def test_failure_in_a_stream_is_its_last_word(program: Client, server: ModelServer) -> None:
    server.plan(fail(401, "wrong key"))
    async with streaming(program, asking("Hello")) as chunks:
        *_, last = await chunks.rest()
    assert last["error"]["code"] == "key_refused"
    assert "data: [DONE]\n" not in chunks.lines


async def test_stream_of_a_server_that_stops_says_so(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(say("Half") + stall())
    async with streaming(program, asking("Tell me")) as chunks:
        await chunks.next()
        await (await server.request(0)).stalled()
        await served.stop()
        *_, last = await chunks.rest()
        await served.start()
    assert last["error"]["code"] in ("stops", "interrupted")


# Sessions.


async def test_named_session_takes_what_is_new(program: Client, server: ModelServer) -> None:
    first, session = await answered(program, asking("One"), {"X-Roost-Session": "new"})
    named = {"X-Roost-Session": session}
    second, same = await answered(program, asking("Lies", "More lies", "Two"), named)
    assert same == session
    assert words(first) == words(second) == "Good day."
    page = await program.get(f"/api/sessions/{session}/messages")
    roles = [message["role"] for message in page["messages"]]
    assert roles == ["user", "assistant"] * 2
    assert "lies" not in server.requests[-1].body.decode().lower()
    found = await program.get(f"/api/sessions/{session}")
    assert (found["origin"], found["ended_at"]) == ("api", None)


async def test_session_may_be_named_by_its_client(program: Client) -> None:
    id = new_session_id()
    for _ in range(2):
        _, session = await answered(program, asking("Hello"), {"X-Roost-Session": id})
        assert session == id


@pytest.mark.parametrize("name", ["mine", "ses_1", "", "ses_" + "A" * 26, "ses_../../etc"])
async def test_session_that_is_not_there_is_not_found(program: Client, name: str) -> None:
    status, error = await refused(program, asking("Hello"), **{"X-Roost-Session": name})
    assert (status, error["code"]) == (404, "not_found")


async def test_session_of_another_user_is_not_found(served: Served, program: Client) -> None:
    bob = await served.engine.store.users.create(User(id=new_user_id(), name="Bob", role="member"))
    async with served.program(user=bob.id) as other:
        _, session = await answered(other, asking("Secret"), {"X-Roost-Session": "new"})
    status, error = await refused(program, asking("Hello"), **{"X-Roost-Session": session})
    assert (status, error["code"]) == (404, "not_found")
    messages = await served.engine.app.of(bob.id).messages(SessionId(session))
    assert len(messages) == 2


async def test_session_goes_on_with_the_model_that_is_named(
    program: Client, server: ModelServer
) -> None:
    _, session = await answered(program, asking("One"), {"X-Roost-Session": "new"})
    named = {"X-Roost-Session": session}
    for model in ("test/other", "roost", "test/model"):
        await answered(program, {**asking("Two"), "model": model}, named)
    asked = [request.model for request in server.requests if request.model != "small"]
    assert asked == ["model", "other", "other", "model"]


async def test_message_waits_for_the_turn_under_way(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(stall() + say("First."), say("Second."))
    session = await served.engine.session()
    turn = await served.engine.account.send(session, "One")
    await served.engine.reached(turn.id, "running")
    async with streaming(program, asking("Two"), {"X-Roost-Session": session}) as chunks:
        await chunks.next()
        (await server.request(0)).release()
        assert spoken(await chunks.rest()) == "Second."


# Asked twice.


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_request_with_a_key_is_one_however_often_it_comes(
    program: Client, server: ModelServer, named: bool, stream: bool
) -> None:
    headers = {"Idempotency-Key": "once"} | ({"X-Roost-Session": "new"} if named else {})
    server.plan(say("Said once."))
    body = asking("Zero", "None", "One")
    first, session = await answered(program, body, headers)
    if stream:
        status, error = await refused(program, {**body, "stream": True}, **headers)
        assert (status, error["code"]) == (409, "key_reused")
    again, same = await answered(program, body, headers)
    assert (first, session) == (again, same)
    for other in (asking("Zero", "Other", "One"), asking("Zero", "None", "Two")):
        status, error = await refused(program, other, **headers)
        assert (status, error["code"]) == (409, "key_reused")
    assert len([each for each in server.requests if each.model == "model"]) == 1


async def test_stream_that_is_asked_for_again_goes_on(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(say("Half of it") + stall() + say(" and the rest."))
    key = {"Idempotency-Key": "once"}
    async with streaming(program, asking("Tell me"), key) as chunks:
        assert await chunks.until("of it") == "Half of it"
    async with streaming(program, asking("Tell me"), key) as chunks:
        await chunks.next()
        server.release()
        assert spoken(await chunks.rest()) == "Half of it and the rest."
    assert len(server.requests) == 1


# Hanging up.


@pytest.mark.parametrize("stream", [False, True])
async def test_who_hangs_up_on_a_request_of_its_own_stops_it(
    program: Client, server: ModelServer, stream: bool
) -> None:
    server.plan(say("Half") + stall())
    url = program.served.url.with_path(PATH)
    asked = program.connections.post(url, json=asking("Tell me", stream=stream))
    waiting = asyncio.ensure_future(asked)
    request = await server.request(0)
    await request.stalled()
    if stream:
        (await waiting).close()
    else:
        waiting.cancel()
    assert await request.closed(), "the model is asked for no more"

    async def ended() -> bool:
        (session,) = (await program.get("/api/sessions"))["sessions"]
        return session["ended_at"] is not None

    await eventually(ended)
    (session,) = (await program.get("/api/sessions"))["sessions"]
    (turn,) = (await program.get(f"/api/sessions/{session['id']}/turns"))["turns"]
    assert turn["state"] == "cancelled"


@pytest.mark.parametrize("stream", [False, True])
async def test_who_hangs_up_on_a_session_stops_nothing(
    served: Served, program: Client, server: ModelServer, stream: bool
) -> None:
    server.plan(say("Half") + stall() + say(" and all."))
    session = await served.engine.session()
    url = program.served.url.with_path(PATH)
    headers = {"X-Roost-Session": session}
    asked = program.connections.post(url, json=asking("Tell me", stream=stream), headers=headers)
    waiting = asyncio.ensure_future(asked)
    request = await server.request(0)
    await request.stalled()
    if stream:
        (await waiting).close()
    else:
        waiting.cancel()
    request.release()
    (turn,) = await served.engine.account.turns(session)
    assert (await served.engine.ended(turn.id)).state == "completed"
    assert await served.engine.texts(session) == ["Tell me", "Half and all."]


@pytest.mark.parametrize("stream", [False, True])
async def test_request_ends_with_its_token(
    served: Served, program: Client, server: ModelServer, stream: bool
) -> None:
    server.plan(say("Half") + stall())
    url = program.served.url.with_path(PATH)
    asked = program.connections.post(url, json=asking("Tell me", stream=stream))
    waiting = asyncio.ensure_future(asked)
    request = await server.request(0)
    await request.stalled()
    (token,) = await served.identities.tokens(served.engine.owner.id)
    await served.identities.revoke_token(served.engine.owner.id, token.id)
    async with await waiting as response:
        assert response.status == (200 if stream else 401)
        assert "invalid_api_key" in await response.text()
    assert await request.closed(), "the model is asked for no more"


# Asking a person.


async def test_request_waits_for_an_answer_given_elsewhere(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(call("careful", {"text": "a"}), say("Done."))
    async with streaming(program, asking("Do it")) as chunks, served.browser() as browser:
        await chunks.next()

        async def pending() -> list[dict[str, Any]]:
            return (await browser.get("/api/approvals"))["approvals"]

        (approval,) = await eventually(pending)
        await browser.post(f"/api/approvals/{approval['id']}", {"decision": "approved"})
        assert spoken(await chunks.rest()) == "Done."


@pytest.mark.parametrize("named", [False, True])
async def test_question_that_nobody_answers_ends_the_request_with_it(
    program: Client, server: ModelServer, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setattr(openai_turn, "APPROVAL_SECONDS", 0.05)
    server.plan(call("careful", {"text": "a"}))
    headers = {"X-Roost-Session": "new"} if named else {}
    status, error = await refused(program, asking("Do it"), **headers)
    assert (status, error["code"]) == (409, "approval_needed")
    assert "Do it" in error["message"]
    (session,) = (await program.get("/api/sessions"))["sessions"]
    (turn,) = (await program.get(f"/api/sessions/{session['id']}/turns"))["turns"]
    assert turn["state"] == ("waiting" if named else "cancelled")


async def test_turn_that_is_stopped_elsewhere_says_so(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(say("Half") + stall())
    session = await served.engine.session()
    async with streaming(program, asking("Go"), {"X-Roost-Session": session}) as chunks:
        await (await server.request(0)).stalled()
        assert await served.engine.account.cancel(session)
        *_, last = await chunks.rest()
    assert last["error"]["code"] == "cancelled"


async def test_session_that_is_deleted_ends_the_stream(
    served: Served, program: Client, server: ModelServer
) -> None:
    server.plan(say("Half") + stall())
    session = await served.engine.session()
    async with streaming(program, asking("Go"), {"X-Roost-Session": session}) as chunks:
        await (await server.request(0)).stalled()
        await served.engine.account.delete(session)
        *_, last = await chunks.rest()
    assert last["error"]["code"] in ("cancelled", "not_found")
