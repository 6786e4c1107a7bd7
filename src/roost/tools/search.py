"""The `web_search` tool, through the search service that the configuration names."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Annotated, Protocol

import aiohttp
import msgspec
from yarl import URL

from roost.core.config import WebConfig
from roost.core.errors import ConfigError
from roost.core.keys import Key
from roost.core.settings import SearchName
from roost.tools.base import Intent, Tool, ToolContext, ToolError
from roost.tools.schema import tool

RESULTS = 8
SECONDS = 20.0
BYTES = 2_000_000

_SNIPPET = 400
_HOMES: Mapping[SearchName, str] = {
    "brave": "https://api.search.brave.com/res/v1",
    "tavily": "https://api.tavily.com",
}
_KEYS: Mapping[SearchName, str] = {"brave": "BRAVE_API_KEY", "tavily": "TAVILY_API_KEY"}


class Found(msgspec.Struct, frozen=True):
    """A result, as any of the services writes it."""

    url: str
    title: str | None = None
    content: str | None = None
    description: str | None = None


class _Results(msgspec.Struct, frozen=True):
    results: tuple[Found, ...] = ()


class _Sections(msgspec.Struct, frozen=True):
    web: _Results = _Results()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to send to a service. Without a `body` it is a GET."""

    url: URL
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class Service(Protocol):
    """A search service; `read` raises a MsgspecError for what is not its answer."""

    @property
    def name(self) -> SearchName: ...

    def request(self, query: str) -> Request: ...

    def read(self, answer: bytes) -> Sequence[Found]: ...

    def refused(self) -> str:
        """What to do when it says that this may not be."""
        ...


class Searxng:
    name: SearchName = "searxng"

    def __init__(self, home: str) -> None:
        self._home = URL(home)

    def request(self, query: str) -> Request:
        return Request(url=(self._home / "search").with_query(q=query, format="json"))

    def read(self, answer: bytes) -> Sequence[Found]:
        return msgspec.json.decode(answer, type=_Results).results

    def refused(self) -> str:
        return "SearXNG gives no JSON: its settings.yml must list json under search.formats."


class Brave:
    name: SearchName = "brave"

    def __init__(self, home: str, key: Key) -> None:
        self._home = URL(home)
        self._key = key

    def request(self, query: str) -> Request:
        headers = {"X-Subscription-Token": self._key.reveal(), "Accept": "application/json"}
        url = (self._home / "web" / "search").with_query(q=query[:400], count=RESULTS)
        return Request(url=url, headers=headers)

    def read(self, answer: bytes) -> Sequence[Found]:
        return msgspec.json.decode(answer, type=_Sections).web.results

    def refused(self) -> str:
        return "Brave does not take the key that is configured for it."


class Tavily:
    name: SearchName = "tavily"

    def __init__(self, home: str, key: Key) -> None:
        self._home = URL(home)
        self._key = key

    def request(self, query: str) -> Request:
        headers = {
            "Authorization": f"Bearer {self._key.reveal()}",
            "Content-Type": "application/json",
        }
        body = msgspec.json.encode({"query": query, "max_results": RESULTS})
        return Request(url=self._home / "search", headers=headers, body=body)

    def read(self, answer: bytes) -> Sequence[Found]:
        return msgspec.json.decode(answer, type=_Results).results

    def refused(self) -> str:
        return "Tavily does not take the key that is configured for it."


def service_of(config: WebConfig, environ: Mapping[str, str]) -> Service | None:
    """The service that is configured, if any is."""
    if config.search == "none":
        return None
    if config.search == "searxng":
        if config.url is None:
            raise ConfigError("Searching with SearXNG needs its address: set web.url.")
        return Searxng(config.url)
    variable = _KEYS[config.search]
    key = config.options.get("key") or (Key(environ[variable]) if environ.get(variable) else None)
    if key is None:
        raise ConfigError(
            f"Searching with {config.search} needs a key: set web.options.key or {variable}."
        )
    made = Brave if config.search == "brave" else Tavily
    return made(config.url or _HOMES[config.search], key)


class Search:
    """Whoever runs this Roost chose the service, so it may well be on a private address: the guard
    for agents' own addresses is not asked."""

    def __init__(self, service: Service, *, seconds: float = SECONDS) -> None:
        self._service = service
        self._seconds = seconds

    def tools(self) -> tuple[Tool, ...]:
        made = tool(self.web_search, parallel=True, seconds=self._seconds + 10, intent=self.intent)
        return (made,)

    async def intent(self, context: ToolContext, query: str) -> Intent:
        return Intent(does="Search the web", subject=query)

    async def web_search(
        self,
        context: ToolContext,
        query: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)],
    ) -> str:
        """Search the web: titles, addresses and excerpts. Read a result with `fetch`."""
        answer = await self._ask(self._service.request(query))
        try:
            found = self._service.read(answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ToolError(f"{self._service.name} gave something that is no result.") from error
        shown = [_shown(number, each) for number, each in enumerate(found[:RESULTS], 1)]
        return "\n\n".join(shown) or "Nothing was found. Try other words."

    async def _ask(self, request: Request) -> bytes:
        name = self._service.name
        try:
            async with asyncio.timeout(self._seconds), aiohttp.ClientSession() as connections:
                return await self._sent(connections, request)
        except TimeoutError as error:
            raise ToolError(f"{name} took longer than {self._seconds:g} seconds.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ToolError(f"{name} can't be reached ({type(error).__name__}).") from error

    async def _sent(self, connections: aiohttp.ClientSession, request: Request) -> bytes:
        # A redirect could carry the key elsewhere.
        async with connections.request(
            "GET" if request.body is None else "POST",
            request.url,
            headers=request.headers,
            data=request.body,
            allow_redirects=False,
        ) as response:
            self._check(response.status)
            answer = bytearray()
            async for chunk in response.content.iter_any():
                answer += chunk
                if len(answer) > BYTES:
                    raise ToolError(f"{self._service.name} gave too long an answer.")
            return bytes(answer)

    def _check(self, status: int) -> None:
        if status in (401, 403):
            raise ToolError(self._service.refused())
        if status in (402, 429, 432, 433):
            raise ToolError(f"{self._service.name} takes no more searches for now ({status}).")
        if status != 200:
            raise ToolError(f"{self._service.name} answered {status}.")


def _shown(number: int, found: Found) -> str:
    snippet = _plain(found.content or found.description or "")
    lines = [f"{number}. {_plain(found.title or '') or found.url}", f"   {found.url}"]
    if snippet:
        cut = f"{snippet[:_SNIPPET]}…" if len(snippet) > _SNIPPET else snippet
        lines.append(f"   {cut}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Without the tags that mark what matched."""
    return " ".join(unescape(re.sub(r"</?[a-z]{1,10}>", "", text)).split())
