"""A whole Roost on Slack: the real library, a Slack on loopback, the real store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.messages import ImagePart
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import Tool
from tests.contract.command_answers import ANSWERS
from tests.engine import ECHO, Engine
from tests.fakes.slack import APP_TOKEN, BOT, TOKEN, FakeSlack, Post, Trouble, fake_slack
from tests.platforms import WORK, answered, connected, first, said, turns_on

HOME = "slack:team:T1:dm:D1"
OWN = f"<@{BOT}>"


@pytest.fixture
async def fake() -> AsyncGenerator[FakeSlack]:
    async with fake_slack() as slack:
        slack.users = {"U1": "ann", "U2": "eve"}
        yield slack


@asynccontextmanager
async def roost(
    folder: Path, server: ModelServer, fake: FakeSlack, *tools: Tool
) -> AsyncGenerator[Engine]:
    engine = Engine(folder, server, clock=SystemClock(), tools=tools or (ECHO,))
    options = {"token": TOKEN, "app_token": APP_TOKEN, "api": fake.api}
    before = fake.connections
    async with connected(engine, "slack", options, allow="U1"):
        await fake.until(lambda: fake.connections > before)
        yield engine


async def posted(fake: FakeSlack, words: str) -> Post:
    return await first(fake, lambda: [post for post in fake.sent() if words in post.text])


@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_message_is_answered_once_over_redelivery_and_a_restart(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    async with roost(folder, server, fake) as engine:
        ts = await fake.say("Hello")
        await answered(engine, HOME)
    said_once = {"type": "message", "channel": "D1", "user": "U1", "text": "Hello", "ts": ts}
    await fake.event(said_once)
    async with roost(folder, server, fake) as engine:
        await fake.say("Again")
        await answered(engine, HOME, 2)
        assert await said(engine, HOME) == ["Hello", "Again"]

    assert [post.text for post in fake.sent()] == ["Good day.", "Good day."]
    assert not fake.open


@pytest.mark.contract("E1")
async def test_what_was_said_while_the_connection_was_broken_is_answered(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    async with roost(folder, server, fake) as engine:
        await fake.say("One")
        await answered(engine, HOME)
        await fake.drop()
        await fake.say("Two")
        await answered(engine, HOME, 2)

        assert await said(engine, HOME) == ["One", "Two"]


@pytest.mark.contract("E2")
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble("lost"),
        Trouble("status", 502),
        Trouble("status", 429, retry_after=1),
        Trouble("error", error="internal_error"),
    ],
    ids=["lost", "502", "429", "internal"],
)
async def test_answer_arrives_once_in_spite_of_trouble(
    folder: Path, server: ModelServer, fake: FakeSlack, trouble: Trouble
) -> None:
    fake.trouble["chat.postMessage"].append(trouble)
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        await answered(engine, HOME)

    assert [post.text for post in fake.sent()] == ["Good day."]
    assert not fake.trouble["chat.postMessage"]


@pytest.mark.contract("E3")
async def test_unknown_sender_gets_a_code_and_nothing_else(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    async with roost(folder, server, fake):
        await fake.say("Tell me a secret", user="U2", channel="D2")
        await posted(fake, "pairing code")
        await fake.say("Hello")
        await posted(fake, "Good day.")

    assert [post.channel for post in fake.sent()] == ["D2", "D1"]


@pytest.mark.contract("E5")
async def test_approval_is_given_by_a_button(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    server.plan(call("work", {}), say("It is done."), model="model")
    async with roost(folder, server, fake, WORK):
        await fake.say("Do it")
        asked = await posted(fake, "Sure?")
        await fake.press(asked)
        await posted(fake, "It is done.")
        await posted(fake, "Approved.")

    assert asked.blocks == []


async def test_slash_command_is_answered_where_it_was_given(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    async with roost(folder, server, fake):
        await fake.send("slash_commands", fake.command("/help"))
        answer = await posted(fake, "/new")

    assert (answer.channel, answer.thread_ts) == ("D1", None)


async def test_thread_of_a_channel_is_a_conversation_of_its_own(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    async with roost(folder, server, fake) as engine:
        await fake.say("Just talking", channel="C1")
        ts = await fake.say(f"{OWN} hello", channel="C1")
        answer = await posted(fake, "Good day.")

        route = f"slack:team:T1:channel:C1:thread:{ts}"
        assert (answer.channel, answer.thread_ts) == ("C1", ts)
        assert await said(engine, route) == ["ann: hello"]


async def test_thread_of_a_direct_message_is_a_conversation_of_its_own(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    """It is answered there, and knows what it is about."""
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        first = await posted(fake, "Good day.")
        server.plan(say("Apart."), model="model")
        await fake.say("About that", thread_ts=first.ts)
        answer = await posted(fake, "Apart.")

        assert answer.thread_ts == first.ts
        assert await said(engine, HOME) == ["Hello"]
        assert await said(engine, f"{HOME}:thread:{first.ts}") == ["About that"]
    asked = [request for request in server.requests if request.model == "model"]
    assert b"Good day." in asked[-1].body


async def test_pictures_come_in_and_a_voice_note_gets_a_note(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    picture = fake.keep_file("F1", b"\x89PNG\r\n\x1a\n and so on", "image/png")
    voice = {**fake.keep_file("F2", b"sound", "audio/mp4"), "subtype": "slack_audio"}
    async with roost(folder, server, fake) as engine:
        await fake.say("Look", subtype="file_share", files=[picture])
        await posted(fake, "Good day.")
        (turn,) = await turns_on(engine, HOME)
        await fake.say("", subtype="file_share", files=[voice])
        await posted(fake, "can't hear voice notes")

    assert any(isinstance(part, ImagePart) for part in turn.parts)


async def test_edit_of_the_last_message_is_answered_anew(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    server.plan(say("Of owls."), say("Of herons."), model="model")
    async with roost(folder, server, fake) as engine:
        ts = await fake.say("Tell me of owls")
        await posted(fake, "Of owls.")
        before = {"user": "U1", "text": "Tell me of owls", "ts": ts}
        after = {**before, "text": "Tell me of herons", "edited": {"user": "U1", "ts": f"{ts}1"}}
        changed = {"subtype": "message_changed", "message": after, "previous_message": before}
        await fake.event({"type": "message", "channel": "D1", "ts": fake.new_ts(), **changed})
        await posted(fake, "Of herons.")

        assert (await said(engine, HOME))[-1] == "Tell me of herons"


@pytest.mark.contract("E2")
async def test_long_answer_comes_in_order_and_whole(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    lines = [f"{number}. **bold {number}** & `code {number}`" for number in range(1, 200)]
    server.plan(say("\n".join(lines)), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Tell me all")
        await answered(engine, HOME)

    shown = "\n".join(post.text for post in fake.sent()).split("\n")
    assert shown == [f"{number}. *bold {number}* &amp; `code {number}`" for number in range(1, 200)]
    assert len(fake.sent()) > 1


async def test_every_slash_command_is_understood(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    server.plan(say("Good day."), say("Good day, again."), model="model")
    server.plan(say("Good day, again."), model="other")
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        await answered(engine, HOME)
        for name, argument, said_to_it in ANSWERS:
            fake.posts.clear()
            await fake.send("slash_commands", fake.command(f"/{name}", argument))
            await posted(fake, said_to_it)


async def test_what_grows_is_shown_and_replaced_by_the_answer(
    folder: Path, server: ModelServer, fake: FakeSlack
) -> None:
    grows = say("A **long** answer, word by word, ") + stall() + say("until it ends.")
    server.plan(grows, model="model")
    async with roost(folder, server, fake):
        ts = await fake.say(f"{OWN} hello", channel="C1")
        await posted(fake, "word by word,")
        server.release()
        await posted(fake, "until it ends.")

    (shown,) = fake.sent()
    assert shown.edits > 0
    assert shown.text == "A *long* answer, word by word, until it ends."
    assert fake.statuses[0]["thread_ts"] == ts
