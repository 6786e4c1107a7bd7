"""Names and origins: Roost answers for its own, behind a proxy too."""

from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from roost.core.config import ServerConfig
from roost.core.settings import HostName, NetworkName
from roost.http.origins import HEADERS, OwnNames
from roost.testing.models import ModelServer
from tests.unit.http.served import Served, started


@pytest.fixture
async def served(folder: Path, server: ModelServer) -> AsyncGenerator[Served]:
    config = ServerConfig(
        grace=timedelta(milliseconds=50),
        names=(HostName("roost.example"), HostName("fd00::7")),
        proxies=(NetworkName("127.0.0.1"),),
    )
    async with started(Served(folder, server, server=config)) as served:
        yield served


async def status(served: Served, headers: Mapping[str, str]) -> int:
    async with (
        aiohttp.ClientSession() as connections,
        connections.get(served.url / "healthz", headers=headers) as answer,
    ):
        return answer.status


@pytest.mark.parametrize(
    "host", ["roost.example", "ROOST.example:443", "localhost", "[::1]:7667", "[FD00::7]:7667"]
)
async def test_own_names_are_answered(served: Served, host: str) -> None:
    assert await status(served, {"Host": host}) == 200
    assert await status(served, {"X-Forwarded-Host": host}) == 200


@pytest.mark.parametrize("host", ["evil.example", "roost.example.evil.example", "10.0.0.1", "a@b"])
async def test_other_names_are_refused(served: Served, host: str) -> None:
    assert await status(served, {"Host": host}) == 421
    assert await status(served, {"X-Forwarded-Host": host}) == 421


async def test_address_that_a_request_came_to_is_ours() -> None:
    """As of a server on all addresses, or on a name: no other name is known of it."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("here")(scope, receive, send)

    async def asked(host: str, server: tuple[str, int]) -> int:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            raise AssertionError("it has no body")

        headers = [(b"host", host.encode())]
        scope = {"type": "http", "headers": headers, "server": server}
        await OwnNames(app, names=())(scope, receive, send)
        return int(sent[0]["status"])

    assert await asked("10.0.0.7:7667", ("10.0.0.7", 7667)) == 200
    assert await asked("[fd00::7]:7667", ("fd00::7", 7667)) == 200
    assert await asked("10.0.0.8:7667", ("10.0.0.7", 7667)) == 421
    assert await asked("fd00::7", ("fd00::7", 7667)) == 421


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("healthz", "localhost"),
        ("nowhere", "localhost"),
        ("api/me", "localhost"),
        ("sign-in", "localhost"),
        ("healthz", "evil.example"),
    ],
)
async def test_every_answer_says_what_browsers_may_not_do_with_it(
    served: Served, path: str, host: str
) -> None:
    async with (
        aiohttp.ClientSession() as connections,
        connections.get(served.url / path, headers={"Host": host}) as answer,
    ):
        assert {name.decode() for name in HEADERS} <= {name.lower() for name in answer.headers}
        assert "server" not in answer.headers


async def test_behind_a_proxy_with_tls_the_cookie_and_the_origin_are_those_of_https(
    served: Served,
) -> None:
    secret = (await served.identities.link(served.engine.owner.id)).reveal()
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "roost.example"}
    async with aiohttp.ClientSession(headers=forwarded) as connections:
        url = served.url / "api/sign-in"
        wrong = {"Origin": "http://roost.example"}
        async with connections.post(url, json={"secret": secret}, headers=wrong) as answer:
            assert answer.status == 403
        right = {"Origin": "https://roost.example"}
        async with connections.post(url, json={"secret": secret}, headers=right) as answer:
            assert answer.status == 204
            cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-roost=")
    assert "; Secure" in cookie
