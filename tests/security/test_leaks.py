"""Secrets stay where they were put: a whole scenario with the real command, then a search for every
one of them in all that was answered and logged."""

import base64
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
import pytest
from yarl import URL

from roost.testing.models import ModelServer, fail, raw, say
from tests.e2e.command import Roost
from tests.engine import eventually
from tests.security.operations import ALL
from tests.unit.http.served import SECONDS, connections

KEY = "sk-first-" + "nightjar0123456789" * 2
HEADER = "header-" + "nightingale0123456789"
IN_URL = "hunter2-kingfisher-0123"
OF_VENDOR = "sk-vendor-" + "capercaillie0123456789"
FROM_ENVIRONMENT = "sk-env-" + "woodpecker0123456789"
ADDED = "sk-added-" + "sandpiper0123456789"
SEARCH = "search-" + "oystercatcher0123456789"
MCP = "mcp-" + "yellowhammer0123456789"
TELEGRAM = "123456:AAE-" + "lapwing0123456789"
SLACK = "xoxb-" + "turnstone0123456789"
HOOK = "hook-" + "whimbrel0123456789"
ADDED_HOOK = "hook-" + "redshank0123456789"
PASSWORD = "correct horse battery kestrel"  # noqa: S105
WRONG = "wrong horse battery goshawk"

CONFIG = """
[log]
level = "debug"

[models]
default = "test/model"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model"]
key = "{key}"
headers = {{ X-Extra = "{header}" }}

[providers.named]
vendor = "compatible"
base_url = "{url}"
models = ["model"]
key_env = "NAMED_KEY"

[web]
search = "brave"
options = {{ key = "{search}" }}

[mcp.broken]
command = ["/nonexistent"]
environment = {{ MCP_TOKEN = "{mcp}" }}

[channels.telegram.options]
token = "{telegram}"
api = "{nowhere}"

[channels.slack.options]
token = "{slack}"
signing_secret = "{hook}"
api = "{nowhere}"

[channels.desk]
kind = "webhook"

[channels.desk.options]
secret = "{hook}"
callback = "{nowhere}"
"""

NOWHERE = "http://127.0.0.1:9/"
"""Nobody listens there."""


class Place(NamedTuple):
    """Where something was read, and what."""

    name: str
    text: str


class Scenario:
    """Everything that anyone is told, in `places`; `secrets` are what must not be in it."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.secrets = {
            "key of the file": KEY,
            "header of the file": HEADER,
            "password in an address": IN_URL,
            "key of a vendor's variable": OF_VENDOR,
            "key of the environment": FROM_ENVIRONMENT,
            "key that an admin added": ADDED,
            "key of the web search": SEARCH,
            "token of a server of tools": MCP,
            "token of Telegram": TELEGRAM.partition(":")[2],
            "token of Slack": SLACK,
            "secret of a hook": HOOK,
            "secret of a hook that an admin added": ADDED_HOOK,
            "password": PASSWORD,
            "wrong password": WRONG,
        }


@pytest.fixture(scope="module")
def scenarios() -> dict[str, Scenario]:
    return {}


@pytest.fixture
def roost(tmp_path: Path) -> Roost:
    return Roost(tmp_path)


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with ModelServer() as server:
        server.otherwise(say("Good day."))
        yield server


@pytest.fixture
async def scenario(
    scenarios: dict[str, Scenario], roost: Roost, server: ModelServer, tmp_path: Path
) -> Scenario:
    """Run once for all."""
    if "run" not in scenarios:
        scenarios["run"] = await _run(roost, server, tmp_path)
    return scenarios["run"]


async def _run(roost: Roost, server: ModelServer, folder: Path) -> Scenario:
    scenario, file = Scenario(), folder / "roost.toml"
    url = URL(server.openai_url)
    file.write_text(
        CONFIG.format(
            url=url,
            key=KEY,
            header=HEADER,
            search=SEARCH,
            mcp=MCP,
            telegram=TELEGRAM,
            slack=SLACK,
            hook=HOOK,
            nowhere=NOWHERE,
        )
    )
    with_password = url.with_user("wren").with_password(IN_URL)
    roost.environ |= {
        "NAMED_KEY": FROM_ENVIRONMENT,
        "OPENAI_BASE_URL": str(with_password),
        "OPENAI_API_KEY": OF_VENDOR,
    }
    async with roost.running("--config", str(file)) as running:
        link = running.greeting.partition("#")[2].split()[0]
        scenario.secrets["link"] = link
        await _Caller(scenario, URL(running.address), str(url)).act(link, server)
        ended = await running.stop(signal.SIGTERM)
    assert ended.code == 0, ended.err
    scenario.places += [Place("the log", ended.err), Place("the output", ended.out)]
    return scenario


class _Caller:
    def __init__(self, scenario: Scenario, url: URL, models: str) -> None:
        self._scenario = scenario
        self._url = url
        self._models = models
        self._headers: dict[str, str] = {"Origin": str(url.origin())}

    async def act(self, link: str, server: ModelServer) -> None:
        async with connections({}) as self._connections:
            await self._sign_in(link)
            await self._add_provider(server)
            await self._talk(server)
            await self._connect()
            await self._look_at_everything()

    async def ask(
        self, method: str, path: str, body: object = None, *, secret: bool = False
    ) -> Any:  # noqa: ANN401
        """What is `secret` is told on purpose, once."""
        data = None if body is None else msgspec.json.encode(body)
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        url = self._url.join(URL(path))
        request = self._connections.request(method, url, data=data, headers=headers)
        async with request as response:
            text = "" if _streams(response.content_type) else await response.text()
            told = {k: v for k, v in response.headers.items() if k.lower() != "set-cookie"}
            self._scenario.places.append(Place(f"headers of {method} {path}", str(told)))
            if not secret:
                self._scenario.places.append(Place(f"{method} {path}", text))
            cookie = response.cookies.get("roost")
        if cookie is not None and cookie.value:
            self._scenario.secrets["cookie"] = cookie.value
        return msgspec.json.decode(text) if response.content_type.endswith("json") else text

    async def _sign_in(self, link: str) -> None:
        await self.ask("POST", "/api/sign-in", {"secret": link})
        await self.ask("POST", "/api/sign-in", {"secret": link})
        await self.ask("PUT", "/api/me/password", {"new": PASSWORD})
        await self.ask("PUT", "/api/me/password", {"old": WRONG, "new": PASSWORD})
        await self.ask("POST", "/api/sign-in", {"name": "owner", "password": WRONG})
        await self.ask("POST", "/api/sign-in", {"name": "owner", "password": PASSWORD})
        await self.ask("POST", "/api/sign-in", {"name": 1, "password": PASSWORD})
        body = {"name": "all", "scopes": ["chat", "admin"]}
        made = await self.ask("POST", "/api/tokens", body, secret=True)
        self._scenario.secrets["token"] = made["secret"]
        self._headers |= {"Authorization": f"Bearer {made['secret']}"}
        me = await self.ask("GET", "/api/me")
        path = f"/api/users/{me['user']['id']}/link"
        linked = await self.ask("POST", path, {}, secret=True)
        self._scenario.secrets["second link"] = linked["path"].partition("#")[2]
        self._user = me["user"]["id"]

    async def _add_provider(self, server: ModelServer) -> None:
        path = "/api/providers/added"
        body = {"vendor": "compatible", "base_url": self._models, "models": ["model"], "key": ADDED}
        await self.ask("PUT", path, body)
        await self.ask("PUT", path, {**body, "context": -1})
        await self.ask("PUT", path, {**body, "key": ADDED + "\n"})
        server.otherwise(fail(401, f"Incorrect API key provided: {ADDED}."))
        await self.ask("POST", f"{path}/test", {})
        await self._fail("added/model")

    async def _talk(self, server: ModelServer) -> None:
        for model, key in (
            ("test/model", KEY),
            ("test/model", HEADER),
            ("openai/model", OF_VENDOR),
            ("openai/model", IN_URL),
            ("named/model", FROM_ENVIRONMENT),
        ):
            for reply in (
                fail(401, f"Incorrect API key provided: {key}."),
                fail(400, f"Bad header Authorization: Bearer {key}"),
                fail(401, f"Incorrect API key provided: {key}.", in_stream=True),
                raw(f"<html>{key}</html>", status=200, content_type="text/html"),
                raw(f"data: {key}\n\n"),
                raw(_refusal(key), content_type="application/json"),
            ):
                server.otherwise(reply)
                await self._fail(model)
        server.otherwise(say("Good day."))
        session = (await self.ask("POST", "/api/sessions", {"title": "Hello"}))["id"]
        self._ids = {"session": session}
        completion = {"model": "roost", "messages": [{"role": "user", "content": "Hello"}]}
        await self.ask("POST", "/v1/chat/completions", completion)

    async def _connect(self) -> None:
        """Channels whose platforms are not there, and hooks that are called by anybody."""
        added = {"kind": "webhook", "options": {"secret": ADDED_HOOK}}
        await self.ask("PUT", "/api/channels/added", added)
        await self.ask("PUT", "/api/channels/added", {**added, "groups": "nobody"})
        wrong = {"kind": "telegram", "options": {"token": ADDED_HOOK}}
        await self.ask("PUT", "/api/channels/wrong", wrong)
        for channel in ("telegram", "slack", "desk", "added", "wrong"):
            await self.ask("POST", f"/hooks/{channel}", {"id": "1"})

        async def tried() -> bool:
            found = (await self.ask("GET", "/api/channels"))["channels"]
            return not [each for each in found if each["condition"] in ("off", "connecting")]

        await eventually(tried)

    async def _fail(self, model: str) -> None:
        completion = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
        await self.ask("POST", "/v1/chat/completions", completion)

    async def _look_at_everything(self) -> None:
        sessions = (await self.ask("GET", "/api/sessions?limit=200"))["sessions"]
        things = ["turn", "message", "approval", "fact", "rule", "file", "schedule", "channel"]
        names = dict.fromkeys(things, "x")
        ids = names | {
            "epoch": "1",
            "route": "web",
            "process": "1",
            "token": "x",
            "sign_in": "x",
            "user": self._user,
            "provider": "test",
            "model": "test/model",
        }
        for operation in ALL:
            if operation.is_safe and not operation.path.endswith("events"):
                for session in sessions if "session" in operation.names else [{"id": ""}]:
                    await self.ask("GET", operation.target(ids | {"session": session["id"]}))
        for path in ("/", "/healthz", "/readyz", "/api/openapi.json", "/metrics", "/nothing"):
            await self.ask("GET", path)


def _refusal(key: str) -> str:
    """As some gateways send it, with a status of success."""
    error = {"message": f"Incorrect API key provided: {key}", "code": 401}
    return msgspec.json.encode({"error": error}).decode()


def _streams(kind: str) -> bool:
    return kind == "text/event-stream"


SECRETS = [*Scenario().secrets, "link", "second link", "token", "cookie"]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.timeout(SECONDS * 6)
async def test_secret_is_told_nowhere(scenario: Scenario, name: str) -> None:
    secret = scenario.secrets[name]
    forms = {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().strip("=")}
    if len(secret) > 30:
        forms.add(secret[:24])
    # The first start prints its link for whoever looks at the terminal.
    places = [place for place in scenario.places if (name, place.name) != ("link", "the output")]
    found = [place.name for place in places if any(form in place.text for form in forms)]
    assert found == []


async def test_scenario_is_no_empty_one(scenario: Scenario) -> None:
    told = {place.name: place.text for place in scenario.places}
    assert len(told) > 100
    assert "Good day." in told["POST /v1/chat/completions"]
    assert '"event"' in told["the log"]
    assert "does not accept the key" in "".join(told.values())
    assert set(scenario.secrets) == set(SECRETS)
