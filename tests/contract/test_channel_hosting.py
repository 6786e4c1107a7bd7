"""A channel whose library misbehaves: it is connected again, and it ends when it is to end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.channels.base import Channel, Inlet, Options
from roost.channels.hosting import hosted
from roost.channels.registry import Registry
from roost.core.errors import ChannelBusy, ChannelLost
from roost.testing.models import ModelServer, say, stall
from tests.chatting import Chat, chatting
from tests.small_channel import SmallChannel


@asynccontextmanager
async def hosting(chat: Chat, kind: type[SmallChannel]) -> AsyncGenerator[None]:
    """A channel of that kind on the chat's platform."""

    def make(name: str, options: Options) -> Channel:
        return kind(chat.platform, name=name)

    await chat.engine.start()
    await chat.pair()
    try:
        async with hosted(chat.engine.app, Registry({"small": make})):
            yield
    finally:
        await chat.engine.stop()


class Deaf(SmallChannel):
    """Takes being cancelled for a lost connection, as task groups did before Python 3.13."""

    async def run(self, inlet: Inlet) -> None:
        try:
            await super().run(inlet)
        except asyncio.CancelledError:
            raise ChannelLost(self.name, "cancelled") from None


async def test_channel_that_swallows_its_cancellation_ends(
    folder: Path, server: ModelServer
) -> None:
    chat = Chat(folder, server)
    async with asyncio.timeout(60), hosting(chat, Deaf):
        await chat.platform.say("Hello")
        await chat.platform.until_text("Good day.")


class Fragile(SmallChannel):
    """The first time, something in it is cancelled that nobody meant to."""

    times = 0

    async def run(self, inlet: Inlet) -> None:
        Fragile.times += 1
        if Fragile.times == 1:
            raise asyncio.CancelledError
        await super().run(inlet)


async def test_channel_whose_library_cancels_it_is_connected_again(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fragile, "times", 0)
    chat = Chat(folder, server)
    async with hosting(chat, Fragile):
        await chat.platform.say("Hello")
        await chat.platform.until_text("Good day.")
    assert Fragile.times == 2


async def test_what_is_shown_of_an_answer_waits_when_told_to(
    folder: Path, server: ModelServer
) -> None:
    async with chatting(Chat(folder, server)) as chat:
        await chat.pair()
        server.plan(say("One two three ") + stall() + say("four five."), model="model")
        chat.platform.trouble += [ChannelBusy("small", 0.3)]
        await chat.platform.say("Count")
        await chat.platform.until_text("One two three")
        first, second = [at for at, _ in chat.platform.calls][:2]
        assert second - first >= 0.3
        server.release()
        await chat.platform.until_text("four five.")
        assert chat.platform.texts() == ["One two three four five."]
