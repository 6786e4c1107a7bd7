"""What is sent to Telegram arrives there, or it is said why not."""

import logging
from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Attachment, Button, Channel, Checked, Hooked, Piece
from roost.channels.splitting import split
from roost.channels.telegram.channel import LIMITS, telegram
from roost.core.errors import (
    ChannelBusy,
    ChannelLost,
    ChannelRefused,
    ConfigError,
    Undeliverable,
)
from roost.core.ids import new_approval_id
from roost.core.inbound import InboundFile
from roost.core.keys import Key
from tests.fakes.telegram import TOKEN, FakeTelegram, fake_telegram
from tests.fakes.telegram_calls import CUT, LOST_ANSWER, Trouble, too_many
from tests.fakes.telegram_scene import Scene, at_work, made

ANN = "telegram:dm:42"
TOPIC = "telegram:group:-1001:topic:7"
PNG = b"\x89PNG and so on"


@pytest.fixture
async def fake() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake


@pytest.fixture
async def scene(fake: FakeTelegram) -> AsyncGenerator[Scene]:
    async with at_work(fake) as scene:
        yield scene


async def sent(scene: Scene, piece: Piece, to: str = ANN) -> str:
    return await scene.channel.deliver(to, piece, key="k")


async def test_it_is_a_channel(scene: Scene) -> None:
    channel: Channel = scene.channel

    assert isinstance(channel, Hooked)
    assert isinstance(channel, Checked)


async def test_an_answer_is_shown_with_its_markup(scene: Scene) -> None:
    message = await sent(scene, Piece("Use `x < 1`, **now**"), TOPIC)

    (shown,) = scene.fake.sent
    assert message == str(shown.id)
    assert (shown.chat, shown.topic) == (-1001, 7)
    assert shown.markup == "Use <code>x &lt; 1</code>, <b>now</b>"


async def test_a_reply_to_a_message_that_is_gone_is_sent_all_the_same(scene: Scene) -> None:
    there = await scene.fake.say("Hello")
    await sent(scene, Piece("Hi", reply_to=str(there)))
    await sent(scene, Piece("Hi", reply_to="999"))

    assert [shown.reply_to for shown in scene.fake.sent] == [there, None]


async def test_markup_that_is_refused_is_sent_as_it_was_written(scene: Scene) -> None:
    unreadable = Trouble(400, "Bad Request: can't parse entities: unsupported start tag")
    message = await sent(scene, Piece("Hi"))
    scene.fake.meet("sendMessage", unreadable)
    scene.fake.meet("editMessageText", unreadable)
    await sent(scene, Piece("**Hi**"))
    await scene.channel.edit(ANN, message, Piece("**Ho**"))

    assert [(shown.text, shown.markup) for shown in scene.fake.sent] == [
        ("**Ho**", None),
        ("**Hi**", None),
    ]


async def test_a_table_that_has_no_room_is_sent_as_it_was_written(scene: Scene) -> None:
    table = "|a|b|\n|-|-|\n" + "|" + "x" * 90 + "|y|\n" + "|x|y|\n" * 100
    await sent(scene, Piece(table))

    assert scene.fake.sent[0].text == table


async def test_a_text_of_the_full_length_is_taken(scene: Scene) -> None:
    answer = "".join(
        f"🦆 **{number}** `<{number}>` and [so on](https://a.example/)\n\n" for number in range(900)
    )
    pieces = split(answer, scene.channel.measure, LIMITS.text)
    for piece in pieces:
        await sent(scene, Piece(piece))

    assert len(pieces) == len(scene.fake.sent) > 3
    assert all(shown.markup for shown in scene.fake.sent)


async def test_code_that_is_cut_is_code_on_both_sides(scene: Scene) -> None:
    code = "\n".join(f"if a[{number}] < b & c:  # *no* markup" for number in range(400))
    for piece in split(f"So:\n```python\n{code}\n```\nDone.", scene.channel.measure, LIMITS.text):
        await sent(scene, Piece(piece))

    shown = [message.markup or "" for message in scene.fake.sent]
    assert all('<pre><code class="language-python">' in markup for markup in shown)
    lines = "\n".join(message.text for message in scene.fake.sent).split("\n")
    assert [line for line in lines if line.startswith("if")] == code.split("\n")


async def test_the_same_words_again_are_no_error(scene: Scene) -> None:
    message = await sent(scene, Piece("So far", buttons=(Button("Stop", "stop"),)))
    await scene.channel.edit(ANN, message, Piece("So far, *so good*"))
    await scene.channel.edit(ANN, message, Piece("So far, *so good*"))

    (shown,) = scene.fake.sent
    assert (shown.text, shown.edits, shown.buttons) == ("So far, so good", 1, [])


async def test_an_edit_of_a_message_that_is_gone_is_never_possible(scene: Scene) -> None:
    with pytest.raises(Undeliverable, match="not found"):
        await scene.channel.edit(ANN, "999", Piece("Hi"))


async def test_the_name_of_an_approval_fits_on_a_button(scene: Scene) -> None:
    data = f"approve:{new_approval_id()}"
    await sent(scene, Piece("May I?", buttons=(Button("Yes", data), Button("No", "n" * 64))))

    assert scene.fake.sent[0].buttons == [("Yes", data), ("No", "n" * 64)]


async def test_images_are_shown_and_files_are_offered(scene: Scene) -> None:
    await sent(scene, Piece(file=Attachment("a.png", "image/png", PNG)), TOPIC)
    await sent(scene, Piece(file=Attachment("b.csv", "text/csv", b"1,2")))

    assert [shown.file for shown in scene.fake.sent] == [
        ("photo", "a.png", PNG),
        ("document", "b.csv", b"1,2"),
    ]
    assert scene.fake.sent[0].topic == 7


async def test_an_image_that_can_not_be_shown_is_offered(scene: Scene) -> None:
    await sent(scene, Piece(file=Attachment("a.png", "image/png", b"no image")))

    assert scene.fake.sent[0].file == ("document", "a.png", b"no image")


async def test_typing_shows_where_the_answer_will_be(scene: Scene) -> None:
    await scene.channel.typing(TOPIC)

    assert scene.fake.typing == [(-1001, 7)]


async def test_a_file_is_fetched(scene: Scene) -> None:
    scene.fake.files |= {"f1": b"words", "f2": b"x" * (LIMITS.file_in + 1)}

    assert await scene.channel.fetch(_file("f1")) == b"words"
    with pytest.raises(Undeliverable, match="too large"):
        await scene.channel.fetch(_file("f2"))
    with pytest.raises(Undeliverable, match="Wrong file_id"):
        await scene.channel.fetch(_file("f3"))
    scene.fake.meet("download", CUT)
    with pytest.raises(ChannelLost):
        await scene.channel.fetch(_file("f1"))


async def test_being_told_to_wait_says_how_long(scene: Scene) -> None:
    scene.fake.meet("sendMessage", too_many(7))
    with pytest.raises(ChannelBusy) as busy:
        await sent(scene, Piece("Hi"))

    assert busy.value.seconds == 7
    assert not scene.fake.sent


@pytest.mark.parametrize("trouble", [CUT, LOST_ANSWER, Trouble(500, "Internal Server Error")])
async def test_a_call_that_is_lost_can_be_made_again(scene: Scene, trouble: Trouble) -> None:
    scene.fake.meet("sendMessage", trouble)
    with pytest.raises(ChannelLost):
        await sent(scene, Piece("Hi"))
    await sent(scene, Piece("Hi"))

    assert len(scene.fake.sent) == 1 + trouble.done


async def test_whoever_blocked_the_bot_gets_nothing_ever(scene: Scene) -> None:
    scene.fake.blocked.add(42)
    with pytest.raises(Undeliverable, match="blocked by the user"):
        await sent(scene, Piece("Hi"))
    with pytest.raises(Undeliverable):
        await scene.channel.typing(ANN)


async def test_a_group_that_got_another_number_is_followed(scene: Scene) -> None:
    scene.fake.moved[-5] = -1005
    await sent(scene, Piece("Hi"), "telegram:group:-5")

    assert scene.fake.sent[0].chat == -1005


async def test_an_address_of_another_kind_is_refused(scene: Scene) -> None:
    with pytest.raises(Undeliverable, match="no chat of Telegram's"):
        await sent(scene, Piece("Hi"), "telegram:guild:5")


async def test_nothing_can_be_sent_before_there_is_a_connection(fake: FakeTelegram) -> None:
    with pytest.raises(ChannelLost, match="not connected"):
        await made(fake).deliver(ANN, Piece("Hi"), key="k")


async def test_a_group_takes_less_than_a_person(scene: Scene) -> None:
    group = scene.channel.chat_of(TOPIC)

    assert group == "telegram:group:-1001"
    assert LIMITS.rate_of(group).count == 20
    assert LIMITS.rate_of(scene.channel.chat_of(ANN)).count == 1


async def test_a_token_is_tried_without_receiving(fake: FakeTelegram) -> None:
    await fake.say("Hello")

    assert await made(fake).check() == "@roost_bot"
    assert fake.pending
    with pytest.raises(ChannelRefused):
        await made(fake, token="99:other").check()  # noqa: S106


async def test_the_token_is_in_no_log(fake: FakeTelegram, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with at_work(fake) as scene:
        scene.fake.files["f1"] = b"words"
        fake.meet("sendMessage", CUT)
        with pytest.raises(ChannelLost) as lost:
            await sent(scene, Piece("Hi"))
        await scene.channel.fetch(_file("f1"))

    assert TOKEN not in caplog.text + str(lost.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "needs the token"),
        ({"token": "secret-words"}, "none of Telegram's"),
        ({"token": TOKEN, "tokn": "x"}, "has no option tokn"),
    ],
)
def test_options_that_can_not_be_used_are_named(options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as wrong:
        telegram("telegram", {name: Key(value) for name, value in options.items()})

    assert "secret" not in str(wrong.value)


def _file(ref: str) -> InboundFile:
    return InboundFile(ref, f"{ref}.txt", "text/plain")
