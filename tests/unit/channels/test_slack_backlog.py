"""What was said on Slack while Roost was away is read when it is back, once and in order."""

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Inbound
from roost.channels.slack.channel import SlackChannel, SlackOptions
from roost.core.errors import ChannelBusy
from tests.fakes.inlet import MemoryInlet
from tests.fakes.running import running
from tests.fakes.slack import APP_TOKEN, BOT, TOKEN, FakeSlack, Post, Trouble, fake_slack


@pytest.fixture
async def platform() -> AsyncGenerator[FakeSlack]:
    async with fake_slack() as slack:
        yield slack


@pytest.fixture
def inlet() -> MemoryInlet:
    return MemoryInlet()


def made(platform: FakeSlack) -> SlackChannel:
    return SlackChannel("slack", SlackOptions(token=TOKEN, app_token=APP_TOKEN, api=platform.api))


async def visit(platform: FakeSlack, inlet: MemoryInlet, *, kept: int) -> list[Inbound]:
    """Be there until so many messages are kept."""
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        return await inlet.until_kept(kept)


def texts(inlet: MemoryInlet, conversation: str) -> list[str]:
    return [inbound.text for inbound in inlet.all if inbound.id.startswith(conversation)]


async def test_what_nobody_heard_is_read_once_and_in_order(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    for number in range(7):
        await platform.say(str(number), heard=False)
        await platform.say(str(number), channel="C1", heard=False)
    await visit(platform, inlet, kept=14)
    assert texts(inlet, "D1") == texts(inlet, "C1") == [str(number) for number in range(7)]
    for _ in range(2):
        await platform.say("later", heard=False)
        await visit(platform, inlet, kept=len(inlet.all) + 1)
    assert texts(inlet, "D1")[7:] == ["later", "later"]


async def test_what_comes_while_it_catches_up_comes_after_what_was_missed(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    for channel in ("D1", "D2", "D3"):
        await platform.say("missed", channel=channel, heard=False)
    platform.limited = {"D1", "D2"}  # they have to wait: what is live does not
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("live", channel="D3")
        await inlet.until_kept(2)
        assert texts(inlet, "D3") == ["missed", "live"]
        platform.limited = set()
        await inlet.until_kept(4)


async def test_what_was_missed_is_looked_for_again_if_it_never_got_to_listen(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    await platform.say("missed", heard=False)
    platform.trouble["conversations.history"] += [Trouble("status", 502)]
    platform.trouble["apps.connections.open"].append(Trouble("status", 429, retry_after=1))
    channel = made(platform)
    with pytest.raises(ChannelBusy):
        await channel.run(inlet)
    async with running(channel, inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("live")
        await inlet.until_kept(2)
    assert texts(inlet, "D1") == ["missed", "live"]


async def test_how_far_it_was_read_moves_on_when_all_is_caught_up_on(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    """A Roost that is killed on the way has the rest to read, however long ago that was."""
    seen = f"{time.time() - 7200:.3f}"
    inlet.seen = {"seen": seen}
    for channel in ("D1", "D2"):
        await platform.say("missed", channel=channel, heard=False)
    platform.limited = {"D1", "D2"}
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("live", channel="D3")
        await inlet.until_kept(1)
        assert inlet.seen == {"seen": seen}
        platform.limited = set()
        await inlet.until_kept(3)
    assert float(inlet.seen["seen"]) > float(seen) + 7000


async def test_a_message_that_can_not_be_read_hides_no_other(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    await platform.say("one", heard=False)
    odd = Post(channel="D1", ts=platform.new_ts(), text="odd", user="U1")
    odd.metadata = {"event_type": 7}
    platform.posts.append(odd)
    await platform.say("two", heard=False)
    await visit(platform, inlet, kept=2)
    assert texts(inlet, "D1") == ["one", "two"]


async def test_threads_that_went_on_are_read_too(platform: FakeSlack, inlet: MemoryInlet) -> None:
    old = f"{int(time.time()) - 90_000}.000001"
    platform.posts.append(Post(channel="C1", ts=old, text="long ago", user="U1"))
    inlet.seen = {"seen": str(time.time())}
    await platform.say(f"<@{BOT}> and now?", channel="C1", thread_ts=old, heard=False)
    (inbound,) = await visit(platform, inlet, kept=1)
    assert inbound.text == "and now?"
    assert inbound.place.address == f"slack:team:T1:channel:C1:thread:{old}"


async def test_what_was_said_before_the_first_visit_is_not_read(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    await platform.say("before", heard=False)
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("hello", channel="D1")
        await platform.until(lambda: not platform.open)
    assert texts(inlet, "D1") == ["hello"]
    assert "users.conversations" not in platform.calls


async def test_after_a_long_time_only_the_last_day_is_read(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": "1000.0"}
    old = f"{int(time.time()) - 90_000}.000001"
    platform.posts.append(Post(channel="D1", ts=old, text="old", user="U1"))
    await platform.say("new", heard=False)
    await visit(platform, inlet, kept=1)
    assert texts(inlet, "D1") == ["new"]


async def test_a_short_break_is_left_to_slack(platform: FakeSlack, inlet: MemoryInlet) -> None:
    inlet.seen = {"seen": str(time.time())}
    channel = made(platform)
    for _ in range(2):
        inlet.up.clear()
        async with running(channel, inlet):
            await asyncio.wait_for(inlet.up.wait(), 60)  # one that never listened looks again
            await platform.drop()
    assert platform.calls.count("users.conversations") == 4  # one for each kind


async def test_what_the_bot_may_not_read_keeps_nothing_up(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    await platform.say("missed", heard=False)
    platform.trouble["conversations.history"].append(Trouble("error", error="missing_scope"))
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.say("live")
        await platform.until(lambda: not platform.open)
    assert texts(inlet, "D1") == ["live"]


async def test_while_slack_is_out_of_order_what_was_missed_waits(
    platform: FakeSlack, inlet: MemoryInlet
) -> None:
    inlet.seen = {"seen": str(time.time())}
    await platform.say("missed", heard=False)
    platform.trouble["conversations.history"].append(Trouble("status", 500))
    async with running(made(platform), inlet):
        await platform.until(lambda: platform.sockets)
        await platform.until(lambda: "conversations.history" in platform.calls)
        await platform.say("live")
        await asyncio.wait_for(inlet.until_kept(2), 60)
    assert texts(inlet, "D1") == ["missed", "live"]
