"""What is said on Discord is kept once and in order, whatever becomes of the connection."""

import asyncio
import random
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import COMMANDS, Button, Piece
from roost.channels.discord.channel import discord_channel
from roost.core.errors import ChannelLost, ChannelRefused, ConfigError
from roost.core.inbound import Place, Sender
from roost.core.keys import Key
from tests.fakes.discord import FakeDiscord, Trouble, Upload
from tests.fakes.discord_bot import restarted, running
from tests.fakes.discord_server import led_to, served
from tests.fakes.inlet import MemoryInlet

DEFERRED_UPDATE = 6
EPHEMERAL = 1 << 6
STEPS = ["say", "say", "say", "connect", "settle", "drop", "lose", "refuse", "restart"]


@pytest.fixture
async def fake() -> AsyncGenerator[FakeDiscord]:
    async with served() as fake:
        yield fake


@pytest.fixture
def inlet() -> MemoryInlet:
    return MemoryInlet()


async def test_direct_message_is_kept_with_sender_and_place(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        message = await fake.say(ann, dm, "hello")
        (kept,) = await inlet.until_kept(1)
    assert (kept.id, kept.message, kept.text) == (message, message, "hello")
    assert kept.sender == Sender(ann, "ann")
    assert kept.place == Place(f"discord:dm:{dm}")
    assert inlet.seen[f"dm:{dm}"] == message
    assert inlet.bots == ["roostbot"]


async def test_mention_in_a_guild_is_told_from_talk(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann, guild = fake.person("ann"), fake.guild("Home")
    general = fake.text_channel(guild, "general")
    async with running(fake, inlet):
        await fake.say(ann, general, "just talking")
        await fake.say(ann, general, f"<@900> what does <@{ann}> want?")
        talk, asked = await inlet.until_kept(2)
    address = f"discord:guild:{guild}:channel:{general}"
    assert talk.place == Place(address, f"discord:guild:{guild}", False, "Home #general")
    assert asked.place == Place(address, f"discord:guild:{guild}", True, "Home #general")
    assert asked.text == "what does @ann want?"


async def test_thread_is_a_place_of_its_own(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann, guild = fake.person("ann"), fake.guild()
    general = fake.text_channel(guild)
    async with running(fake, inlet):
        thread = await fake.thread(general)
        await fake.say(ann, thread, "<@900> over here")
        (kept,) = await inlet.until_kept(1)
    assert kept.place.address == f"discord:guild:{guild}:thread:{thread}"
    assert kept.place.group == f"discord:guild:{guild}"


async def test_what_is_said_while_away_is_kept_once_and_in_order(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann, guild = fake.person("ann"), fake.guild()
    dm, general = fake.dm(ann), fake.text_channel(guild)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await fake.say(ann, general, "<@900> first")
        await inlet.until_kept(2)
    for number in range(250):
        await fake.say(ann, dm, f"missed {number}")
    await fake.say(ann, general, "<@900> second")
    async with running(fake, inlet):
        await fake.say(ann, dm, "two")
        await inlet.until_kept(254)
    missed = [f"missed {number}" for number in range(250)]
    here = [each.text for each in inlet.all if each.place.address == f"discord:dm:{dm}"]
    assert here == ["one", *missed, "two"]
    assert [each.text for each in inlet.all if each.place.group] == ["first", "second"]


async def test_thread_made_while_away_is_read_from_its_beginning(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann, guild = fake.person("ann"), fake.guild()
    general = fake.text_channel(guild)
    await fake.say(ann, general, "before the bot was there")
    async with running(fake, inlet):
        await fake.say(ann, general, "<@900> hello")
        await inlet.until_kept(1)
    thread = await fake.thread(general)
    await fake.say(ann, thread, "<@900> are you there?")
    async with running(fake, inlet):
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["hello", "are you there?"]
    assert kept[1].place.address == f"discord:guild:{guild}:thread:{thread}"


async def test_lost_socket_is_resumed_and_nothing_is_missing(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await inlet.until_kept(1)
        await fake.gateway.drop()
        await fake.say(ann, dm, "two")
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["one", "two"]
    assert (fake.gateway.identified, fake.gateway.resumed) == (1, 1)
    assert len(inlet.losses) == 1


async def test_history_fills_what_a_resumed_session_lost(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await inlet.until_kept(1)
        fake.gateway.loses = True
        await fake.gateway.drop()
        await fake.say(ann, dm, "two")
        fake.gateway.loses = False
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["one", "two"]


async def test_session_that_is_forgotten_is_begun_again(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await inlet.until_kept(1)
        await fake.gateway.drop(forget=True)
        await fake.say(ann, dm, "two")
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["one", "two"]
    assert fake.gateway.identified == 2


async def test_discord_may_ask_to_reconnect(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.gateway.ask_to_reconnect()
        await fake.until(lambda: fake.gateway.resumed == 1)
        await fake.say(ann, dm, "hello")
        await inlet.until_kept(1)


async def test_message_that_could_not_be_stored_is_read_again(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await inlet.until_kept(1)
    inlet.refusals = 1
    await fake.say(ann, dm, "two")
    channel = discord_channel("discord", {"token": Key(fake.token)})
    with led_to(fake.url), pytest.raises(ChannelLost):
        await channel.run(inlet)
    async with running(fake, inlet):
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["one", "two"]


async def test_history_waits_for_a_rate_limit(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "one")
        await inlet.until_kept(1)
    await fake.say(ann, dm, "two")
    fake.trouble.append(Trouble(429, retry_after=0.05, path="/messages"))
    async with running(fake, inlet):
        kept = await inlet.until_kept(2)
    assert [each.text for each in kept] == ["one", "two"]


async def test_whatever_goes_wrong_each_message_is_kept_once_and_in_order(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    chance = random.Random(7)  # noqa: S311 (reproducible, not secret)
    ann, general = fake.person("ann"), fake.text_channel(fake.guild())
    chats = [dm := fake.dm(ann), general, await fake.thread(general)]
    said: dict[str, list[str]] = {chat: [] for chat in chats}

    async def say(chat: str) -> None:
        said[chat].append(await fake.say(ann, chat, "<@900> hello"))

    async with restarted(fake, inlet) as restart:
        for chat in chats:
            await say(chat)
        await inlet.until_kept(len(chats))
        for step in [*chance.choices(STEPS, k=80), "settle"]:
            match step:
                case "settle":
                    inlet.refusals = 0
                    await inlet.until_kept(sum(map(len, said.values())))
                case "connect":
                    await fake.until(lambda: fake.gateway.connected)
                case "drop":
                    await fake.gateway.drop()
                case "lose":
                    fake.gateway.loses = True
                    await fake.gateway.drop()
                    await say(dm)
                    fake.gateway.loses = False
                case "refuse":
                    inlet.refusals += 1
                    await say(chance.choice(chats))
                case "restart":
                    await restart()
                case _:
                    await say(chance.choice(chats))
    for chat, messages in said.items():
        assert [each.id for each in inlet.all if each.place.address.endswith(chat)] == messages


async def test_chat_that_is_closed_to_the_bot_does_not_stop_the_others(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann, bob = fake.person("ann"), fake.person("bob")
    first, second = fake.dm(ann), fake.dm(bob)
    async with running(fake, inlet):
        await fake.say(ann, first, "one")
        await fake.say(bob, second, "one")
        await inlet.until_kept(2)
    fake.channels[first]["forbidden"] = True
    await fake.say(bob, second, "two")
    async with running(fake, inlet):
        kept = await inlet.until_kept(3)
    assert kept[2].text == "two"


async def test_edit_names_the_message_it_changes(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        message = await fake.say(ann, dm, "helo")
        await fake.preview(message)
        await fake.change(message, "hello")
        said, edit = await inlet.until_kept(2)
    assert (edit.message, edit.text, edit.edited) == (said.message, "hello", True)


async def test_what_is_forwarded_is_no_command(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet):
        await fake.say(ann, dm, "", forwarded=["/approve K7QF-2MXA"])
        (kept,) = await inlet.until_kept(1)
    assert kept.text == "(forwarded)\n/approve K7QF-2MXA"


async def test_reply_says_to_what(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann, guild = fake.person("ann"), fake.guild()
    general = fake.text_channel(guild)
    async with running(fake, inlet) as channel:
        address = f"discord:guild:{guild}:channel:{general}"
        answer = await channel.deliver(address, Piece("It is blue."), key="k")
        await fake.say(ann, general, "why?", reply_to=answer)
        (kept,) = await inlet.until_kept(1)
    assert (kept.reply_to, kept.reply_text) == (answer, "It is blue.")
    assert kept.place.mentioned


async def test_files_come_by_name_and_are_fetched_later(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    sent = [
        Upload("cat.png", "image/png", b"picture"),
        Upload("notes.txt", "text/plain; charset=utf-8", b"words"),
        Upload("voice-message.ogg", "audio/ogg", b"sound", voice=True),
    ]
    async with running(fake, inlet) as channel:
        await fake.say(ann, dm, "", files=sent)
        (kept,) = await inlet.until_kept(1)
        assert [(each.name, each.media_type, each.kind, each.size) for each in kept.files] == [
            ("cat.png", "image/png", "image", 7),
            ("notes.txt", "text/plain", "file", 5),
            ("voice-message.ogg", "audio/ogg", "voice", 5),
        ]
        assert [await channel.fetch(each) for each in kept.files] == [
            b"picture",
            b"words",
            b"sound",
        ]


async def test_bots_are_not_heard(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    robot = fake.person("robot")
    fake.users[robot]["bot"] = True
    async with running(fake, inlet):
        await fake.say(robot, dm, "beep")
        await fake.say(ann, dm, "hello")
        (kept,) = await inlet.until_kept(1)
    assert kept.text == "hello"


async def test_press_is_kept_before_it_is_acknowledged(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    ann = fake.person("ann")
    dm = fake.dm(ann)
    async with running(fake, inlet) as channel:
        buttons = (Button("Yes", "a:1:yes"), Button("No", "a:1:no"))
        asked = await channel.deliver(f"discord:dm:{dm}", Piece("May I?", buttons=buttons), key="k")
        inlet.let_in.clear()
        pressed = await fake.press(ann, asked, "No")
        await fake.say(ann, dm, "meanwhile")
        assert pressed not in fake.interactions
        inlet.let_in.set()
        await fake.until(lambda: pressed in fake.interactions)
        (press,) = [each for each in await inlet.until_kept(2) if each.press]
    assert (press.press, press.message, press.sender.id) == ("a:1:no", asked, ann)
    assert press.place.address == f"discord:dm:{dm}"
    assert fake.interactions[pressed]["type"] == DEFERRED_UPDATE


async def test_commands_are_offered_and_come_as_text(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    ann, guild = fake.person("ann"), fake.guild()
    general = fake.text_channel(guild)
    async with running(fake, inlet):
        assert [each["name"] for each in fake.commands] == [each.name for each in COMMANDS]
        chosen = await fake.choose(ann, general, "resume", number="2")
        (kept,) = await inlet.until_kept(1)
        await fake.until(lambda: chosen in fake.interactions)
    assert (kept.text, kept.press) == ("/resume 2", None)
    assert kept.place.address == f"discord:guild:{guild}:channel:{general}"
    assert kept.place.mentioned
    assert fake.interactions[chosen]["data"]["flags"] == EPHEMERAL


async def test_without_the_right_to_read_all_mentions_are_still_read(
    fake: FakeDiscord, inlet: MemoryInlet
) -> None:
    fake.all_messages = False
    ann, guild = fake.person("ann"), fake.guild()
    general = fake.text_channel(guild)
    async with running(fake, inlet):
        await fake.say(ann, general, "private talk")
        await fake.say(ann, general, "<@900> hello")
        (kept,) = await inlet.until_kept(1)
    assert kept.text == "hello"


async def test_token_that_is_not_taken_is_refused(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    good, fake.token = fake.token, fake.token[::-1]
    channel = discord_channel("discord", {"token": Key(good)})
    with led_to(fake.url):
        with pytest.raises(ChannelRefused):
            await channel.run(inlet)
        with pytest.raises(ChannelRefused):
            await channel.check()


async def test_token_is_checked_without_connecting(fake: FakeDiscord) -> None:
    channel = discord_channel("discord", {"token": Key(fake.token)})
    with led_to(fake.url):
        assert await channel.check() == "roostbot"
    assert fake.gateway.identified == 0


async def test_gateway_that_is_closed_ends_the_run(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    fake.gateway.open = False
    channel = discord_channel("discord", {"token": Key(fake.token)})
    with led_to(fake.url), pytest.raises(ChannelLost):
        await channel.run(inlet)


async def test_dead_line_does_not_hold_up_the_end(fake: FakeDiscord, inlet: MemoryInlet) -> None:
    async with asyncio.timeout(60), running(fake, inlet):
        fake.gateway.hang()


async def test_discord_out_of_reach_ends_the_run(inlet: MemoryInlet) -> None:
    channel = discord_channel("discord", {"token": Key("some-token")})
    with led_to("http://127.0.0.1:9"), pytest.raises(ChannelLost):
        await channel.run(inlet)


@pytest.mark.parametrize(
    ("options", "said"), [((), "needs the token"), (("token", "tokn"), "has no option tokn")]
)
def test_options_that_can_not_be_used_are_named(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        discord_channel("discord", dict.fromkeys(options, Key("x")))
