"""An update is kept before Telegram is told so, and kept once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from roost.channels.base import COMMANDS, Button, HookCall, Piece
from roost.core.errors import ChannelBusy, ChannelLost, ChannelRefused
from tests.fakes.inlet import MemoryInlet
from tests.fakes.telegram import FakeTelegram, fake_telegram
from tests.fakes.telegram_calls import CUT, LOST_ANSWER, Trouble, too_many
from tests.fakes.telegram_scene import Scene, ToldInlet, at_work, made


@pytest.fixture
async def fake() -> AsyncGenerator[FakeTelegram]:
    async with fake_telegram() as fake:
        yield fake


PICTURE = {"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}
ALBUM = {"photo": [PICTURE], "media_group_id": "g"}
ASKS = Piece("May I?", buttons=(Button("Yes", "approve:a1"), Button("No", "deny:a1")))


async def texts(inlet: MemoryInlet, count: int) -> list[str]:
    return [inbound.text for inbound in await inlet.until_kept(count)]


@pytest.mark.contract("E1")
async def test_nothing_is_confirmed_before_it_is_kept(fake: FakeTelegram) -> None:
    async with at_work(fake) as scene:
        scene.inlet.let_in.clear()
        await fake.say("one")
        await fake.until(lambda: [1001] in fake.given)

        assert [update["update_id"] for update in fake.pending] == [1001]
        scene.inlet.let_in.set()
        assert await texts(scene.inlet, 1) == ["one"]
        await fake.until_confirmed()


@pytest.mark.contract("E1")
async def test_what_could_not_be_kept_comes_again(fake: FakeTelegram) -> None:
    inlet = ToldInlet()
    inlet.refusals = 1
    await fake.say("one")
    with pytest.raises(OSError, match="no room"):
        async with at_work(fake, inlet) as scene:
            await scene.until_over()
    await fake.say("two")

    async with at_work(fake, inlet):
        assert await texts(inlet, 2) == ["one", "two"]


@pytest.mark.contract("E1")
async def test_a_backlog_is_read_in_order_from_where_reading_ended(fake: FakeTelegram) -> None:
    inlet = ToldInlet()
    async with at_work(fake, inlet) as scene:
        await scene.heard("0")
    for number in range(1, 250):
        await fake.say(str(number))

    async with at_work(fake, inlet):
        assert await texts(inlet, 250) == [str(number) for number in range(250)]


@pytest.mark.contract("E1")
async def test_what_comes_again_is_kept_once(fake: FakeTelegram) -> None:
    inlet = ToldInlet()
    async with at_work(fake, inlet) as scene:
        await scene.heard("one")
        await scene.heard("two")
        await fake.until_confirmed()
        await fake.deliver_again(2)
        await scene.heard("three")

    assert [inbound.text for inbound in inlet.all] == ["one", "two", "three"]


@pytest.mark.contract("E1")
async def test_pictures_of_an_album_that_come_again_are_no_messages(fake: FakeTelegram) -> None:
    async with at_work(fake) as scene:
        await fake.say_all(ALBUM, ALBUM)
        await fake.until_confirmed()
        await fake.deliver_again(1)
        await scene.heard("and?")

    assert [len(inbound.files) for inbound in scene.inlet.all] == [2, 0]


@pytest.mark.contract("E1")
async def test_updates_out_of_order_are_put_in_order(fake: FakeTelegram) -> None:
    for text in ("one", "two", "three"):
        await fake.say(text)
    fake.pending.reverse()
    async with at_work(fake) as scene:
        assert await texts(scene.inlet, 3) == ["one", "two", "three"]
        await fake.until_confirmed()


async def test_updates_that_are_counted_anew_are_read(fake: FakeTelegram) -> None:
    fake.count_from(900_000)
    async with at_work(fake) as scene:
        await scene.heard("before")
        await fake.until_confirmed()
        fake.count_from(5000)

        assert (await scene.heard("after a quiet week")).id == "123456:5001"
        assert scene.inlet.seen == {"offset:123456": "5002"}


async def test_a_pressed_button_is_heard_and_let_go(fake: FakeTelegram) -> None:
    async with at_work(fake) as scene:
        in_topic = "telegram:group:-1001:topic:7"
        message = await scene.channel.deliver(in_topic, ASKS, key="k")
        await fake.press(int(message), "approve:a1")
        (pressed,) = await scene.inlet.until_kept(1)
        await fake.until(lambda: fake.released)

    assert (pressed.press, pressed.message) == ("approve:a1", message)
    assert pressed.place.address == in_topic
    assert pressed.place.mentioned


async def test_a_button_that_can_not_be_let_go_is_heard_all_the_same(fake: FakeTelegram) -> None:
    async with at_work(fake) as scene:
        message = await scene.channel.deliver("telegram:dm:42", ASKS, key="k")
        fake.meet("answerCallbackQuery", Trouble(400, "Bad Request: query is too old"))
        await fake.press(int(message), "approve:a1")
        await scene.inlet.until_kept(1)

        assert (await scene.heard("Hello")).text == "Hello"


async def test_being_told_to_wait_is_no_loss(fake: FakeTelegram) -> None:
    fake.meet("getUpdates", too_many(1))
    async with at_work(fake) as scene:
        assert (await scene.heard("Hello")).text == "Hello"
        assert len(scene.inlet.bots) == 1


@pytest.mark.parametrize("trouble", [CUT, LOST_ANSWER, Trouble(502, "Bad Gateway")])
async def test_a_lost_connection_is_told_and_can_be_had_again(
    fake: FakeTelegram, trouble: Trouble
) -> None:
    inlet = ToldInlet()
    await fake.say("Hello")
    fake.meet("getUpdates", trouble)
    with pytest.raises(ChannelLost):
        await made(fake).run(inlet)

    async with at_work(fake, inlet):
        assert await texts(inlet, 1) == ["Hello"]


async def test_two_that_read_for_one_bot_are_told(fake: FakeTelegram) -> None:
    with pytest.raises(ChannelLost, match="another program"):
        async with at_work(fake) as first, at_work(fake):
            await first.until_over()


async def test_a_wrong_token_is_refused_and_not_repeated(fake: FakeTelegram) -> None:
    channel = made(fake, token="99:not-the-one")  # noqa: S106
    with pytest.raises(ChannelRefused) as refused:
        await channel.run(ToldInlet())

    assert "99:not" not in str(refused.value)
    assert refused.value.__suppress_context__


async def test_the_menu_has_the_commands(fake: FakeTelegram) -> None:
    async with at_work(fake):
        await fake.until(lambda: fake.commands)

    assert fake.commands == [(command.name, command.says) for command in COMMANDS]


async def test_a_menu_that_can_not_be_shown_keeps_nobody_from_talking(fake: FakeTelegram) -> None:
    fake.meet("setMyCommands", too_many(300))
    async with at_work(fake) as scene:
        assert (await scene.heard("Hello")).text == "Hello"


async def test_being_told_to_wait_before_it_connects_says_how_long(fake: FakeTelegram) -> None:
    fake.meet("getMe", too_many(7))
    with pytest.raises(ChannelBusy) as busy:
        await made(fake).run(ToldInlet())

    assert busy.value.seconds == 7


# With a hook.


@asynccontextmanager
async def hooked(fake: FakeTelegram, inlet: ToldInlet) -> AsyncGenerator[Scene]:
    """As the server does it: what is posted to an address goes to the channel."""
    scenes: list[Scene] = []

    async def take(request: web.Request) -> web.Response:
        if not scenes:
            return web.Response(status=503)
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = HookCall(request.method, request.query_string, headers, await request.read())
        reply = await scenes[0].channel.hook(call)
        return web.Response(status=reply.status, body=reply.body, content_type=reply.media_type)

    app = web.Application()
    app.router.add_post("/hooks/telegram", take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/hooks/telegram"
        async with at_work(fake, inlet, webhook=url) as scene:
            scenes.append(scene)
            yield scene
    finally:
        await runner.cleanup()


@pytest.mark.contract("E1")
async def test_a_hook_is_answered_when_the_update_is_kept(fake: FakeTelegram) -> None:
    inlet = ToldInlet()
    async with hooked(fake, inlet) as scene:
        inlet.refusals = 2
        await fake.say("one")
        await fake.say("two")

        assert await texts(inlet, 2) == ["one", "two"]
        await fake.until_confirmed()
        await fake.deliver_again(2)
        await fake.until_confirmed()
        assert len(scene.inlet.kept) == 2


async def test_a_button_is_let_go_in_the_answer_to_the_hook(fake: FakeTelegram) -> None:
    async with hooked(fake, ToldInlet()) as scene:
        message = await scene.channel.deliver("telegram:dm:42", ASKS, key="k")
        await fake.press(int(message), "approve:a1")
        await fake.until(lambda: fake.released)

        assert [inbound.press for inbound in scene.inlet.all] == ["approve:a1"]


async def test_a_hook_is_for_those_who_know_the_secret(fake: FakeTelegram) -> None:
    async with hooked(fake, ToldInlet()) as scene:
        secret = str(fake.hook["secret_token"])
        body = b'{"update_id": 5, "message": {"text": "x"}}'
        for given in ({}, {"x-telegram-bot-api-secret-token": "ä"}):
            reply = await scene.channel.hook(HookCall("POST", "", given, body))
            assert reply.status == 401
        known = {"x-telegram-bot-api-secret-token": secret}
        for wrong in (b"", b"[]", b"{}", body):
            reply = await scene.channel.hook(HookCall("POST", "", known, wrong))
            assert reply.status == 400

        assert not scene.inlet.kept


async def test_without_a_hook_nothing_is_taken(fake: FakeTelegram) -> None:
    async with at_work(fake) as scene:
        assert (await scene.channel.hook(HookCall("POST", "", {}, b""))).status == 503


async def test_what_was_read_by_asking_is_not_brought_again(fake: FakeTelegram) -> None:
    inlet = ToldInlet()
    async with at_work(fake, inlet):
        await fake.say_all(ALBUM, ALBUM)
        await inlet.until_kept(1)
    async with hooked(fake, inlet) as scene:
        await scene.heard("brought")
    async with at_work(fake, inlet) as scene:
        await scene.heard("asked for")

    assert not fake.hook
    assert [inbound.text for inbound in inlet.all] == ["", "brought", "asked for"]
