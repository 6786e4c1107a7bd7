"""The `web_search` tool, against servers that answer as the services do."""

from collections.abc import AsyncGenerator, Mapping

import msgspec
import pytest
from aiohttp import web

from roost.core.config import WebConfig
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.core.settings import BaseUrl, SearchName
from roost.tools.base import ToolError
from roost.tools.search import Search, service_of
from tests.network import Site, served
from tests.unit.tools.calling import context_of, told, written

WORD = "abc-word-123"

Asked = list[tuple[str, Mapping[str, str], object]]


class Services(Site):
    """All three services, answering alike: `birds` is found, other things are not."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: Asked = []
        self.pages = {
            "/search": self._searxng_or_tavily,
            "/web/search": self._brave,
        }

    async def _searxng_or_tavily(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            return await self._tavily(request)
        self.requests.append((request.query["q"], request.headers, None))
        if request.query.get("format") != "json":
            return web.Response(text="<html>", content_type="text/html")
        answer = {"query": request.query["q"], "number_of_results": 0}
        results = [{"url": "https://birds.example/", "title": "Birds", "content": "They fly."}]
        found = results if "birds" in request.query["q"] else []
        return web.json_response({**answer, "results": found, "unresponsive_engines": []})

    async def _tavily(self, request: web.Request) -> web.Response:
        asked = msgspec.json.decode(await request.read(), type=dict[str, object])
        self.requests.append((str(asked["query"]), request.headers, asked["max_results"]))
        if request.headers.get("Authorization") != f"Bearer {WORD}":
            return web.json_response({"detail": {"error": "Unauthorized"}}, status=401)
        results = [
            {"url": "https://birds.example/", "title": "Birds", "content": "They fly.", "score": 1}
        ]
        found = results if "birds" in str(asked["query"]) else []
        return web.json_response({"query": asked["query"], "answer": None, "results": found})

    async def _brave(self, request: web.Request) -> web.Response:
        self.requests.append((request.query["q"], request.headers, request.query["count"]))
        if request.headers.get("X-Subscription-Token") != WORD:
            return web.json_response({"type": "ErrorResponse"}, status=401)
        results = [
            {
                "url": "https://birds.example/",
                "title": "Birds",
                "description": "They <strong>fly</strong>.",
            }
        ]
        if "birds" not in request.query["q"]:
            return web.json_response({"type": "search", "query": {}})
        return web.json_response({"type": "search", "web": {"type": "search", "results": results}})


@pytest.fixture
def services() -> Services:
    return Services()


@pytest.fixture
async def home(services: Services) -> AsyncGenerator[BaseUrl]:
    async with served(services) as port:
        yield BaseUrl(f"http://127.0.0.1:{port}")


def search(name: SearchName, home: BaseUrl, key: str = WORD) -> Search:
    service = service_of(WebConfig(search=name, url=home, options={"key": Key(key)}), {})
    assert service is not None
    return Search(service)


NAMES: list[SearchName] = ["searxng", "brave", "tavily"]


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_found(services: Services, home: BaseUrl, name: SearchName) -> None:
    tool = search(name, home).tools()[0]
    found = await told(tool, query="birds & bees?")
    assert found == "1. Birds\n   https://birds.example/\n   They fly."
    assert services.requests[0][0] == "birds & bees?"
    assert await told(tool, query="stones") == "Nothing was found. Try other words."


@pytest.mark.parametrize("name", ["brave", "tavily"])
async def test_a_key_that_is_not_taken_is_not_repeated(home: BaseUrl, name: SearchName) -> None:
    tool = search(name, home, key="wrong-key-456").tools()[0]
    with pytest.raises(ToolError, match="does not take the key") as refused:
        await told(tool, query="birds")
    assert "wrong-key-456" not in f"{refused.value!r} {refused.value.__cause__!r}"


async def test_the_key_goes_nowhere_by_redirect(services: Services, home: BaseUrl) -> None:
    services.redirect("/web/search", "/elsewhere")
    with pytest.raises(ToolError, match="brave answered 302"):
        await told(search("brave", home).tools()[0], query="birds")
    assert services.asked == ["/web/search"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "must list json under search.formats"),
        (429, r"takes no more searches for now \(429\)"),
        (500, "searxng answered 500"),
    ],
)
async def test_what_a_service_refuses(
    services: Services, home: BaseUrl, status: int, said: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status, text="no")

    services.pages["/search"] = refuse
    with pytest.raises(ToolError, match=said):
        await told(search("searxng", home).tools()[0], query="birds")


@pytest.mark.parametrize("body", ["<html>", "[]", '{"results": [{"title": "x"}]}', b"\xff\xfe"])
async def test_what_is_no_result(services: Services, home: BaseUrl, body: str | bytes) -> None:
    services.page("/search", body, "application/json")
    with pytest.raises(ToolError, match="something that is no result"):
        await told(search("searxng", home).tools()[0], query="birds")


async def test_too_long_an_answer_and_none_at_all(services: Services, home: BaseUrl) -> None:
    services.page("/search", " " * 3_000_000, "application/json")
    with pytest.raises(ToolError, match="too long an answer"):
        await told(search("searxng", home).tools()[0], query="birds")
    with pytest.raises(ToolError, match="can't be reached"):
        await told(search("searxng", BaseUrl("http://127.0.0.1:1")).tools()[0], query="birds")


def test_nothing_is_searched_without_a_service() -> None:
    assert service_of(WebConfig(), {"BRAVE_API_KEY": WORD}) is None


def test_keys_come_from_the_configuration_or_the_environment() -> None:
    made = service_of(WebConfig(search="brave"), {"BRAVE_API_KEY": WORD})
    assert made is not None
    asked = made.request("birds")
    assert asked.headers["X-Subscription-Token"] == WORD
    assert str(asked.url).startswith("https://api.search.brave.com/res/v1/web/search?q=birds")
    made = service_of(WebConfig(search="tavily", options={"key": Key(WORD)}), {})
    assert made is not None
    assert str(made.request("birds").url) == "https://api.tavily.com/search"


@pytest.mark.parametrize(
    ("name", "said"),
    [("brave", "BRAVE_API_KEY"), ("tavily", "web.options.key"), ("searxng", "web.url")],
)
def test_what_is_missing_is_said(name: SearchName, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        service_of(WebConfig(search=name), {})


async def test_what_it_would_do(home: BaseUrl) -> None:
    tool = search("searxng", home).tools()[0]
    intent = await tool.intent(written(query="birds"), context_of())
    assert intent is not None
    assert (intent.does, intent.subject, intent.asks) == ("Search the web", "birds", False)
    assert len(msgspec.json.encode(tool.schema)) < 300
