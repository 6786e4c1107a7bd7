"""The webhook channel: signed messages in, answers by callback or on asking."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlencode

import pytest

from roost.channels.base import Attachment, Button, HookCall, HookReply, Piece
from roost.channels.webhook.channel import WebhookChannel, WebhookOptions, webhook
from roost.channels.webhook.wire import check_signature, signature
from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    ChannelLost,
    ChannelRefused,
    ConfigError,
    Undeliverable,
)
from roost.core.keys import Key
from tests.fakes.callback import Program, Reply, called_back
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running

SECRET = "a secret of both sides"  # noqa: S105
DM = "desk:dm:demo"


@pytest.fixture
def inlet() -> MemoryInlet:
    return MemoryInlet()


@pytest.fixture
async def channel(inlet: MemoryInlet) -> AsyncGenerator[WebhookChannel]:
    """Whose answers are asked for."""
    channel = WebhookChannel("desk", WebhookOptions(SECRET))
    async with running(channel, inlet):
        await inlet.up.wait()
        yield channel


@pytest.fixture
async def program() -> AsyncGenerator[Program]:
    async with called_back() as program:
        yield program


@pytest.fixture
async def calling(program: Program, inlet: MemoryInlet) -> AsyncGenerator[WebhookChannel]:
    """Whose answers are posted to the program."""
    channel = WebhookChannel("desk", WebhookOptions(SECRET, program.address))
    async with running(channel, inlet):
        await inlet.up.wait()
        yield channel


def signed(text: bytes, *, at: float | None = None, secret: str = SECRET) -> dict[str, str]:
    when = str(int(time.time() if at is None else at))
    return {"x-roost-timestamp": when, "x-roost-signature": signature(secret, when, text)}


async def post(channel: WebhookChannel, /, **fields: object) -> HookReply:
    message = {"id": "1", "conversation": "demo", "sender": {"id": "ann"}, **fields}
    body = json.dumps(message).encode()
    return await channel.hook(HookCall("POST", "", signed(body), body))


async def ask(channel: WebhookChannel, cursor: str = "", wait: float = 0) -> dict[str, Any]:
    query = urlencode({"cursor": cursor, "wait": wait})
    reply = await channel.hook(HookCall("GET", query, signed(query.encode()), b""))
    assert reply.status == 200
    return json.loads(reply.body)


async def test_a_message_is_kept_before_it_is_answered(
    channel: WebhookChannel, inlet: MemoryInlet
) -> None:
    inlet.refusals = 1
    with pytest.raises(OSError, match="no room"):
        await post(channel, text="hello")
    reply = await post(channel, text="hello")
    assert (reply.status, json.loads(reply.body)) == (202, {"id": "1"})
    (inbound,) = inlet.all
    assert inbound.text == "hello"
    assert inbound.place.address == DM
    assert (inbound.sender.id, inbound.sender.name) == ("ann", "ann")


async def test_a_message_that_is_posted_again_is_kept_once(
    channel: WebhookChannel, inlet: MemoryInlet
) -> None:
    for _ in range(3):
        assert (await post(channel, text="hello")).status == 202
    assert len(inlet.all) == 1


async def test_groups_edits_presses_and_replies_are_understood(
    channel: WebhookChannel, inlet: MemoryInlet
) -> None:
    await post(channel, id="1", group=True, mentioned=False, text="hello", reply_to="0")
    await post(channel, id="2", edits="1", text="hallo")
    await post(channel, id="3", press="yes:1", message="out_7")
    group, edit, press = inlet.all
    assert group.place.group == group.place.address == "desk:group:demo"
    assert (group.place.mentioned, group.reply_to) == (False, "0")
    assert (edit.edited, edit.message) == (True, "1")
    assert (press.press, press.message) == ("yes:1", "out_7")


async def test_a_file_is_kept_with_its_message(channel: WebhookChannel, inlet: MemoryInlet) -> None:
    data = base64.b64encode(b"picture").decode()
    await post(channel, files=[{"name": "a.png", "media_type": "image/png", "data": data}])
    (file,) = inlet.all[0].files
    assert (file.kind, file.size, file.name) == ("image", 7, "a.png")
    assert await channel.fetch(file) == b"picture"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed(b"another body"),
        signed(b"{}", secret="another secret"),  # noqa: S106
        signed(b"{}", at=0),
        {**signed(b"{}"), "x-roost-timestamp": "now"},
        {**signed(b"{}"), "x-roost-timestamp": "9" * 40},
        {**signed(b"{}"), "x-roost-signature": "v1=ü"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_is_not_signed_is_refused(
    channel: WebhookChannel, inlet: MemoryInlet, method: str, headers: dict[str, str]
) -> None:
    query, body = ("{}", b"") if method == "GET" else ("", b"{}")
    reply = await channel.hook(HookCall(method, query, headers, body))
    assert reply.status == 401
    assert not inlet.all


@pytest.mark.parametrize("wait", ["nan", "-inf", "-1"])
async def test_a_wait_that_is_no_time_is_none(channel: WebhookChannel, wait: str) -> None:
    query = f"cursor=&wait={wait}"
    reply = await channel.hook(HookCall("GET", query, signed(query.encode()), b""))
    assert (reply.status, json.loads(reply.body)["messages"]) == (200, [])


@pytest.mark.parametrize("after", ["9" * 400, "\u00b2", "soon"])
async def test_a_callback_cant_put_answers_off_for_ever(
    calling: WebhookChannel, program: Program, after: str
) -> None:
    program.replies += [Reply(429, headers={"Retry-After": after})]
    with pytest.raises(ChannelBusy) as busy:
        await calling.deliver(DM, Piece("hello"), key="k")
    assert busy.value.seconds <= 3600


@pytest.mark.parametrize("ahead", [-301, 301])
async def test_a_signature_holds_for_five_minutes(channel: WebhookChannel, ahead: int) -> None:
    body = b'{"id": "1", "conversation": "demo", "sender": {"id": "ann"}}'
    late = signed(body, at=time.time() + ahead)
    assert (await channel.hook(HookCall("POST", "", late, body))).status == 401
    soon = signed(body, at=time.time() + ahead * 0.9)
    assert (await channel.hook(HookCall("POST", "", soon, body))).status == 202


async def test_a_signature_is_no_use_at_another_time(channel: WebhookChannel) -> None:
    body = b'{"id": "1", "conversation": "demo", "sender": {"id": "ann"}}'
    overheard = signed(body, at=time.time() - 200)
    again = {**overheard, "x-roost-timestamp": str(int(time.time()))}
    assert (await channel.hook(HookCall("POST", "", again, body))).status == 401
    assert (await channel.hook(HookCall("POST", "", overheard, body))).status == 202


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": ""}, "id"),
        ({"id": "a b"}, "id"),
        ({"conversation": "a:b"}, "conversation"),
        ({"sender": {"id": "x" * 101}}, "sender"),
        ({"sender": {}}, "id"),
        ({"txt": "hello"}, "txt"),
        ({"files": [{"name": "a", "media_type": "b", "data": "?"}]}, "base64"),
    ],
)
async def test_a_message_that_is_wrong_is_refused_with_a_reason(
    channel: WebhookChannel, inlet: MemoryInlet, fields: dict[str, object], said: str
) -> None:
    reply = await post(channel, **fields)
    assert reply.status == 400
    assert said in json.loads(reply.body)["detail"]
    assert not inlet.all


@pytest.mark.parametrize("body", [b"", b"[", b"[" * 100_000, b"\xff", b"null"])
async def test_a_body_that_is_no_message_is_refused(channel: WebhookChannel, body: bytes) -> None:
    assert (await channel.hook(HookCall("POST", "", signed(body), body))).status == 400


async def test_what_is_asked_for_is_handed_out_until_it_was_received(
    channel: WebhookChannel,
) -> None:
    sending = asyncio.create_task(channel.deliver(DM, Piece("Hello."), key="k1"))
    first = await ask(channel, wait=10)
    assert [message["text"] for message in first["messages"]] == ["Hello."]
    assert await ask(channel) == first
    for cursor in ("of-another-run", "0a1b2c3d-9"):
        assert await ask(channel, cursor) == first
    assert not sending.done()
    assert (await ask(channel, first["cursor"]))["messages"] == []
    assert await asyncio.wait_for(sending, 60) == "k1"


async def test_what_came_after_a_page_is_not_taken_for_received(channel: WebhookChannel) -> None:
    one = asyncio.create_task(channel.deliver(DM, Piece("One"), key="k1"))
    page = await ask(channel, wait=10)
    two = asyncio.create_task(channel.deliver("desk:group:all", Piece("Two"), key="k2"))
    rest = await ask(channel, page["cursor"], wait=10)
    assert await asyncio.wait_for(one, 60) == "k1"
    assert rest["messages"] == [{"id": "k2", "conversation": "all", "group": True, "text": "Two"}]
    assert not two.done()
    two.cancel()
    await asyncio.wait([two])
    assert (await ask(channel))["messages"] == []


async def test_a_message_is_posted_signed_with_its_id(
    program: Program, calling: WebhookChannel
) -> None:
    asked = Piece("May **I**?", buttons=(Button("Yes", "yes:1"),), reply_to="1")
    assert await calling.deliver(DM, asked, key="k1") == "k1"
    (call,) = program.calls
    check_signature(SECRET, call.headers, call.body)
    assert call.headers["x-roost-id"] == "k1"
    assert call.message == {
        "id": "k1",
        "conversation": "demo",
        "text": "May **I**?",
        "buttons": [{"label": "Yes", "data": "yes:1"}],
        "reply_to": "1",
    }


async def test_a_file_is_posted_and_the_programs_own_id_is_kept(
    program: Program, calling: WebhookChannel
) -> None:
    program.replies += [Reply(201, '{"id": "mine-7"}')]
    data = b"x" * (2 << 20)
    file = Attachment("a.txt", "text/plain", data)
    assert await calling.deliver(DM, Piece(file=file), key="k1") == "mine-7"
    sent = program.calls[0].message["file"]
    assert (sent["name"], base64.b64decode(sent["data"])) == ("a.txt", data)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(429, headers={"Retry-After": "7"}), ChannelBusy),
        (Reply(503, headers={"Retry-After": "7"}), ChannelBusy),
        (Reply(500), ChannelLost),
        (Reply(404), ChannelLost),
        (Reply(401), ChannelRefused),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/"}), ChannelRefused),
        (Reply(413), Undeliverable),
        (None, ChannelLost),
    ],
)
async def test_what_a_program_answers_is_told_apart(
    program: Program,
    calling: WebhookChannel,
    reply: Reply | None,
    expected: type[ChannelError],
) -> None:
    program.replies.append(reply)
    with pytest.raises(expected) as told:
        await calling.deliver(DM, Piece("Hello."), key="k1")
    assert len(program.calls) == 1
    if isinstance(told.value, ChannelBusy):
        assert told.value.seconds == 7


async def test_a_channel_that_calls_back_is_not_asked(calling: WebhookChannel) -> None:
    assert (await calling.hook(HookCall("GET", "", signed(b""), b""))).status == 409


async def test_a_channel_that_does_not_run_takes_and_sends_nothing() -> None:
    channel = WebhookChannel("desk", WebhookOptions(SECRET))
    assert (await post(channel, text="hello")).status == 503
    with pytest.raises(ChannelLost):
        await channel.deliver(DM, Piece("Hello."), key="k1")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"secret": "short"},
        {"secret": SECRET, "callback": "desk.example.org"},
        {"secret": SECRET, "callback": "file:///etc/passwd"},
    ],
)
def test_options_that_are_wrong_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        webhook("desk", {key: Key(value) for key, value in options.items()})
