"""Slack by its socket mode: what people do there arrives once, in order, kept before it is
acknowledged. The real library talks to a Slack on loopback."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Inbound
from roost.channels.slack import receiver
from roost.channels.slack.channel import SlackChannel, SlackOptions
from roost.core.errors import ChannelError, ChannelLost, ChannelRefused
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running
from tests.fakes.slack import APP_TOKEN, BOT, TOKEN, FakeSlack, Post, Trouble, fake_slack

OWN = f"<@{BOT}>"


@pytest.fixture
async def platform(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FakeSlack]:
    monkeypatch.setattr(receiver, "LOOK_SECONDS", 60.0)  # there is time on a busy machine too
    async with fake_slack() as slack:
        slack.users = {"U1": "ann", "U2": "bea"}
        yield slack


@pytest.fixture
def inlet() -> MemoryInlet:
    return MemoryInlet()


def by_socket(platform: FakeSlack) -> SlackChannel:
    return SlackChannel("slack", SlackOptions(token=TOKEN, app_token=APP_TOKEN, api=platform.api))


@pytest.fixture
async def connected(platform: FakeSlack, inlet: MemoryInlet) -> AsyncGenerator[SlackChannel]:
    channel = by_socket(platform)
    async with running(channel, inlet):
        await platform.until(lambda: platform.sockets)
        yield channel


async def heard(platform: FakeSlack, inlet: MemoryInlet) -> list[Inbound]:
    """All that was kept, once everything was acknowledged."""
    await platform.until(lambda: not platform.open)
    return inlet.all


@pytest.mark.usefixtures("connected")
async def test_a_direct_message_has_its_sender_by_name(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    ts = await platform.say("What is 1 &lt; 2 &amp; 3?")
    (inbound,) = await heard(platform, inlet)
    assert inbound.text == "What is 1 < 2 & 3?"
    assert (inbound.sender.id, inbound.sender.name) == ("U1", "ann")
    assert inbound.place.address == "slack:team:T1:dm:D1"
    assert inbound.place.group is None
    assert inbound.message == ts
    assert inbound.at // 1000 == int(ts.partition(".")[0])


@pytest.mark.usefixtures("connected")
async def test_library_does_not_hush_roost_itself(platform: FakeSlack, inlet: MemoryInlet) -> None:
    """It gives its own level to the logger that has the app's name."""
    await platform.say("Hello")
    await heard(platform, inlet)
    assert logging.getLogger("roost").level == logging.NOTSET
    assert logging.getLogger("roost.channels").level == logging.NOTSET


@pytest.mark.usefixtures("connected")
async def test_a_mention_that_slack_tells_of_twice_is_one_message(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    ts = await platform.say(f"{OWN} hello", channel="C1")
    said = {"type": "app_mention", "channel": "C1", "user": "U1", "text": f"{OWN} hello", "ts": ts}
    await platform.event(said)
    (inbound,) = await heard(platform, inlet)
    assert inbound.text == "hello"
    assert inbound.place.address == f"slack:team:T1:channel:C1:thread:{ts}"
    assert inbound.place.group == "slack:team:T1:channel:C1"
    assert inbound.place.mentioned


@pytest.mark.usefixtures("connected")
async def test_what_is_said_in_a_channel_without_naming_the_bot_is_marked_so(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    ts = await platform.say("lunch?", channel="C1")
    await platform.say("yes", channel="C1", user="U2", thread_ts=ts)
    await platform.say("and you?", channel="C1", thread_ts="9.1", parent_user_id=BOT)
    first, second, third = await heard(platform, inlet)
    assert not first.place.mentioned
    assert second.place.address == first.place.address
    assert second.reply_to == ts
    assert third.place.mentioned  # a reply to the bot


@pytest.mark.usefixtures("connected")
async def test_who_is_called_into_a_thread_is_told_what_it_is_about(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    ts = await platform.say("the build is &lt;red&gt;", channel="C1", heard=False)
    for user in ("U1", "U2"):
        await platform.say(f"{OWN} why?", channel="C1", user=user, thread_ts=ts)
    first, second = await heard(platform, inlet)
    assert (first.reply_to, first.reply_text) == (ts, "the build is <red>")
    assert (second.reply_to, second.reply_text) == (ts, "")  # it is part of the conversation now


@pytest.mark.usefixtures("connected")
async def test_bots_and_the_platform_itself_are_not_heard(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    await platform.say("mine", user=BOT)
    await platform.say("another bot", user="U9", bot_id="B9")
    await platform.say("joined", subtype="channel_join")
    await platform.event({"type": "reaction_added", "user": "U1", "item": {}})
    await platform.event({"type": "channel_rename", "channel": {"id": "C1"}})
    await platform.say("a person")
    assert [inbound.text for inbound in await heard(platform, inlet)] == ["a person"]


@pytest.mark.usefixtures("connected")
async def test_an_edit_names_the_message_but_a_preview_of_a_link_is_none(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    ts = await platform.say("helo")
    before = {"user": "U1", "text": "helo", "ts": ts}
    after = {**before, "text": "hello", "edited": {"user": "U1", "ts": "5.1"}}
    change = {"type": "message", "subtype": "message_changed", "channel": "D1"}
    await platform.event({**change, "message": after, "previous_message": before})
    await platform.event({**change, "message": after, "previous_message": after})
    await platform.event({**change, "message": before, "previous_message": before})
    first, edit = await heard(platform, inlet)
    assert not first.edited
    assert edit.edited
    assert (edit.message, edit.text) == (ts, "hello")


@pytest.mark.usefixtures("connected")
@pytest.mark.parametrize(
    ("command", "text", "meant"),
    [
        ("/new", "", "/new"),
        ("/model", "big one", "/model big one"),
        ("/roost", "stop", "/stop"),
        ("/roost", "", "/help"),
        ("/roost", " what is new?", "what is new?"),
    ],
)
async def test_a_slash_command_is_a_command(
    platform: FakeSlack, inlet: MemoryInlet, command: str, text: str, meant: str
) -> None:
    await platform.send("slash_commands", platform.command(command, text))
    (inbound,) = await heard(platform, inlet)
    assert inbound.text == meant
    assert inbound.sender.name == "ann"
    assert inbound.place.address == "slack:team:T1:dm:D1"


@pytest.mark.usefixtures("connected")
async def test_a_command_in_a_thread_begins_with_an_exclamation_mark(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    await platform.say(f"{OWN} !stop", channel="C1")
    await platform.say("!wow")
    assert [inbound.text for inbound in await heard(platform, inlet)] == ["/stop", "!wow"]


@pytest.mark.usefixtures("connected")
async def test_a_pressed_button_says_its_data_and_its_message(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    button = {"type": "button", "action_id": "press_0", "value": "yes:1"}
    blocks = [{"type": "actions", "elements": [button]}]
    await platform.press(
        Post(channel="C1", ts="7.5", text="May I?", thread_ts="7.1", blocks=blocks), user="U2"
    )
    (inbound,) = await heard(platform, inlet)
    assert (inbound.press, inbound.message) == ("yes:1", "7.5")
    assert (inbound.sender.id, inbound.sender.name) == ("U2", "bea")
    assert inbound.place.address == "slack:team:T1:channel:C1:thread:7.1"
    assert inbound.place.mentioned


async def test_a_file_is_fetched_by_what_the_message_kept(
    platform: FakeSlack, inlet: MemoryInlet, connected: SlackChannel
) -> None:
    picture = platform.keep_file("F1", b"picture", "image/png")
    voice = {**platform.keep_file("F2", b"voice", "audio/mp4"), "subtype": "slack_audio"}
    await platform.say("look", subtype="file_share", files=[picture, voice])
    (inbound,) = await heard(platform, inlet)
    assert [file.kind for file in inbound.files] == ["image", "voice"]
    assert await connected.fetch(inbound.files[0]) == b"picture"


async def test_the_token_is_not_sent_to_a_place_that_is_not_slacks(
    platform: FakeSlack, inlet: MemoryInlet, connected: SlackChannel
) -> None:
    kept = platform.keep_file("F1", b"picture", "image/png")
    kept["url_private_download"] = platform.address.replace("127.0.0.1", "localhost") + "/files/F1"
    await platform.say("look", files=[kept])
    (inbound,) = await heard(platform, inlet)
    with pytest.raises(ChannelError, match="elsewhere"):
        await connected.fetch(inbound.files[0])


@pytest.mark.contract("E1")
@pytest.mark.usefixtures("connected")
async def test_nothing_is_acknowledged_before_it_is_kept(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.let_in.clear()
    await platform.say("first")
    await platform.send("slash_commands", platform.command("/new"))
    # A bot's own message needs no keeping: once that is acknowledged, the others had their chance.
    mine = await platform.event({"type": "message", "channel": "D1", "user": BOT, "ts": "1.1"})
    await platform.until(lambda: mine in platform.acknowledged)
    assert len(platform.open) == 2
    inlet.let_in.set()
    assert [inbound.text for inbound in await heard(platform, inlet)] == ["first", "/new"]


@pytest.mark.contract("E1")
async def test_what_could_not_be_kept_comes_again(platform: FakeSlack, inlet: MemoryInlet) -> None:
    async with running(by_socket(platform), inlet):
        await platform.until(lambda: platform.sockets)
        inlet.refusals = 1
        await platform.say("keep me")
        async with inlet.changed:
            await inlet.changed.wait_for(lambda: not inlet.refusals)
        assert not platform.acknowledged
    async with running(by_socket(platform), inlet):
        (inbound,) = await heard(platform, inlet)
    assert inbound.text == "keep me"


@pytest.mark.contract("E1")
@pytest.mark.usefixtures("connected")
async def test_a_message_that_is_delivered_again_is_kept_once(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    said = {"type": "message", "channel": "D1", "user": "U1", "text": "once", "ts": "4.000200"}
    for _ in range(3):
        await platform.event(said)
    assert len(await heard(platform, inlet)) == 1
    assert len(platform.acknowledged) == 3


@pytest.mark.usefixtures("connected")
async def test_messages_are_kept_in_the_order_they_came(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    for number in range(60):
        await platform.say(str(number), user=f"U{number % 20}")
    found = await heard(platform, inlet)
    assert [inbound.text for inbound in found] == [str(number) for number in range(60)]


async def test_a_name_that_can_not_be_had_holds_nothing_up(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    platform.trouble["users.info"].append(Trouble("status", 500))
    async with running(by_socket(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("hello")
        (inbound,) = await heard(platform, inlet)
    assert inbound.sender.name == "U1"


async def test_a_connection_that_breaks_is_told(platform: FakeSlack, inlet: MemoryInlet) -> None:
    async with running(by_socket(platform), inlet) as task:
        await platform.until(lambda: platform.sockets)
        await platform.drop()
        with pytest.raises(ChannelLost):
            await asyncio.wait_for(task, 60)


async def test_a_connection_that_slack_wants_changed_is_changed(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    async with running(by_socket(platform), inlet) as task:
        await platform.until(lambda: platform.sockets)
        await platform.ask_to_change()
        await platform.until(lambda: platform.connections == 2)
        await platform.say("still there?")
        (inbound,) = await heard(platform, inlet)
        assert inbound.text == "still there?"
        assert not task.done()


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (Trouble("error", error="invalid_auth"), ChannelRefused),
        (Trouble("status", 503), ChannelLost),
        (Trouble("lost"), ChannelLost),
    ],
)
async def test_why_it_can_not_connect_is_told_apart(
    platform: FakeSlack,
    inlet: MemoryInlet,
    method: str,
    trouble: Trouble,
    expected: type[ChannelError],
) -> None:
    platform.trouble[method] += [trouble, trouble]
    channel = by_socket(platform)
    with pytest.raises(expected):
        await asyncio.wait_for(channel.run(inlet), 60)
    with pytest.raises(expected):
        await channel.check()
    assert not inlet.bots


async def test_its_tokens_can_be_tried_without_connecting(platform: FakeSlack) -> None:
    assert await by_socket(platform).check() == "roost"
    assert not platform.connections
