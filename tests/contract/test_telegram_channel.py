"""A whole Roost on Telegram: the real library, a Bot API on loopback, the real store."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.messages import ImagePart, plain_text
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.base import Tool
from tests.contract.command_answers import ANSWERS
from tests.engine import ECHO, Engine, eventually
from tests.fakes.telegram import TOKEN, FakeTelegram, Sent, fake_telegram
from tests.fakes.telegram_calls import CUT, Trouble, too_many
from tests.platforms import WORK, answered, connected, first, said, turns_on

HOME = "telegram:dm:42"
GROUP = {"id": -1001, "type": "supergroup", "title": "The group"}
EVE = {"id": 99, "is_bot": False, "first_name": "Eve"}


@pytest.fixture
async def fake() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake


@asynccontextmanager
async def roost(
    folder: Path, server: ModelServer, fake: FakeTelegram, *tools: Tool
) -> AsyncGenerator[Engine]:
    engine = Engine(folder, server, clock=SystemClock(), tools=tools or (ECHO,))
    options = {"token": TOKEN, "api": fake.url}
    async with connected(engine, "telegram", options, allow="42"):
        yield engine


async def posted(fake: FakeTelegram, words: str) -> Sent:
    return await first(fake, lambda: [sent for sent in fake.sent if words in sent.text])


@pytest.mark.contract("E1")
@pytest.mark.contract("E2")
async def test_a_message_is_answered_once_over_redelivery_and_a_restart(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        await answered(engine, HOME)
        await fake.until_confirmed()
    await fake.deliver_again(1)
    async with roost(folder, server, fake) as engine:
        await fake.say("Again")
        await answered(engine, HOME, 2)
        assert await said(engine, HOME) == ["Hello", "Again"]

    assert [sent.text for sent in fake.sent] == ["Good day.", "Good day."]


@pytest.mark.contract("E2")
@pytest.mark.parametrize("trouble", [CUT, Trouble(502, "Bad Gateway"), too_many(1)])
async def test_an_answer_arrives_in_spite_of_trouble(
    folder: Path, server: ModelServer, fake: FakeTelegram, trouble: Trouble
) -> None:
    fake.meet("sendMessage", trouble)
    async with roost(folder, server, fake):
        await fake.say("Hello")
        await posted(fake, "Good day.")

    assert len(fake.sent) == 1


@pytest.mark.contract("E2")
async def test_an_answer_to_someone_who_blocked_the_bot_is_kept(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    fake.blocked.add(42)
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        (lost,) = await eventually(lambda: engine.store.outbox.undelivered(limit=10))

    assert "blocked by the user" in (lost.error or "")


@pytest.mark.contract("E2")
async def test_a_long_answer_comes_in_order_and_whole(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    lines = [f"{number}. **bold {number}** & `code <{number}>`" for number in range(1, 250)]
    server.plan(say("\n".join(lines)), model="model")
    async with roost(folder, server, fake) as engine:
        await fake.say("Tell me all")
        await answered(engine, HOME)

    shown = "\n".join(sent.text for sent in fake.sent).split("\n")
    assert shown == [f"{number}. bold {number} & code <{number}>" for number in range(1, 250)]
    assert len(fake.sent) > 1


@pytest.mark.contract("E2")
async def test_a_chat_gets_no_more_than_a_message_a_second(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    async with roost(folder, server, fake) as engine:
        for text in ("One", "Two", "Three"):
            await fake.say(text)
        await answered(engine, HOME, 3)

    times = [made.at for made in fake.calls if made.method in ("sendMessage", "editMessageText")]
    assert len(times) >= 3
    # The machine may hold the first of two calls up.
    assert min(after - before for before, after in pairwise(times)) > 0.5


async def test_being_told_to_wait_is_kept_to_before_it_connects_again(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    fake.meet("getMe", too_many(3))
    async with roost(folder, server, fake):
        await fake.say("Hello")
        await posted(fake, "Good day.")

    first, second = [call.at for call in fake.calls if call.method == "getMe"]
    assert second - first >= 3  # by itself it would wait for one


@pytest.mark.contract("E3")
async def test_an_unknown_sender_gets_a_code_and_nothing_else(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    chat = {"id": 99, "type": "private", "first_name": "Eve"}
    async with roost(folder, server, fake):
        await fake.say("Tell me a secret", chat=chat, **{"from": EVE})
        await fake.say("Please", chat=chat, **{"from": EVE})
        await posted(fake, "pairing code")
        await fake.say("Hello")
        await posted(fake, "Good day.")

    assert [sent.chat for sent in fake.sent] == [99, 42]


@pytest.mark.contract("E5")
async def test_an_approval_is_given_by_a_button(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    server.plan(call("work", {}), say("It is done."), model="model")
    async with roost(folder, server, fake, WORK):
        await fake.say("Do it")
        asked = await posted(fake, "Sure?")
        await fake.press(asked.id, asked.buttons[0][1])
        await posted(fake, "It is done.")

    assert asked.buttons == []
    assert "Approved." in asked.text
    assert len(fake.released) == 1


async def test_in_a_topic_the_bot_answers_there_and_when_it_is_meant(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    topic = {"chat": GROUP, "message_thread_id": 7, "is_topic_message": True}
    async with roost(folder, server, fake) as engine:
        await fake.say("Just talking", **topic)
        await fake.say("@roost_bot hello", **topic)
        answer = await posted(fake, "Good day.")

        assert (answer.chat, answer.topic) == (-1001, 7)
        assert await said(engine, "telegram:group:-1001:topic:7") == ["Ann Lee: hello"]


async def test_pictures_come_in_and_a_voice_note_gets_a_note(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    photo = {"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}
    voice = {"file_id": "v", "file_unique_id": "v", "duration": 3}
    fake.files["p"] = b"\x89PNG\r\n\x1a\n and so on"
    async with roost(folder, server, fake) as engine:
        await fake.say(photo=[photo], caption="Look")
        await posted(fake, "Good day.")
        (turn,) = await turns_on(engine, HOME)
        await fake.say(voice=voice)
        await posted(fake, "can't hear voice notes")

    assert plain_text(turn.parts).startswith("Look")
    assert any(isinstance(part, ImagePart) for part in turn.parts)


async def test_an_edit_of_the_last_message_is_answered_anew(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    server.plan(say("Of owls."), say("Of herons."), model="model")
    async with roost(folder, server, fake) as engine:
        message = await fake.say("Tell me of owls")
        await posted(fake, "Of owls.")
        await fake.edit(message, text="Tell me of herons")
        await posted(fake, "Of herons.")

        assert (await said(engine, HOME))[-1] == "Tell me of herons"


async def test_a_reply_says_what_it_is_a_reply_to(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    async with roost(folder, server, fake) as engine:
        replied = {"message_id": 999, "date": 1, "chat": {"id": 42, "type": "private"}}
        await fake.say("And this one?", reply_to_message={**replied, "text": "The grey heron"})
        await answered(engine, HOME)

    asked = [request.body for request in server.requests if request.model == "model"]
    assert b"The grey heron" in asked[-1]


async def test_every_command_is_understood(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    server.plan(say("Good day."), say("Good day, again."), model="model")
    server.plan(say("Good day, again."), model="other")
    async with roost(folder, server, fake) as engine:
        await fake.say("Hello")
        await answered(engine, HOME)
        for name, argument, said_to_it in ANSWERS:
            fake.sent.clear()
            await fake.say(f"/{name} {argument}".strip())
            await posted(fake, said_to_it)


async def test_what_grows_is_shown_and_replaced_by_the_answer(
    folder: Path, server: ModelServer, fake: FakeTelegram
) -> None:
    grows = say("A **long** answer, word by word, ") + stall() + say("until it ends.")
    server.plan(grows, model="model")
    async with roost(folder, server, fake):
        await fake.say("Hello")
        await posted(fake, "word by word,")
        server.release()
        await posted(fake, "until it ends.")

    (shown,) = fake.sent
    assert shown.edits > 0
    assert shown.markup == "A <b>long</b> answer, word by word, until it ends."
    assert fake.typing[0] == (42, None)
