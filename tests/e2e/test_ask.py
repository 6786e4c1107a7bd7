"""`roost ask` and `roost models`, in processes of their own, against the scripted model server."""

import asyncio
import os
from collections.abc import AsyncGenerator

import pytest

from roost.llm.local import available
from roost.testing.models import ModelServer, Problem, cut, fail, finish, say, stall
from tests.e2e import command
from tests.e2e.command import Roost

KEY = "sk-nest-0123456789"
LOCAL_SECONDS = 120


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    models = {"heron": {"context_length": 8192}, "owl": {}, "a-bird-with-a-name" * 5: {}}
    async with ModelServer(models=models) as server:
        yield server


def configure(roost: Roost, server: ModelServer | str, *lines: str, key: str | None = KEY) -> None:
    url = server if isinstance(server, str) else server.openai_url
    provider = ["[providers.nest]", f"base_url = {url!r}", "models = ['heron']"]
    secret = [f"key = {key!r}"] if key else []
    folder = roost.home / ".config" / "roost"
    folder.mkdir(parents=True)
    (folder / "roost.toml").write_text("\n".join([*lines, *provider, *secret]) + "\n")


async def test_answer_is_all_there_is_on_stdout(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    server.plan(say("Good day."))
    asked = await roost("ask", "hi", "--model", "nest/heron")
    assert (asked.code, asked.out) == (0, "Good day.\n")
    assert asked.err.startswith("nest/heron: ")
    assert asked.err.endswith("out, price unknown\n")
    assert len(asked.err.splitlines()) == 1
    assert server.requests[0].last_text == "hi"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
async def test_every_protocol_answers(roost: Roost, server: ModelServer, wire: str) -> None:
    configure(roost, server)
    file = roost.home / ".config" / "roost" / "roost.toml"
    file.write_text(file.read_text() + f"wire = '{wire}'\n")
    assert (await roost("ask", "hi")).out == "hi\n"


async def test_answer_is_streamed(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    server.plan(say("One two") + stall() + say(" three"))
    process = await roost.start("ask", "count")
    assert process.stdout is not None
    async with asyncio.timeout(command.DEADLINE):
        assert await process.stdout.readexactly(7) == b"One two"
    server.release()
    rest = await command.outcome(process)
    assert (rest.code, rest.out) == (0, " three\n")


async def test_question_is_read_from_the_input(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    asked = await roost("ask", typed="What is a heron?\n")
    assert (asked.code, asked.out) == (0, "What is a heron?\n")


async def test_answer_with_a_line_end_of_its_own_gets_no_second(
    roost: Roost, server: ModelServer
) -> None:
    configure(roost, server)
    server.plan(say("Good day.\n"))
    assert (await roost("ask", "hi")).out == "Good day.\n"


async def test_price_that_was_given_is_told(roost: Roost, server: ModelServer) -> None:
    configure(roost, server, "[models.prices.'nest/*']", "input = 1000", "output = 1000")
    assert (await roost("ask", "hi")).err.rstrip().rpartition(", ")[2].startswith("$0.")


async def test_answer_at_the_limit_says_so(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    server.plan(say("Once upon") + finish("length"))
    asked = await roost("ask", "a story")
    assert (asked.code, asked.out) == (0, "Once upon\n")
    assert "cut off at the model's limit" in asked.err


async def test_retry_is_told(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    server.plan(fail(429, retry_after=0), say("Now."))
    asked = await roost("ask", "hi")
    assert (asked.code, asked.out) == (0, "Now.\n")
    assert "Trying again in" in asked.err


async def test_fallback_is_told_and_is_whom_the_sum_names(
    roost: Roost, server: ModelServer
) -> None:
    configure(roost, server, "[models]", "fallbacks = ['nest/owl']")
    server.plan(fail(401), model="heron")
    server.plan(say("Hoo."), model="owl")
    asked = await roost("ask", "hi")
    assert (asked.code, asked.out) == (0, "Hoo.\n")
    assert "nest/owl answers instead." in asked.err
    assert asked.err.splitlines()[-1].startswith("nest/owl: ")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nset/heron", "There is no provider nset. Did you mean nest?"),
        ("openai/gpt-6.1-terra", "There is no key for openai. Set OPENAI_API_KEY"),
        ("zebra/y", "It is not clear who has the model"),
    ],
)
async def test_unusable_name_is_explained_in_one_line(
    roost: Roost, server: ModelServer, model: str, message: str
) -> None:
    configure(roost, server)
    asked = await roost("ask", "hi", "--model", model)
    assert (asked.code, asked.out) == (2, "")
    assert message in asked.err
    assert len(asked.err.splitlines()) == 1


async def test_provider_without_its_key_is_explained(roost: Roost, server: ModelServer) -> None:
    configure(roost, server, "[providers.work]", "vendor = 'openai'", "key_env = 'WORK_KEY'")
    asked = await roost("ask", "hi", "--model", "work")
    assert (asked.code, asked.out) == (2, "")
    assert "no key for work" in asked.err or "WORK_KEY" in asked.err


@pytest.mark.parametrize("typed", ["", " \n"])
async def test_no_question_is_a_mistake(roost: Roost, server: ModelServer, typed: str) -> None:
    configure(roost, server)
    assert await roost("ask", typed=typed) == (2, "", 'Ask something: `roost ask "..."`\n')


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (401, "nest does not accept the key"),
        ("no_credit", "The account at nest has no credit"),
        ("unknown_model", "nest has no model heron"),
        ("context_too_long", "The conversation is too long for heron"),
        (400, "nest refused the request"),
    ],
)
async def test_error_of_the_model_is_one_clear_line(
    roost: Roost, server: ModelServer, problem: int | Problem, message: str
) -> None:
    configure(roost, server)
    server.plan(fail(problem))
    asked = await roost("ask", "hi")
    assert (asked.code, asked.out) == (1, "")
    assert message in asked.err
    assert len(asked.err.splitlines()) == 1
    assert KEY not in asked.err


async def test_answer_that_breaks_off_keeps_what_was_said(
    roost: Roost, server: ModelServer
) -> None:
    configure(roost, server)
    server.plan(say("One two") + cut())
    asked = await roost("ask", "hi")
    assert (asked.code, asked.out) == (1, "One two\n")
    assert asked.err.startswith("The answer from nest broke off")
    assert len(asked.err.splitlines()) == 1


async def test_reader_that_leaves_is_no_error(roost: Roost, server: ModelServer) -> None:
    configure(roost, server)
    server.plan(say("One") + stall() + say(" two three"))
    reader, writer = os.pipe()
    process = await roost.start("ask", "hi", stdout=writer)
    os.close(writer)
    assert await asyncio.to_thread(os.read, reader, 3) == b"One"
    os.close(reader)
    server.release()
    left = await command.outcome(process)
    assert left.code == 0
    assert left.err == ""


@pytest.mark.skipif(not available(), reason="the built-in model is not installed")
@pytest.mark.timeout(2 * LOCAL_SECONDS)
async def test_built_in_model_answers_without_any_configuration(
    roost: Roost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "DEADLINE", LOCAL_SECONDS)
    # A proxy leads away from this machine: what runs here must not go through it.
    roost.environ |= {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    asked = await roost("ask", "Say hello.")
    assert asked.code == 0, asked.err
    assert asked.out.strip()
    assert asked.err.startswith("This is the built-in model. It is tiny")
    assert asked.err.endswith("out, free\n")


async def test_missing_model_file_is_said_at_once(roost: Roost) -> None:
    asked = await roost("ask", "hi", "--model", "./heron.gguf")
    assert (asked.code, asked.out) == (1, "")
    assert "heron.gguf (there is no such file)" in asked.err
    assert len(asked.err.splitlines()) == 1


# What there is.


async def test_models_lists_what_can_be_asked(roost: Roost, server: ModelServer) -> None:
    configure(roost, server, "[models.prices.'nest/owl']", "input = 2.5", "output = 10", key=None)
    shown = await roost("models")
    assert (shown.code, shown.err) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line}
    assert rows["nest/heron"] == ["8k", "unknown", "unknown"]
    assert rows["nest/owl"] == ["unknown", "2.50", "10.00"]
    assert f"nest/{'a-bird-with-a-name' * 5}" in rows, "names are never cut"
    if available():
        assert rows["local/smollm2-135m-instruct"] == ["2k", "free", "free", "default"]
    assert KEY not in shown.out


async def test_models_marks_the_default_and_takes_a_word(roost: Roost, server: ModelServer) -> None:
    configure(roost, server, "[models]", "default = 'nest/owl'")
    shown = await roost("models", "OWL")
    rows = [line.split() for line in shown.out.splitlines() if line.startswith(("nest", "local"))]
    assert rows == [["nest/owl", "unknown", "unknown", "unknown", "default"]]
    none = await roost("models", "albatross")
    assert none == (0, "No model with 'albatross' in its name.\n", "")


async def test_models_says_who_does_not_answer_and_lists_the_rest(
    roost: Roost, server: ModelServer
) -> None:
    configure(
        roost,
        server,
        "[models]",
        "default = 'attic'",
        "[providers.attic]",
        "vendor = 'ollama'",
        "base_url = 'http://127.0.0.1:9/v1'",
    )
    shown = await roost("models")
    assert shown.code == 0
    assert "nest/heron" in shown.out
    default, attic = shown.err.splitlines()
    assert default.startswith("The setting models.default can't be used. Which model of attic?")
    assert attic.startswith("attic can't be reached")
