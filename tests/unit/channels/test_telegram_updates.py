"""What people do in Telegram arrives as they meant it."""

from collections.abc import AsyncGenerator

import pytest

from roost.channels.base import Inbound
from roost.core.inbound import InboundFile, Place, Sender
from tests.fakes.telegram import ANN, BOT, fake_telegram
from tests.fakes.telegram_scene import Scene, at_work

GROUP = {"id": -1001, "type": "supergroup", "title": "The group"}
OF_GROUP = "telegram:group:-1001"


@pytest.fixture
async def scene() -> AsyncGenerator[Scene]:
    async with fake_telegram() as fake, at_work(fake) as scene:
        yield scene


async def test_a_private_message_says_who_and_where(scene: Scene) -> None:
    said = await scene.heard("Hello")

    assert said == Inbound(
        id="123456:1001",
        message="1",
        sender=Sender("42", "Ann Lee"),
        place=Place("telegram:dm:42", name="Ann Lee"),
        text="Hello",
        at=1_800_000_000_000,
    )


async def test_a_group_and_its_topics_are_places_of_their_own(scene: Scene) -> None:
    plain = await scene.heard("Hello", chat=GROUP)
    in_topic = await scene.heard("Hello", chat=GROUP, message_thread_id=7, is_topic_message=True)
    in_thread = await scene.heard("Hello", chat=GROUP, message_thread_id=1)

    assert plain.place == Place(OF_GROUP, OF_GROUP, False, "The group")
    assert in_topic.place == Place(f"{OF_GROUP}:topic:7", OF_GROUP, False, "The group")
    assert in_thread.place.address == OF_GROUP


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("@roost_bot what now?", "what now?"),
        ("🦆 what now @Roost_Bot", "🦆 what now"),
        ("/new@roost_bot", "/new"),
        ("@roost_bot /stop", "/stop"),
        ("/model small", "/model small"),
    ],
)
async def test_in_a_group_the_bot_is_spoken_to_by_name(scene: Scene, said: str, text: str) -> None:
    heard = await scene.heard(said, chat=GROUP)

    assert heard.place.mentioned
    assert heard.text == text


async def test_a_reply_to_the_bot_speaks_to_it(scene: Scene) -> None:
    before = {"message_id": 5, "date": 1, "chat": GROUP, "from": BOT, "text": "Red or blue?"}
    heard = await scene.heard("Red", chat=GROUP, reply_to_message=before)

    assert heard.place.mentioned
    assert (heard.reply_to, heard.reply_text) == ("5", "Red or blue?")


async def test_a_reply_to_someone_else_does_not(scene: Scene) -> None:
    before = {"message_id": 5, "date": 1, "chat": GROUP, "from": ANN, "caption": "My cat"}
    heard = await scene.heard("@ann_lee aww", chat=GROUP, reply_to_message=before)

    assert not heard.place.mentioned
    assert (heard.text, heard.reply_text) == ("@ann_lee aww", "My cat")


async def test_the_first_message_of_a_topic_is_no_reply(scene: Scene) -> None:
    opening = {"name": "Plans", "icon_color": 1}
    before = {
        "message_id": 7,
        "date": 1,
        "chat": GROUP,
        "from": BOT,
        "forum_topic_created": opening,
    }
    heard = await scene.heard("Hi", chat=GROUP, reply_to_message=before)

    assert not heard.place.mentioned
    assert heard.reply_to is None


async def test_only_the_picked_words_of_a_reply_are_quoted(scene: Scene) -> None:
    before = {"message_id": 5, "date": 1, "chat": GROUP, "from": BOT, "text": "Red or blue?"}
    quote = {"text": "blue", "position": 7}

    assert (await scene.heard("why?", reply_to_message=before, quote=quote)).reply_text == "blue"


async def test_what_is_forwarded_is_no_command(scene: Scene) -> None:
    origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}

    for said in ("/approve K7QF-2MXA", "yes"):
        heard = await scene.heard(said, forward_origin=origin)
        assert heard.text == f"(forwarded)\n{said}"


async def test_another_bots_command_is_not_heard(scene: Scene) -> None:
    await scene.ignored("/new@other_bot", chat=GROUP)


async def test_what_nobody_said_is_not_heard(scene: Scene) -> None:
    await scene.ignored(new_chat_title="Another", chat=GROUP)
    await scene.ignored("Hello", **{"from": {**BOT, "id": 9}})
    await scene.ignored("News", chat=GROUP, sender_chat=GROUP, is_automatic_forward=True)


async def test_those_who_speak_for_a_chat_are_told_apart_by_it(scene: Scene) -> None:
    everyones = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
    heard = await scene.heard("Hi", chat=GROUP, sender_chat=GROUP, **{"from": everyones})

    assert heard.sender == Sender("-1001", "The group")


async def test_the_button_that_begins_a_chat_asks_for_help(scene: Scene) -> None:
    assert (await scene.heard("/start")).text == "/help"


async def test_marked_code_and_links_are_kept_and_emphasis_is_not(scene: Scene) -> None:
    marks = [
        {"type": "bold", "offset": 0, "length": 12},
        {"type": "text_link", "offset": 3, "length": 4, "url": "https://a.example"},
        {"type": "code", "offset": 8, "length": 4},
    ]
    heard = await scene.heard("🦆 this here", entities=marks)

    assert heard.text == "🦆 [this](https://a.example) `here`"


async def test_a_photo_comes_in_its_largest_size_with_its_words(scene: Scene) -> None:
    sizes = [_size("small", 90, 1000), _size("large", 1280, 90_000)]
    heard = await scene.heard(photo=sizes, caption="Look")

    assert heard.text == "Look"
    assert heard.files == (InboundFile("large", "photo-1.jpg", "image/jpeg", "image", 90_000),)


async def test_documents_keep_their_names(scene: Scene) -> None:
    document = {**_size("f1", 0, 12), "file_name": "notes.pdf", "mime_type": "application/pdf"}
    picture = {**_size("f2", 0, 12), "file_name": "a.png", "mime_type": "image/png"}

    (paper,) = (await scene.heard(document=document)).files
    (image,) = (await scene.heard(document=picture)).files

    assert paper == InboundFile("f1", "notes.pdf", "application/pdf", "file", 12)
    assert image.kind == "image"


async def test_a_voice_note_is_told_from_a_file(scene: Scene) -> None:
    voice = {**_size("v", 0, 12), "duration": 3, "mime_type": "audio/ogg"}
    note = {**_size("n", 0, 12), "length": 240, "duration": 3}

    assert (await scene.heard(voice=voice)).files[0].kind == "voice"
    assert (await scene.heard(video_note=note)).files[0].kind == "voice"


async def test_what_is_neither_text_nor_a_file_is_put_in_words(scene: Scene) -> None:
    sticker = {**_size("s", 512, 12), "type": "regular", "emoji": "👍"}
    sticker |= {"is_animated": False, "is_video": False}

    assert (await scene.heard(sticker=sticker)).text == "👍"
    place = {"latitude": 48.2, "longitude": 16.4}
    assert "location" in (await scene.heard(location=place)).text


async def test_an_album_is_one_message(scene: Scene) -> None:
    pictures = [{"photo": [_size(f"p{n}", 90, 9)], "media_group_id": "g"} for n in range(3)]
    await scene.fake.say_all({**pictures[0], "caption": "Ours"}, pictures[1])
    await scene.fake.until(lambda: scene.fake.given == [[1001, 1002]])
    await scene.fake.say_all(pictures[2])

    (heard,) = await scene.inlet.until_kept(1)
    assert heard.text == "Ours"
    assert [file.ref for file in heard.files] == ["p0", "p1", "p2"]
    await scene.ignored()


async def test_an_edit_names_the_message_that_was_edited(scene: Scene) -> None:
    before = await scene.heard("Helo")
    await scene.fake.edit(int(before.message), text="Hello")
    after = (await scene.inlet.until_kept(2))[1]

    assert (after.message, after.edited, after.text) == (before.message, True, "Hello")
    assert after.id != before.id
    assert after.at > before.at


def _size(id: str, side: int, size: int) -> dict[str, object]:
    sides = {"width": side, "height": side, "file_size": size}
    return {"file_id": id, "file_unique_id": id, **sides}
