"""What is sent to Discord: once, whole, and with Discord's own words for what went wrong."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Attachment, Button, InboundFile, Piece
from roost.channels.discord.channel import DiscordChannel, discord_channel
from roost.core.errors import ChannelBusy, ChannelLost, ChannelRefused, Undeliverable
from roost.core.keys import Key
from tests.fakes.discord import FakeDiscord, Trouble
from tests.fakes.discord_bot import running
from tests.fakes.discord_server import served
from tests.fakes.inlet import MemoryInlet

NO_PREVIEWS = 1 << 2


@pytest.fixture
async def fake() -> AsyncGenerator[FakeDiscord]:
    async with served() as fake:
        yield fake


@pytest.fixture
async def channel(fake: FakeDiscord) -> AsyncGenerator[DiscordChannel]:
    async with running(fake, MemoryInlet()) as channel:
        yield channel


@pytest.fixture
def dm(fake: FakeDiscord) -> str:
    return fake.dm(fake.person("ann"))


@pytest.fixture
def to(dm: str) -> str:
    return f"discord:dm:{dm}"


async def test_message_is_sent_as_markup_without_previews_or_mentions(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    sent = await channel.deliver(to, Piece("__hello__ @everyone"), key="one")
    assert fake.texts(dm) == ["**hello** @\u200beveryone"]
    asked = fake.find(sent)["asked"]
    assert asked["allowed_mentions"] == {"parse": []}
    assert asked["flags"] == NO_PREVIEWS


async def test_message_with_a_known_key_is_not_shown_again(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    fake.trouble.append(Trouble(503, done=True, path="/messages"))
    with pytest.raises(ChannelLost):
        await channel.deliver(to, Piece("once"), key="outbox-entry-1:0")
    fake.trouble.append(Trouble(cut=True, done=True, path="/messages"))
    with pytest.raises(ChannelLost):
        await channel.deliver(to, Piece("once"), key="outbox-entry-1:0")
    sent = await channel.deliver(to, Piece("once"), key="outbox-entry-1:0")
    await channel.deliver(to, Piece("once"), key="outbox-entry-1:1")
    assert fake.texts(dm) == ["once", "once"]
    assert fake.messages[dm][0]["id"] == sent


async def test_rate_limit_is_passed_on_at_once(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    fake.trouble.append(Trouble(429, retry_after=17.5, path="/messages"))
    with pytest.raises(ChannelBusy) as busy:
        await channel.deliver(to, Piece("hello"), key="one")
    assert busy.value.seconds == 17.5
    await channel.deliver(to, Piece("hello"), key="one")
    assert fake.texts(dm) == ["hello"]


async def test_bucket_that_is_used_up_is_waited_for_by_the_library(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    fake.rate = (2, 0.3)
    for number in range(5):
        await channel.deliver(to, Piece(f"{number}"), key=f"{number}")
    assert fake.texts(dm) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_trouble_of_discords_is_a_loss(
    fake: FakeDiscord, channel: DiscordChannel, to: str, status: int
) -> None:
    fake.trouble.append(Trouble(status, path="/messages"))
    async with asyncio.timeout(60):
        with pytest.raises(ChannelLost):
            await channel.deliver(to, Piece("hello"), key="one")


async def test_chat_that_is_gone_or_closed_takes_nothing_ever(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    with pytest.raises(Undeliverable, match="Unknown Channel"):
        await channel.deliver("discord:dm:1", Piece("hello"), key="one")
    fake.channels[dm]["forbidden"] = True
    with pytest.raises(Undeliverable, match="Missing Access"):
        await channel.deliver(to, Piece("hello"), key="one")


async def test_message_that_is_too_long_is_refused(channel: DiscordChannel, to: str) -> None:
    assert channel.measure("x" * 2001) > channel.limits.text
    with pytest.raises(Undeliverable):
        await channel.deliver(to, Piece("x" * 2001), key="one")


async def test_token_that_was_taken_back_is_told(
    fake: FakeDiscord, channel: DiscordChannel, to: str
) -> None:
    fake.token = fake.token[::-1]
    with pytest.raises(ChannelRefused):
        await channel.deliver(to, Piece("hello"), key="one")


async def test_nothing_is_sent_before_it_is_connected(to: str) -> None:
    channel = discord_channel("discord", {"token": Key("some-token")})
    with pytest.raises(ChannelLost):
        await channel.deliver(to, Piece("hello"), key="one")


async def test_answer_names_what_it_replies_to_and_goes_without(
    fake: FakeDiscord, channel: DiscordChannel, to: str
) -> None:
    sent = await channel.deliver(to, Piece("yes", reply_to="123"), key="one")
    asked = fake.find(sent)["asked"]["message_reference"]
    assert (asked["message_id"], asked["fail_if_not_exists"]) == (123, False)


async def test_buttons_are_shown_in_rows_and_go_with_an_edit(
    fake: FakeDiscord, channel: DiscordChannel, to: str
) -> None:
    buttons = tuple(Button("long " * 30 if n == 0 else f"{n}", f"data-{n}") for n in range(6))
    sent = await channel.deliver(to, Piece("Which?", buttons=buttons), key="one")
    rows = fake.find(sent)["components"]
    assert [len(row["components"]) for row in rows] == [5, 1]
    assert len(rows[0]["components"][0]["label"]) == 80
    assert rows[1]["components"][0]["custom_id"] == "data-5"
    await channel.edit(to, sent, Piece("It was __3__."))
    assert fake.find(sent)["content"] == "It was **3**."
    assert fake.find(sent)["components"] == []


async def test_edit_of_a_message_that_is_gone_is_told(
    fake: FakeDiscord, channel: DiscordChannel, to: str
) -> None:
    with pytest.raises(Undeliverable, match="Unknown Message"):
        await channel.edit(to, "123", Piece("hello"))


async def test_file_is_sent_once(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    piece = Piece(file=Attachment("chart.png", "image/png", b"picture"))
    sent = await channel.deliver(to, piece, key="one")
    assert await channel.deliver(to, piece, key="one") == sent
    assert [each["filename"] for each in fake.find(sent)["attachments"]] == ["chart.png"]
    assert fake.files["sent:chart.png"] == b"picture"
    assert len(fake.messages[dm]) == 1


async def test_file_that_is_gone_is_told(
    fake: FakeDiscord, channel: DiscordChannel, dm: str
) -> None:
    message = await fake.say(next(iter(fake.users)), dm, "no file")
    file = InboundFile(f"{dm}/{message}/1", "cat.png", "image/png")
    with pytest.raises(Undeliverable, match=r"cat\.png"):
        await channel.fetch(file)


async def test_typing_is_shown(
    fake: FakeDiscord, channel: DiscordChannel, dm: str, to: str
) -> None:
    await channel.typing(to)
    assert fake.typed == [dm]


def test_text_is_measured_as_it_is_sent() -> None:
    channel = discord_channel("discord", {"token": Key("some-token")})
    assert channel.measure("a || b") == len(r"a \|\| b")
    assert channel.measure("🦉") == 2


def test_threads_have_rates_of_their_own() -> None:
    channel = discord_channel("discord", {"token": Key("some-token")})
    assert channel.chat_of("discord:guild:1:thread:3") == "discord:guild:1:thread:3"
