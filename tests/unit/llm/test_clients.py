"""Clients for all providers: what they send, what they list, whom they ask next."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from roost.core.errors import (
    KeyRefused,
    ModelError,
    ModelOverloaded,
    ModelUnknown,
    ModelUnreachable,
    ReplyMalformed,
    RequestRefused,
)
from roost.llm import clients as llm_clients
from roost.llm.base import FellBack
from roost.llm.clients import Clients, Listed
from roost.llm.providers import Providers
from roost.testing.models import ModelServer, fail, say
from tests.unit.llm.asking import KEY, events_of, question, said_by
from tests.unit.llm.test_client import FOREVER, serving
from tests.unit.llm.test_providers import providers


def nest(url: str, *more: str, key: str | None = KEY) -> str:
    lines = [f"base_url = {url!r}", *more, *([f"key = {key!r}"] if key else [])]
    return "[providers.nest]\n" + "\n".join(lines) + "\n"


def clients_of(known: Providers, connections: aiohttp.ClientSession) -> Clients:
    return Clients(known, connections, connections)


async def listed(
    connections: aiohttp.ClientSession, url: str, *more: str
) -> list[tuple[str, int | None]]:
    known = providers(nest(url, *more))
    return [(each.model, each.context) for each in await _models(known, connections)]


async def _models(known: Providers, connections: aiohttp.ClientSession) -> list[Listed]:
    return list(await clients_of(known, connections).models(next(iter(known))))


async def refusal(connections: aiohttp.ClientSession, url: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await listed(connections, url)
    return caught.value


@asynccontextmanager
async def answering(
    body: object, *, status: int = 200, seen: list[web.Request] | None = None
) -> AsyncGenerator[str]:
    text = body if isinstance(body, str) else json.dumps(body)

    async def handle(request: web.Request) -> web.Response:
        if seen is not None:
            seen.append(request)
        return web.Response(text=text, status=status, content_type="application/json")

    async with serving(handle) as url:
        yield url


# Headers.

CREDENTIALS = {
    "authorization": f"Bearer {KEY}",
    "x-api-key": KEY,
    "api-key": KEY,
    "anthropic-version": "2023-06-01",
}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], {"authorization"}),
        (["vendor = 'openai'"], {"authorization"}),
        (["vendor = 'openrouter'"], {"authorization"}),
        (["vendor = 'ollama'"], {"authorization"}),
        (["vendor = 'azure'"], {"api-key"}),
        (["vendor = 'anthropic'"], {"x-api-key", "anthropic-version"}),
        (["wire = 'anthropic'"], {"x-api-key", "anthropic-version"}),
        (["vendor = 'anthropic'", "wire = 'openai-chat'"], {"authorization"}),
    ],
)
async def test_key_goes_where_the_protocol_wants_it(
    settings: list[str],
    expected: set[str],
    server: ModelServer,
    connections: aiohttp.ClientSession,
) -> None:
    known = providers(nest(server.openai_url, *settings))
    await events_of(clients_of(known, connections).of(known.resolve("nest/heron")))
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    found = {name: value for name, value in sent.items() if name in CREDENTIALS}
    assert found == {name: CREDENTIALS[name] for name in expected}


async def test_list_is_asked_for_with_the_same_headers(connections: aiohttp.ClientSession) -> None:
    seen: list[web.Request] = []
    async with answering({"data": []}, seen=seen) as url:
        await listed(connections, url)
        await listed(connections, url, "wire = 'anthropic'")
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[0].path_qs == "/v1/models"
    assert seen[1].headers["x-api-key"] == KEY
    assert seen[1].headers["anthropic-version"] == "2023-06-01"
    assert seen[1].query["limit"] == "1000", "its pages are short unless one asks"


async def test_own_headers_go_along_and_no_key_is_made_up(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    headers = "headers = { X-Team = 'wren', Anthropic-Version = '2030-01-01' }"
    known = providers(nest(server.openai_url, "wire = 'anthropic'", headers, key=None))
    await events_of(clients_of(known, connections).of(known.resolve("nest/heron")))
    sent = server.requests[0].headers
    assert sent["x-team"] == "wren"
    assert sent["anthropic-version"] == "2030-01-01"
    names = [name.lower() for name in sent]
    assert names.count("anthropic-version") == 1
    assert not {"authorization", "x-api-key", "api-key"} & set(names)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_this_machine_is_asked_past_any_proxy(host: str) -> None:
    """The session that goes by the environment is closed: to use it would be another error."""
    async with aiohttp.ClientSession() as closed, aiohttp.ClientSession() as direct:
        await closed.close()
        with socket.socket(socket.AF_INET6 if "[" in host else socket.AF_INET) as taken:
            taken.bind((host.strip("[]"), 0))
            known = providers(nest(f"http://{host}:{taken.getsockname()[1]}/v1"))
            with pytest.raises(ModelUnreachable):
                await Clients(known, closed, direct).models(next(iter(known)))


async def test_others_are_asked_as_the_environment_says() -> None:
    async with aiohttp.ClientSession() as connections, aiohttp.ClientSession() as closed:
        await closed.close()
        known = providers(nest("http://nest.invalid/v1"))
        with pytest.raises(ModelUnreachable):
            await Clients(known, connections, closed).models(next(iter(known)))


async def test_a_provider_that_was_set_up_anew_is_asked_as_it_is_now(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    known = providers(nest(server.openai_url))
    clients = clients_of(known, connections)
    for settings, key in ([], KEY), ([], "another"), (["vendor = 'openai'"], "another"):
        known.adopt(providers(nest(server.openai_url, *settings, key=key)))
        await events_of(clients.of(known.resolve("nest/heron")))
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == [f"Bearer {KEY}", "Bearer another", "Bearer another"]
    assert [request.protocol for request in server.requests] == ["chat", "chat", "responses"]


# Lists.


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"object": "list", "data": [{"id": "heron"}]}, [("heron", None)]),
        ([{"id": "heron", "context_length": 8192}], [("heron", 8192)]),
        ({"data": [{"id": "heron", "context_length": "8192"}]}, [("heron", 8192)]),
        ({"data": [{"id": "heron", "context_length": None}]}, [("heron", None)]),
        ({"data": [{"id": "heron", "max_model_len": 4096}]}, [("heron", 4096)]),
        ({"data": [{"id": "heron", "meta": {"n_ctx_train": 2048}}]}, [("heron", 2048)]),
        (
            {"data": [{"id": "heron", "meta": {"n_ctx_train": 2048, "n_ctx": 512}}]},
            [("heron", 512)],
        ),
        ({"data": [{"id": "heron", "meta": "a bird"}]}, [("heron", None)]),
        ({"data": [{"id": "b"}, {"id": "a/c"}], "has_more": False}, [("b", None), ("a/c", None)]),
        ({"object": "list", "data": None}, []),
        ([], []),
    ],
)
async def test_lists_of_every_shape_are_read(
    body: object, expected: list[tuple[str, int | None]], connections: aiohttp.ClientSession
) -> None:
    async with answering(body) as url:
        assert await listed(connections, url) == expected


async def test_long_list_is_read_to_its_end(connections: aiohttp.ClientSession) -> None:
    names = [f"heron-{number:05}" for number in range(20_000)]
    async with answering({"data": [{"id": name, "about": "x" * 40} for name in names]}) as url:
        assert [name for name, _ in await listed(connections, url)] == names


async def test_scripted_server_lists_its_models(connections: aiohttp.ClientSession) -> None:
    async with ModelServer(models={"heron": {"context_length": 8192}, "owl": {}}) as server:
        for wire in ("openai-chat", "anthropic"):
            found = await listed(connections, server.openai_url, f"wire = '{wire}'")
            assert found == [("heron", 8192), ("owl", None)]


async def test_google_names_its_models_as_they_are_asked_for(
    connections: aiohttp.ClientSession,
) -> None:
    async with answering({"data": [{"id": "models/gemini-3.8-flash"}]}) as url:
        [(name, _)] = await listed(connections, url, "vendor = 'google'")
        [(other, _)] = await listed(connections, url)
    assert (name, other) == ("gemini-3.8-flash", "models/gemini-3.8-flash")


async def test_built_in_model_is_listed_without_being_started(
    connections: aiohttp.ClientSession,
) -> None:
    known = providers()
    [local] = [each for each in known if each.name == "local"]
    [found] = await clients_of(known, connections).models(local)
    assert (found.model, found.context) == ("smollm2-135m-instruct", 2048)


# Failures.


async def test_server_that_does_not_run_is_unreachable(connections: aiohttp.ClientSession) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = await refusal(connections, f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert isinstance(error, ModelUnreachable)
    assert str(error).startswith("nest can't be reached")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, KeyRefused),
        (404, RequestRefused),
        (302, RequestRefused),
        (503, ModelOverloaded),
    ],
)
async def test_refused_list_is_explained_without_the_key(
    status: int, kind: type[ModelError], connections: aiohttp.ClientSession
) -> None:
    async with answering({"error": {"message": f"not with {KEY}"}}, status=status) as url:
        error = await refusal(connections, url)
    assert type(error) is kind
    assert KEY not in f"{error} {error.facts}"


async def test_list_is_not_looked_for_elsewhere(connections: aiohttp.ClientSession) -> None:
    """A key goes to the address it is for, and to no other."""
    asked: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=302, headers={"location": "/elsewhere"})

    async with serving(handle) as url:
        assert isinstance(await refusal(connections, url), RequestRefused)
    assert asked == ["/v1/models"]


async def test_list_has_a_bound(connections: aiohttp.ClientSession) -> None:
    async with answering(f"[{' ' * (9 << 20)}]") as url:
        error = await refusal(connections, url)
    assert isinstance(error, ReplyMalformed)
    assert "too long" in str(error)


async def test_list_that_does_not_come_is_not_waited_for(
    connections: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_clients, "_LIST_SECONDS", 0.1)
    released = asyncio.Event()

    async def handle(_: web.Request) -> web.Response:
        await released.wait()
        return web.Response(text="[]")

    async with serving(handle) as url, asyncio.timeout(FOREVER):
        assert isinstance(await refusal(connections, url), ModelUnreachable)
        released.set()


@pytest.mark.parametrize(
    "body", ["", "hello", "{}", '{"data":[{}]}', '"x"', "[" * 100_000, '{"data":[{"id":1}]}']
)
async def test_list_that_is_none_is_malformed(
    body: str, connections: aiohttp.ClientSession
) -> None:
    async with answering(body) as url:
        assert isinstance(await refusal(connections, url), ReplyMalformed)


# Whom to ask.


async def test_fallbacks_are_asked_in_order(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    toml = "[models]\nfallbacks = ['nest/owl', 'nest/heron', 'nest/wren']\n"
    known = providers(toml + nest(server.openai_url))
    server.plan(fail(401), model="heron")
    server.plan(fail("no_credit"), model="owl")
    server.plan(say("Me."), model="wren")
    events = await events_of(clients_of(known, connections).of(known.resolve("nest/heron")))
    assert [each.model for each in events if isinstance(each, FellBack)] == ["owl", "wren"]
    assert said_by(events) == "Me."
    assert [request.model for request in server.requests] == ["heron", "owl", "wren"]


async def test_models_named_like_files_stay_with_their_server(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    known = providers(nest(server.openai_url))
    events = await events_of(
        clients_of(known, connections).of(known.resolve("nest/heron.gguf")), question("hi")
    )
    assert said_by(events) == "hi"
    assert server.requests[0].model == "heron.gguf"


async def test_missing_model_file_of_ones_own_is_named(connections: aiohttp.ClientSession) -> None:
    known = providers()
    clients = clients_of(known, connections)
    with pytest.raises(ModelUnknown, match=r"/nowhere/heron\.gguf \(there is no such file\)"):
        await events_of(clients.of(known.resolve("/nowhere/heron.gguf")))
    await clients.close()


async def test_built_in_model_is_one_by_whatever_name(connections: aiohttp.ClientSession) -> None:
    known = providers()
    clients = clients_of(known, connections)
    one = clients.one(known.resolve("local"))
    assert clients.one(known.resolve("local/owl")) is one
    assert clients.one(known.resolve("local/owl.gguf")) is not one
    await clients.close()
