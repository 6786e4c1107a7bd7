"""A whole Roost on Discord: the real library, a Discord on loopback, the real store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.channels.base import COMMANDS
from roost.core.clock import SystemClock
from roost.core.messages import ImagePart
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import Tool
from tests.contract.command_answers import ANSWERS
from tests.engine import ECHO, Engine
from tests.fakes.discord import FakeDiscord, Json, Trouble, Upload
from tests.fakes.discord_server import led_to, served
from tests.platforms import WORK, answered, connected, first, said, turns_on

ANN = "42"


@pytest.fixture
async def fake() -> AsyncGenerator[FakeDiscord]:
    async with served() as fake:
        fake.person("ann", id=ANN)
        yield fake


@pytest.fixture
def dm(fake: FakeDiscord) -> str:
    return fake.dm(ANN)


@asynccontextmanager
async def roost(
    folder: Path, server: ModelServer, fake: FakeDiscord, *tools: Tool
) -> AsyncGenerator[Engine]:
    engine = Engine(folder, server, clock=SystemClock(), tools=tools or (ECHO,))
    with led_to(fake.url):
        async with connected(engine, "discord", {"token": fake.token}, allow=ANN):
            await fake.until(lambda: fake.gateway.connected)
            yield engine


async def posted(fake: FakeDiscord, words: str) -> Json:
    return await first(fake, lambda: [each for each in fake.said() if words in each["content"]])


def home(dm: str) -> str:
    return f"discord:dm:{dm}"


@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_what_is_said_while_away_is_answered_once(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    async with roost(folder, server, fake) as engine:
        await fake.say(ANN, dm, "one")
        await answered(engine, home(dm))
    await fake.say(ANN, dm, "two")
    async with roost(folder, server, fake) as engine:
        await answered(engine, home(dm), 2)
        await fake.gateway.drop()
        await fake.say(ANN, dm, "three")
        await answered(engine, home(dm), 3)
        assert await said(engine, home(dm)) == ["one", "two", "three"]
    assert fake.texts(dm) == ["Good day."] * 3


@pytest.mark.contract("E2")
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble(cut=True, done=True, path="/messages"),
        Trouble(502, done=True, path="/messages"),
        Trouble(429, retry_after=0.2, path="/messages"),
    ],
    ids=["cut", "502", "429"],
)
async def test_answer_arrives_once_in_spite_of_trouble(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str, trouble: Trouble
) -> None:
    async with roost(folder, server, fake) as engine:
        fake.trouble.append(trouble)
        await fake.say(ANN, dm, "Hello")
        await answered(engine, home(dm))
    assert fake.texts(dm) == ["Good day."]
    assert not fake.trouble


@pytest.mark.contract("E3")
async def test_unknown_sender_gets_a_code_and_nothing_else(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    eve = fake.person("eve")
    eves = fake.dm(eve)
    async with roost(folder, server, fake):
        await fake.say(eve, eves, "Tell me a secret")
        await posted(fake, "pairing code")
        await fake.say(ANN, dm, "Hello")
        await posted(fake, "Good day.")
    assert len(fake.texts(eves)) == 1


@pytest.mark.contract("E5")
async def test_approval_is_given_by_a_button(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    server.plan(call("work", {}), say("It is done."), model="model")
    async with roost(folder, server, fake, WORK):
        await fake.say(ANN, dm, "Do it")
        asked = await posted(fake, "Sure?")
        pressed = await fake.press(ANN, asked["id"], "Approve")
        await posted(fake, "It is done.")
        await fake.until(lambda: pressed in fake.interactions)
    assert "Approved." in asked["content"]
    assert asked["components"] == []


async def test_slash_command_is_answered_where_it_was_chosen(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    async with roost(folder, server, fake):
        await fake.choose(ANN, dm, "help")
        answer = await posted(fake, "/new")
    assert answer["channel_id"] == dm


async def test_thread_is_a_conversation_of_its_own(
    folder: Path, server: ModelServer, fake: FakeDiscord
) -> None:
    guild = fake.guild()
    general = fake.text_channel(guild)
    async with roost(folder, server, fake) as engine:
        thread = await fake.thread(general)
        await fake.say(ANN, thread, "Just talking")
        await fake.say(ANN, thread, "<@900> hello")
        answer = await posted(fake, "Good day.")
        assert await engine.account.current(f"discord:guild:{guild}:thread:{thread}") is not None
        assert await engine.account.current(f"discord:guild:{guild}:channel:{general}") is None
    assert answer["channel_id"] == thread


async def test_pictures_come_in_and_a_voice_note_gets_a_note(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    picture = Upload("cat.png", "image/png", b"\x89PNG\r\n\x1a\n and so on")
    voice = Upload("voice-message.ogg", "audio/ogg", b"sound", voice=True)
    async with roost(folder, server, fake) as engine:
        await fake.say(ANN, dm, "Look", files=[picture])
        await posted(fake, "Good day.")
        (turn,) = await turns_on(engine, home(dm))
        await fake.say(ANN, dm, "", files=[voice])
        await posted(fake, "can't hear voice notes")
    assert any(isinstance(part, ImagePart) for part in turn.parts)


@pytest.mark.contract("E2")
async def test_long_answer_comes_in_order_and_whole(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    lines = [f"{number}. **bold {number}** & `code <{number}>`" for number in range(1, 150)]
    server.plan(say("\n".join(lines)), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say(ANN, dm, "Tell me all")
        await answered(engine, home(dm))
    assert "\n".join(fake.texts(dm)).split("\n") == lines


async def test_edit_of_the_last_message_is_answered_anew(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    server.plan(say("Of owls."), say("Of herons."), model="model")
    async with roost(folder, server, fake):
        message = await fake.say(ANN, dm, "Tell me of owls")
        await posted(fake, "Of owls.")
        await fake.change(message, "Tell me of herons")
        await posted(fake, "Of herons.")


async def test_every_slash_command_is_understood(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    server.plan(say("Good day."), say("Good day, again."), model="model")
    server.plan(say("Good day, again."), model="other")
    arguments = {command.name: command.argument for command in COMMANDS}
    async with roost(folder, server, fake) as engine:
        await fake.say(ANN, dm, "Hello")
        await answered(engine, home(dm))
        for name, argument, said_to_it in ANSWERS:
            count = len(fake.said())
            given = {arguments[name]: argument} if argument else {}
            await fake.choose(ANN, dm, name, **given)
            await fake.until(lambda: len(fake.said()) > count)  # noqa: B023
            await posted(fake, said_to_it)


async def test_what_grows_is_shown_and_replaced_by_the_answer(
    folder: Path, server: ModelServer, fake: FakeDiscord, dm: str
) -> None:
    grows = say("A __long__ answer, word by word, ") + stall() + say("until it ends.")
    server.plan(grows, model="model")
    async with roost(folder, server, fake):
        await fake.say(ANN, dm, "Hello")
        await posted(fake, "word by word,")
        server.release()
        await posted(fake, "until it ends.")
    (shown,) = fake.said()
    assert shown["content"] == "A **long** answer, word by word, until it ends."
    assert shown["edited_timestamp"] is not None
    assert fake.typed[0] == dm
