"""Models and providers over HTTP: listed, added, tested, removed; keys go in and never come out."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from roost.core.config import ModelsConfig
from roost.core.ids import SessionId
from roost.testing.models import ModelServer, call, fail, nothing, say, stall
from tests.engine import FunctionTool, config_for
from tests.unit.http.served import SECONDS, Client, Served, started

KEY = "sk-heron-0123456789"


def _choosing(folder: Path, server: ModelServer) -> Served:
    """One whose configuration leaves the choice of models to an admin."""

    async def tell(arguments: str, context: object) -> str:
        return f"It is {KEY}."

    config = msgspec.structs.replace(config_for(folder, server), models=ModelsConfig())
    return Served(folder, server, config=config, tools=(FunctionTool("tell", tell),))


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    async with started(_choosing(folder, server)) as served:
        yield served


def nest(server: ModelServer, **more: object) -> dict[str, object]:
    setup = {"base_url": server.openai_url, "models": ["heron", "wren"], "key": KEY}
    return setup | more


async def add(client: Client, server: ModelServer, **more: object) -> dict[str, Any]:
    status, added = await client.ask("PUT", "/api/providers/nest", nest(server, **more))
    assert status == 200, added
    return added


async def provider(client: Client, name: str = "nest") -> dict[str, Any] | None:
    found = (await client.get("/api/providers"))["providers"]
    return next((each for each in found if each["name"] == name), None)


async def say_with(served: Served, model: str) -> SessionId:
    session = await served.engine.session(model=model)
    await served.engine.say(session)
    return session


def keys_sent(server: ModelServer) -> list[str | None]:
    return [request.headers.get("authorization") for request in server.requests]


async def test_added_provider_answers_the_next_turn(
    served: Served, browser: Client, server: ModelServer
) -> None:
    added = await add(browser, server)
    assert (added["origin"], added["has_key"], added["model"]) == ("api", True, "heron")
    session = await say_with(served, "nest/heron")
    assert await served.engine.texts(session) == ["Hello", "Good day."]
    assert keys_sent(server) == [f"Bearer {KEY}"]


async def test_it_is_there_after_a_restart(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    await served.stop()
    await served.start()
    async with served.browser() as browser:
        found = await provider(browser)
        assert found is not None
        assert found["has_key"]
        await say_with(served, "nest/wren")
    assert keys_sent(server) == [f"Bearer {KEY}"]


@pytest.mark.contract("A2")
async def test_new_key_counts_from_the_next_turn_on_and_makes_another_agent(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    session = await say_with(served, "nest/heron")
    before = await served.engine.store.of(served.engine.owner.id).sessions.prompt(session)
    await add(browser, server, key=KEY + "x")
    await served.engine.say(session)
    after = await served.engine.store.of(served.engine.owner.id).sessions.prompt(session)
    assert before is not None
    assert after is not None
    assert before.signature != after.signature
    assert keys_sent(server) == [f"Bearer {KEY}", f"Bearer {KEY}x"]


async def test_key_stays_with_its_address(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    again = nest(server, models=["heron", "owl"])
    del again["key"]
    _, changed = await browser.ask("PUT", "/api/providers/nest", again)
    assert (changed["models"], changed["has_key"]) == (["heron", "owl"], True)
    async with ModelServer() as elsewhere:
        elsewhere.otherwise(say("Good evening."))
        moved = again | {"base_url": elsewhere.openai_url}
        _, changed = await browser.ask("PUT", "/api/providers/nest", moved)
        assert changed["has_key"] is False
        await say_with(served, "nest/heron")
        assert keys_sent(elsewhere) == [None]
        # Back at the old address it has no key either: that one is gone.
        _, changed = await browser.ask("PUT", "/api/providers/nest", again)
        assert changed["has_key"] is False
    assert await served.engine.store.secrets.names() == []


async def test_key_is_in_no_answer_log_or_export(
    served: Served, browser: Client, server: ModelServer
) -> None:
    server.plan(say("Fine."), fail("bad_key"))
    with capture_logs() as logs:
        await add(browser, server)
        session = await say_with(served, "nest/heron")
        await browser.post("/api/providers/nest/test")
        answers = [
            await browser.get("/api/providers"),
            await browser.get("/api/models"),
            await browser.get(f"/api/sessions/{session}"),
            await browser.get(f"/api/sessions/{session}/export"),
            await browser.ask("PUT", "/api/providers/nest", nest(server, key=KEY + "\n" + KEY)),
            await browser.ask("PUT", "/api/providers/nest", nest(server, wire="none")),
        ]
    assert KEY not in str(answers)
    assert KEY not in str(logs)
    stored = await served.engine.store.settings.get("models")
    assert stored is not None
    assert KEY not in stored
    files = [path.read_bytes() for path in served.engine.folder.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in files)


async def test_key_is_kept_out_of_what_tools_answer(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    server.plan(call("tell", {"text": "a"}), say("Done."))
    session = await say_with(served, "nest/heron")
    history = await browser.get(f"/api/sessions/{session}/messages")
    assert "[secret]" in str(history)
    assert KEY not in str(history)


async def test_removed_provider_is_asked_no_more(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    session = await say_with(served, "nest/heron")
    assert await browser.ask("DELETE", "/api/providers/nest") == (204, None)
    assert await provider(browser) is None
    turn = await served.engine.say(session)
    assert turn.state == "failed"
    assert (turn.reason or "").startswith("invalid-input:")
    assert (await browser.ask("DELETE", "/api/providers/nest"))[0] == 404
    assert await served.engine.store.secrets.names() == []


async def test_what_the_configuration_set_up_is_not_changed_here(
    browser: Client, server: ModelServer
) -> None:
    status, problem = await browser.ask("PUT", "/api/providers/test", nest(server))
    assert (status, problem["type"]) == (409, "urn:roost:conflict")
    assert "configuration" in problem["detail"]
    assert (await browser.ask("DELETE", "/api/providers/test"))[0] == 409
    assert (await browser.ask("PUT", "/api/providers/local", nest(server)))[0] == 409
    found = await provider(browser, "test")
    assert found is not None
    assert found["origin"] == "configuration"


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://birds.example"},
        {"base_url": "https://ada:secret@birds.example"},
        {"base_url": None, "vendor": None},
        {"vendor": "local"},
        {"context": 0},
        {"key": "two\nlines"},
    ],
    ids=str,
)
async def test_what_can_not_be_used_is_refused(
    browser: Client, server: ModelServer, wrong: dict[str, object]
) -> None:
    status, _ = await browser.ask("PUT", "/api/providers/nest", nest(server) | wrong)
    assert status == 400
    assert await provider(browser) is None


async def test_name_that_a_reference_could_not_hold_is_refused(
    browser: Client, server: ModelServer
) -> None:
    for name in ("Nest", "a%2Fb", "-nest", "n" * 64):
        status, _ = await browser.ask("PUT", f"/api/providers/{name}", nest(server))
        assert status in (400, 404)


async def test_provider_is_tested_with_a_tiny_request(browser: Client, server: ModelServer) -> None:
    await add(browser, server)
    _, tried = await browser.post("/api/providers/nest/test")
    assert (tried["works"], tried["model"], tried["detail"]) == (True, "heron", None)
    server.plan(nothing())
    assert (await browser.post("/api/providers/nest/test", {"model": "wren"}))[1]["works"]
    assert [request.model for request in server.requests] == ["heron", "wren"]


async def test_what_is_wrong_with_a_provider_is_said(browser: Client, server: ModelServer) -> None:
    await add(browser, server)
    server.plan(fail("bad_key"), fail("overloaded"))
    _, refused = await browser.post("/api/providers/nest/test")
    assert (refused["works"], refused["code"]) == (False, "key-refused")
    assert "does not accept the key" in refused["detail"]
    # Once: whoever tests wants to know at once.
    _, busy = await browser.post("/api/providers/nest/test")
    assert (busy["works"], busy["code"]) == (False, "model-overloaded")
    assert (await browser.post("/api/providers/nobody/test"))[0] == 404


async def test_default_small_and_fallback_models_are_chosen(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    choice = {"default": "nest/wren", "small": "nest/heron", "fallbacks": ["test/other"]}
    status, chosen = await browser.ask("PATCH", "/api/models", choice)
    assert (status, chosen) == (200, choice | {"fixed": []})
    session = await served.engine.session()
    server.plan(fail("unknown_model"), say("Instead."))
    await served.engine.say(session)
    assert [request.model for request in server.requests] == ["wren", "other"]
    _, chosen = await browser.ask("PATCH", "/api/models", {"fallbacks": [], "small": None})
    assert (chosen["default"], chosen["small"], chosen["fallbacks"]) == ("nest/wren", None, [])


async def test_other_fallbacks_reach_a_session_that_has_an_agent(
    served: Served, browser: Client, server: ModelServer
) -> None:
    session = await say_with(served, "test/model")
    await browser.ask("PATCH", "/api/models", {"fallbacks": ["test/other"]})
    server.plan(fail("unknown_model"), say("Instead."))
    turn = await served.engine.say(session)
    assert turn.state == "completed"


async def test_model_that_is_chosen_keeps_its_provider(
    browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    await browser.ask("PATCH", "/api/models", {"default": "nest/wren"})
    status, problem = await browser.ask("DELETE", "/api/providers/nest")
    assert (status, problem["type"]) == (409, "urn:roost:conflict")
    assert "models.default" in problem["detail"]
    assert (await browser.ask("PATCH", "/api/models", {"default": "no/body"}))[0] == 400
    await browser.ask("PATCH", "/api/models", {"default": None})
    assert (await browser.ask("DELETE", "/api/providers/nest"))[0] == 204


async def test_choice_of_the_configuration_is_not_changed_here(
    folder: Path, server: ModelServer
) -> None:
    async with started(Served(folder, server)) as served, served.browser() as browser:
        listed = await browser.get("/api/models")
        assert (listed["default"], listed["small"]) == ("test/model", "test/small")
        assert listed["fixed"] == ["default", "small"]
        status, problem = await browser.ask("PATCH", "/api/models", {"default": "test/other"})
        assert status == 409
        assert "models.default can't be changed here" in problem["detail"]


async def test_models_are_listed_by_their_providers_word(
    browser: Client, server: ModelServer
) -> None:
    listed = await browser.get("/api/models")
    names = {each["name"] for each in listed["models"]}
    assert {"test/model", "test/other", "test/scripted", "claude/scripted"} <= names
    await add(browser, server, base_url="http://127.0.0.1:9/v1")
    listed = await browser.get("/api/models")
    assert "nest/heron" in {each["name"] for each in listed["models"]}
    assert [each["provider"] for each in listed["troubles"]] == ["nest"]


async def test_list_that_was_asked_for_before_a_change_is_not_kept(
    browser: Client, server: ModelServer
) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await answer.wait()
        writer.close()

    async with await asyncio.start_server(slow, "127.0.0.1") as listener:
        port = listener.sockets[0].getsockname()[1]
        setup = {"base_url": f"http://127.0.0.1:{port}/v1", "models": ["slow"]}
        await browser.ask("PUT", "/api/providers/slow", setup)
        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            tasks.create_task(browser.get("/api/models"))
            await asked.wait()
            await add(browser, server)
            answer.set()
    listed = await browser.get("/api/models")
    assert "nest/heron" in {each["name"] for each in listed["models"]}


async def test_running_turn_keeps_what_it_has(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    server.plan(say("Wait.") + stall() + call("tell", {"text": "a"}), say("Done."))
    session = await served.engine.session(model="nest/heron")
    turn = await served.engine.account.send(session, "Hello")
    await served.engine.streamed(session, "Wait.")
    assert (await browser.ask("DELETE", "/api/providers/nest"))[0] == 204
    server.release()
    assert (await served.engine.ended(turn.id)).state == "completed"
    assert keys_sent(server) == [f"Bearer {KEY}"] * 2


async def test_members_choose_models_and_see_no_providers(
    served: Served, browser: Client, server: ModelServer
) -> None:
    await add(browser, server)
    member = await served.identities.people.create("wren")
    async with served.browser(member.id) as client:
        names = {each["name"] for each in (await client.get("/api/models"))["models"]}
        assert "nest/heron" in names
        assert (await client.ask("GET", "/api/providers"))[0] == 403
        assert (await client.ask("PUT", "/api/providers/nest", nest(server)))[0] == 403
        assert (await client.ask("DELETE", "/api/providers/nest"))[0] == 403
        assert (await client.post("/api/providers/nest/test"))[0] == 403
        assert (await client.ask("PATCH", "/api/models", {"default": None}))[0] == 403


FILES = ["local//models/owl.gguf", "/models/owl.gguf", "~/owl.gguf", "owl.gguf"]


@pytest.mark.parametrize("model", FILES)
async def test_members_have_no_file_of_the_machine_run(served: Served, model: str) -> None:
    """A workspace is on it too, and an agent writes there."""
    member = await served.identities.people.create("Wren")
    async with served.browser(member.id) as browser:
        session = await browser.session(model="test/model")
        asked = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
        for method, path, body in (
            ("POST", "/api/sessions", {"model": model}),
            ("PATCH", f"/api/sessions/{session}", {"model": model}),
            ("PATCH", "/api/settings", {"model": model}),
            ("POST", "/v1/chat/completions", asked),
        ):
            status, _ = await browser.ask(method, path, body)
            assert (path, status) == (path, 403)


async def test_file_that_an_admin_chose_is_for_everyone(served: Served, browser: Client) -> None:
    status, _ = await browser.post("/api/sessions", {"model": FILES[0]})
    assert status == 201
    status, _ = await browser.ask("PATCH", "/api/models", {"default": FILES[0]})
    assert status == 200
    async with served.program("chat") as program:
        assert (await program.post("/api/sessions", {"model": FILES[1]}))[0] == 201
        assert (await program.post("/api/sessions", {"model": FILES[2]}))[0] == 403
