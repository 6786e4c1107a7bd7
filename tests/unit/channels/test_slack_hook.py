"""Slack over HTTP, at /hooks/NAME: only what Slack signed, kept before it is answered."""

import io
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from starlette.applications import Starlette

from roost.channels.base import HookCall, HookReply
from roost.channels.slack import receiver
from roost.channels.slack.channel import SlackChannel, SlackOptions
from roost.http.hooks import BODY_LIMIT, hook_routes
from roost.http.problems import HANDLERS
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running
from tests.fakes.slack import APP_TOKEN, SECRET, TOKEN, FakeSlack, Post, fake_slack, signed
from tests.unit.http.serving import served_at

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FakeSlack]:
    monkeypatch.setattr(receiver, "LOOK_SECONDS", 60.0)  # there is time on a busy machine too
    async with fake_slack() as slack:
        slack.users = {"U1": "ann"}
        yield slack


@pytest.fixture
def inlet() -> MemoryInlet:
    return MemoryInlet()


def by_http(platform: FakeSlack) -> SlackChannel:
    return SlackChannel("slack", SlackOptions(token=TOKEN, signing_secret=SECRET, api=platform.api))


@asynccontextmanager
async def hooked(channel: SlackChannel) -> AsyncGenerator[str]:
    """Where Slack is to send to."""

    async def receive(name: str, call: HookCall) -> HookReply | None:
        return await channel.hook(call) if name == channel.name else None

    web = Starlette(routes=hook_routes(receive), exception_handlers=HANDLERS)
    async with served_at(web) as address:
        yield f"{address}/hooks/slack"


@pytest.fixture
async def hook(platform: FakeSlack, inlet: MemoryInlet) -> AsyncGenerator[str]:
    channel = by_http(platform)
    async with running(channel, inlet), hooked(channel) as url:
        await inlet.up.wait()
        yield url


async def post(session: aiohttp.ClientSession, url: str, body: bytes, **headers: str) -> int:
    given = {"Content-Type": "application/json", **signed(body)}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with session.post(url, data=io.BytesIO(body), headers=given) as answer:
        await answer.read()
        return answer.status


def message(platform: FakeSlack, text: str) -> dict[str, object]:
    said = {"type": "message", "channel": "D1", "user": "U1", "text": text}
    return platform.callback({**said, "ts": platform.new_ts()})


@pytest.mark.contract("E1")
async def test_an_event_is_kept_once_however_often_slack_sends_it(
    platform: FakeSlack, inlet: MemoryInlet, hook: str
) -> None:
    event = message(platform, "hello")
    inlet.refusals = 2
    assert await platform.call_hook(hook, event) == [500, 500, 200]
    assert await platform.call_hook(hook, event) == [200]
    (inbound,) = inlet.all
    assert (inbound.text, inbound.sender.name) == ("hello", "ann")


async def test_commands_and_presses_come_as_forms(
    platform: FakeSlack, inlet: MemoryInlet, hook: str
) -> None:
    command = platform.form(platform.command("/roost", "new"))
    button = {"type": "button", "action_id": "press_0", "value": "yes:1"}
    press = platform.pressed(Post(channel="D1", ts="7.5", text="May I?"), button, "U1")
    async with aiohttp.ClientSession() as session:
        assert await post(session, hook, command, Content_Type=FORM) == 200
        body = platform.form({"payload": json.dumps(press)})
        assert await post(session, hook, body, Content_Type=FORM) == 200
    assert [(inbound.text, inbound.press) for inbound in inlet.all] == [
        ("/new", None),
        ("", "yes:1"),
    ]


async def test_slack_can_verify_the_address(hook: str) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c-1"}).encode()
    headers = {"Content-Type": "application/json", **signed(body)}
    async with (
        aiohttp.ClientSession() as session,
        session.post(hook, data=body, headers=headers) as answer,
    ):
        assert await answer.json() == {"challenge": "c-1"}


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Signature": "v0=" + "0" * 64},
        {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": "1"},
    ],
)
async def test_what_slack_did_not_sign_is_refused(
    platform: FakeSlack, inlet: MemoryInlet, hook: str, headers: dict[str, str]
) -> None:
    body = json.dumps(message(platform, "forged")).encode()
    async with aiohttp.ClientSession() as session:
        assert await post(session, hook, body, **headers) == 401
        old = signed(body, at=time.time() - 600)
        assert await post(session, hook, body, **old) == 401
        other = signed(body, secret="another")  # noqa: S106
        assert await post(session, hook, body, **other) == 401
    assert not inlet.all


async def test_a_body_that_nobody_signed_is_not_even_read(hook: str) -> None:
    async with aiohttp.ClientSession() as session:
        nested = b"[" * 200_000
        assert await post(session, hook, nested, X_Slack_Signature="v0=0") == 401
        assert await post(session, hook, b"\xff\xfe") == 401
        large = b" " * (BODY_LIMIT + 1)
        assert await post(session, hook, large) == 413
        assert await post(session, hook.replace("/slack", "/other"), b"{}") == 401
        async with session.get(hook) as answer:
            assert answer.status == 401


async def test_a_channel_that_uses_sockets_takes_nothing_by_http(platform: FakeSlack) -> None:
    options = SlackOptions(token=TOKEN, app_token=APP_TOKEN, api=platform.api)
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    # Signed with the empty secret that a channel without one has.
    headers = {name.lower(): value for name, value in signed(body, secret="").items()}
    reply = await SlackChannel("slack", options).hook(HookCall("POST", "", headers, body))
    assert reply.status == 404


async def test_while_it_is_not_connected_slack_is_told_to_try_again(platform: FakeSlack) -> None:
    async with hooked(by_http(platform)) as url:
        assert await platform.call_hook(url, message(platform, "hello"), tries=2) == [503, 503]
