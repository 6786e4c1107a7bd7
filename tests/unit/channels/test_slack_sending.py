"""What goes to Slack: formatted, once, with its errors told apart."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Attachment, Button, Piece
from roost.channels.slack.channel import SlackChannel, SlackOptions, slack
from roost.core.errors import (
    ChannelBusy,
    ChannelError,
    ChannelLost,
    ChannelRefused,
    ConfigError,
    Undeliverable,
)
from roost.core.keys import Key
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running
from tests.fakes.slack import APP_TOKEN, TOKEN, FakeSlack, Post, Trouble, fake_slack

DM = "slack:team:T1:dm:D1"
THREAD = "slack:team:T1:channel:C1:thread:100.000001"
FILE = Piece(file=Attachment("a.txt", "text/plain", b"a"))

METHODS = ("chat.postMessage", "chat.update", "files.completeUploadExternal")


async def call(channel: SlackChannel, method: str) -> None:
    """Have a method called."""
    if method == "chat.update":
        await channel.edit(DM, "1.1", Piece("other"))
    else:
        await channel.deliver(DM, Piece("other") if method == "chat.postMessage" else FILE, key="k")


@pytest.fixture
async def platform() -> AsyncGenerator[FakeSlack]:
    async with fake_slack() as slack:
        yield slack


def made(platform: FakeSlack) -> SlackChannel:
    return SlackChannel("slack", SlackOptions(token=TOKEN, app_token=APP_TOKEN, api=platform.api))


@pytest.fixture
async def channel(platform: FakeSlack) -> AsyncGenerator[SlackChannel]:
    channel = made(platform)
    async with running(channel, MemoryInlet()):
        await platform.until(lambda: platform.sockets)
        yield channel


async def test_an_answer_is_posted_where_it_belongs(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    first = await channel.deliver(DM, Piece("**Yes** & <no>"), key="k1")
    await channel.deliver(THREAD, Piece("In the thread"), key="k2")
    dm, thread = platform.sent()
    assert (dm.channel, dm.text, dm.thread_ts) == ("D1", "*Yes* &amp; &lt;no&gt;", None)
    assert (thread.channel, thread.thread_ts) == ("C1", "100.000001")
    assert first == dm.ts


async def test_buttons_come_with_the_text_and_go_with_an_edit(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    asked = Piece("May I?", buttons=(Button("Yes", "yes:1"), Button("No", "no:1")))
    ts = await channel.deliver(DM, asked, key="k1")
    (post,) = platform.sent()
    section, actions = post.blocks
    assert section["text"] == {"type": "mrkdwn", "text": "May I?", "verbatim": True}
    assert [button["value"] for button in actions["elements"]] == ["yes:1", "no:1"]
    assert len({button["action_id"] for button in actions["elements"]}) == 2
    await channel.edit(DM, ts, Piece("You said yes."))
    assert (post.text, post.blocks, post.edits) == ("You said yes.", [], 1)


async def test_blocks_that_slack_does_not_take_leave_the_text(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    platform.trouble["chat.postMessage"].append(Trouble("error", error="invalid_blocks"))
    await channel.deliver(DM, Piece("May I?", buttons=(Button("Yes", "y"),)), key="k1")
    (post,) = platform.sent()
    assert (post.text, post.blocks) == ("May I?", [])


async def test_a_file_goes_to_the_thread(platform: FakeSlack, channel: SlackChannel) -> None:
    file = Attachment("plot.png", "image/png", b"\x89PNG")
    name = await channel.deliver(THREAD, Piece(file=file), key="k1")
    upload = platform.uploads[name]
    assert (upload.name, upload.data) == ("plot.png", b"\x89PNG")
    assert (upload.channel, upload.thread_ts) == ("C1", "100.000001")


@pytest.mark.contract("E2")
@pytest.mark.parametrize("to", [DM, THREAD])
async def test_after_a_lost_answer_a_message_is_found_instead_of_sent_again(
    platform: FakeSlack, channel: SlackChannel, to: str
) -> None:
    for number in range(5):
        await channel.deliver(to, Piece(f"before {number}"), key=f"b{number}")
    platform.trouble["chat.postMessage"].append(Trouble("lost"))
    with pytest.raises(ChannelLost):
        await channel.deliver(to, Piece("once"), key="k1")
    await channel.edit(to, platform.sent()[-1].ts, Piece("another"))
    assert await channel.deliver(to, Piece("once"), key="k1") == platform.sent()[-1].ts
    assert len(platform.sent()) == 6


@pytest.mark.contract("E2")
async def test_a_later_process_finds_what_the_one_before_sent(platform: FakeSlack) -> None:
    for _ in range(2):
        channel = made(platform)
        async with running(channel, MemoryInlet()):
            await platform.until(lambda: platform.sockets)
            await channel.deliver(DM, Piece("once"), key="k1")
    assert [post.text for post in platform.sent()] == ["once"]


async def test_a_conversation_is_looked_at_once_and_a_new_thread_never(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    for number in range(3):
        await channel.deliver(DM, Piece("hello"), key=f"k{number}")
    young = f"slack:team:T1:channel:C1:thread:{int(platform.new_ts().split('.')[0]) + 5}.000001"
    await channel.deliver(young, Piece("hello"), key="k9")
    looked = [call for call in platform.calls if call.startswith("conversations.")]
    assert set(looked) == {"conversations.history"}
    assert len(looked) == 1


async def test_without_the_right_to_read_it_is_sent(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    platform.trouble["conversations.history"].append(Trouble("error", error="missing_scope"))
    await channel.deliver(DM, Piece("hello"), key="k1")
    assert len(platform.sent()) == 1


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (Trouble("status", 429, retry_after=7), ChannelBusy),
        (Trouble("status", 500), ChannelLost),
        (Trouble("error", error="internal_error"), ChannelLost),
        (Trouble("error", error="token_revoked"), ChannelRefused),
        (Trouble("error", error="is_archived"), Undeliverable),
        (Trouble("lost"), ChannelLost),
    ],
)
@pytest.mark.parametrize("method", METHODS)
async def test_errors_are_told_apart(
    platform: FakeSlack,
    channel: SlackChannel,
    method: str,
    trouble: Trouble,
    expected: type[ChannelError],
) -> None:
    platform.trouble[method].append(trouble)
    if method == "chat.update":
        platform.posts.append(Post(channel="D1", ts="1.1", text="before"))
    with pytest.raises(expected) as told:
        await call(channel, method)
    if isinstance(told.value, ChannelBusy):
        assert told.value.seconds == 7


async def test_before_it_is_connected_nothing_can_be_sent(platform: FakeSlack) -> None:
    with pytest.raises(ChannelLost):
        await made(platform).deliver(DM, Piece("hello"), key="k1")


async def test_that_it_writes_is_shown_in_threads_if_slack_allows(
    platform: FakeSlack, channel: SlackChannel
) -> None:
    await channel.typing(DM)
    await channel.typing(THREAD)
    assert [status["thread_ts"] for status in platform.statuses] == ["100.000001"]
    platform.trouble["assistant.threads.setStatus"].append(Trouble("error", error="missing_scope"))
    await channel.typing(THREAD)
    await channel.typing(THREAD)
    assert platform.calls.count("assistant.threads.setStatus") == 2


async def test_it_counts_what_slack_counts(channel: SlackChannel) -> None:
    assert channel.measure("a & b") == len("a &amp; b")
    assert channel.measure("👍") == 2
    assert channel.chat_of(THREAD) == "slack:team:T1:channel:C1"
    assert channel.chat_of(DM) == DM


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "token"),
        ({"token": "xoxb-1"}, "signing_secret"),
        ({"token": "wrong", "app_token": "xapp-1"}, "xoxb"),
        ({"token": "xoxb-1", "app_tokn": "xapp-1"}, "has no option app_tokn"),
    ],
)
def test_options_that_lack_something_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        slack("slack", {key: Key(value) for key, value in options.items()})


async def test_a_cancelled_send_is_looked_for(platform: FakeSlack, channel: SlackChannel) -> None:
    await channel.deliver(DM, Piece("before"), key="k0")
    platform.trouble["chat.postMessage"].append(Trouble("held"))
    sending = asyncio.create_task(channel.deliver(DM, Piece("once"), key="k1"))
    await platform.until(lambda: len(platform.sent()) == 2)
    sending.cancel()
    await asyncio.wait([sending])
    platform.release.set()
    await channel.deliver(DM, Piece("once"), key="k1")
    assert [post.text for post in platform.sent()] == ["before", "once"]
