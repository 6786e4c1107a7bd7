"""Real clients against the real command: OpenAI's own, curl, and one of another make."""

import asyncio
import json
import re
import shutil
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest
from huggingface_hub import AsyncInferenceClient, InferenceClient
from openai.types.chat import ChatCompletionMessageParam
from yarl import URL

from roost.testing.models import ModelServer, fail, say, use
from tests.e2e.command import Roost
from tests.unit.http.served import Client, connections

CONFIG = """
[models]
default = "test/model"

[memory]
provider = "none"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model", "other"]
"""
DEADLINE = 60
PAGE = Path(__file__).parents[2] / "docs" / "openai.md"
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How are you?"}]
ANSWER = "Well, and on a perch."

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


class Running(NamedTuple):
    """Where a Roost is, and a token for it."""

    url: str
    token: str

    @property
    def v1(self) -> str:
        return f"{self.url}/v1"


class Where(NamedTuple):
    url: URL


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say(ANSWER) + use(input_tokens=9, output_tokens=5))
        yield server


@pytest.fixture
async def running(roost: Roost, server: ModelServer, tmp_path: Path) -> AsyncGenerator[Running]:
    file = tmp_path / "roost.toml"
    file.write_text(CONFIG.format(url=server.openai_url))
    async with roost.running("--config", str(file)) as running:
        yield Running(running.address, await _token(running.address, running.greeting))


async def _token(address: str, greeting: str) -> str:
    """By the link of the first start, as a person makes one in a browser."""
    async with connections({"Origin": address}) as opened:
        browser = Client(Where(URL(address)), opened)
        link = greeting.partition("#")[2].split()[0]
        assert await browser.post("/api/sign-in", {"secret": link}) == (204, None)
        status, made = await browser.post("/api/tokens", {"name": "client", "scopes": ["chat"]})
        assert status == 201
        return made["secret"]


# The official client.


def _ask_openai(running: Running) -> tuple[str | None, str, int]:
    """Whole, streamed, and what the stream used."""
    with openai.OpenAI(api_key=running.token, base_url=running.v1) as client:
        whole = client.chat.completions.create(model="roost", messages=QUESTION)
        stream = client.chat.completions.create(
            model="test/other",
            messages=QUESTION,
            stream=True,
            stream_options={"include_usage": True},
        )
        *chunks, last = list(stream)
    said = "".join([chunk.choices[0].delta.content or "" for chunk in chunks])
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage is not None
    return whole.choices[0].message.content, said, last.usage.total_tokens


async def test_official_client_in_a_thread(running: Running) -> None:
    assert await asyncio.to_thread(_ask_openai, running) == (ANSWER, ANSWER, 14)


async def test_official_client_on_a_loop(running: Running) -> None:
    async with openai.AsyncOpenAI(api_key=running.token, base_url=running.v1) as client:
        whole = await client.chat.completions.create(model="roost", messages=QUESTION)
        assert whole.choices[0].message.content == ANSWER
        async with client.chat.completions.stream(model="roost", messages=QUESTION) as stream:
            said = [event.delta async for event in stream if event.type == "content.delta"]
            final = await stream.get_final_completion()
        assert "".join(said) == ANSWER
        assert final.choices[0].message.content == ANSWER
        names = [model.id async for model in client.models.list()]
        assert names == ["roost", "test/model", "test/other"]
        assert (await client.models.retrieve("test/other")).owned_by == "test"


async def test_official_client_knows_our_errors_and_repeats_nothing(
    running: Running, server: ModelServer
) -> None:
    async with openai.AsyncOpenAI(api_key="wrong", base_url=running.v1) as stranger:
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()
    async with openai.AsyncOpenAI(api_key=running.token, base_url=running.v1) as client:
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as unknown:
            await create(model="no/such", messages=QUESTION)
        assert unknown.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as refused:
            await create(model="roost", messages=QUESTION, n=2)
        assert refused.value.param == "n"
        server.plan(fail(401))
        with pytest.raises(openai.InternalServerError) as failed:
            await create(model="roost", messages=QUESTION)
        assert failed.value.code == "key_refused"
        assert len(server.requests) == 1, "what was said once is not said again"
        server.plan(fail(401))
        stream = await create(model="roost", messages=QUESTION, stream=True)
        with pytest.raises(openai.APIError, match="does not accept the key"):
            [chunk async for chunk in stream]


def _run_example(running: Running) -> tuple[str | None, str]:
    """The documentation's own code, all of it."""
    code = "\n".join(
        re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    )
    for written, meant in (("http://127.0.0.1:7667", running.url), ("roost_...", running.token)):
        assert written in code
        code = code.replace(written, meant)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    names["client"].close()
    return names["answer"].choices[0].message.content, names["session"]


async def test_example_of_the_documentation_runs(running: Running, server: ModelServer) -> None:
    answer, session = await asyncio.to_thread(_run_example, running)
    assert answer == ANSWER
    assert session.startswith("ses_")
    assert "Remember the number 7." in server.requests[1].last_text


# curl.


async def _curl(running: Running, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "curl",
        "--silent",
        "--show-error",
        "--no-buffer",
        "--header",
        f"Authorization: Bearer {running.token}",
        *arguments,
        stdout=PIPE,
        stderr=PIPE,
    )
    async with asyncio.timeout(DEADLINE):
        out, err = await process.communicate()
    assert process.returncode == 0, err
    return out.decode()


def _body(**more: object) -> tuple[str, ...]:
    body = json.dumps({"model": "roost", "messages": QUESTION, **more})
    return ("--json", body)


@needs_curl
async def test_curl_asks_whole(running: Running) -> None:
    answer: dict[str, Any] = json.loads(
        await _curl(running, f"{running.v1}/chat/completions", *_body())
    )
    assert answer["choices"][0]["message"]["content"] == ANSWER


@needs_curl
async def test_curl_streams_and_names_a_session(running: Running) -> None:
    url = f"{running.v1}/chat/completions"
    new = ("--include", "--header", "X-Roost-Session: new")
    head, _, body = (await _curl(running, url, *new, *_body(stream=True))).partition("\r\n\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
    assert headers["content-type"] == "text/event-stream"
    assert body.endswith("data: [DONE]\n\n")
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
    said = [choice["delta"].get("content", "") for each in chunks for choice in each["choices"]]
    assert "".join(said) == ANSWER
    session = headers["x-roost-session"]
    await _curl(running, url, "--header", f"X-Roost-Session: {session}", *_body())
    found = json.loads(await _curl(running, f"{running.url}/api/sessions/{session}/turns"))
    assert len(found["turns"]) == 2


@needs_curl
async def test_curl_lists_models(running: Running) -> None:
    answer = json.loads(await _curl(running, f"{running.v1}/models"))
    assert answer["data"][0]["id"] == "roost"


# Hugging Face's, which has nothing of OpenAI's.


def _ask_hugging_face(running: Running) -> tuple[str | None, str]:
    made: Any = InferenceClient(base_url=running.v1, api_key=running.token)
    with made as client:
        whole = client.chat_completion(QUESTION, model="roost", max_tokens=100)
        stream = client.chat_completion(QUESTION, model="roost", stream=True)
        said = [chunk.choices[0].delta.content or "" for chunk in stream]
    return whole.choices[0].message.content, "".join(said)


async def test_hugging_faces_client_in_a_thread(running: Running) -> None:
    assert await asyncio.to_thread(_ask_hugging_face, running) == (ANSWER, ANSWER)


async def test_hugging_faces_client_on_a_loop(running: Running) -> None:
    made: Any = AsyncInferenceClient(base_url=running.v1, api_key=running.token)
    async with made as client:
        whole = await client.chat_completion(QUESTION, model="roost")
        stream = await client.chat_completion(QUESTION, model="roost", stream=True)
        said = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert (whole.choices[0].message.content, "".join(said)) == (ANSWER, ANSWER)
