"""One session on three surfaces: begun in Telegram, gone on with in the browser, ended in the CLI.
The real server, a Bot API on loopback, a real browser and a real terminal."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from roost.testing.models import Reply, say, stall
from tests.e2e.chat_terminal import ENTER, Terminal, terminal
from tests.e2e.command import Roost
from tests.e2e.web.stage import TELEGRAM, Stage, staged
from tests.e2e.web.window import Window
from tests.fakes.telegram import TOKEN, FakeTelegram


@pytest_asyncio.fixture(loop_scope="session")
async def stage(tmp_path: Path, browser: Browser, telegram: FakeTelegram) -> AsyncGenerator[Stage]:
    config = TELEGRAM.format(token=TOKEN, api=telegram.url)
    async with staged(tmp_path, browser, config) as stage:
        yield stage
    assert stage.troubles == []


def in_two(first: str, second: str) -> Reply:
    """An answer that waits in the middle until all have seen its beginning."""
    return say(first) + stall() + say(second)


class Surfaces:
    """All three, as one looks at them."""

    def __init__(self, telegram: FakeTelegram, window: Window, chat: Terminal) -> None:
        self._telegram = telegram
        self._window = window
        self._chat = chat

    async def see(self, words: str) -> None:
        await self._telegram.until(lambda: any(words in sent.text for sent in self._telegram.sent))
        await self._window.sees(words)
        await self._chat.until(words)


@pytest.mark.contract("D11")
@pytest.mark.contract("E4")
async def test_session_goes_on_from_telegram_in_the_browser_and_ends_in_the_cli(
    stage: Stage, telegram: FakeTelegram, tmp_path: Path
) -> None:
    stage.plan(
        in_two("The owl wakes. ", "It flies."),
        in_two("It hunts. ", "It rests."),
        in_two("Sleep ", "well."),
    )
    window = Window(await stage.page())
    await telegram.say("Tell me of the owl.")
    await window.sessions.first.click()
    session = await window.session()
    flags = ("--session", session, "--config", str(tmp_path / "roost.toml"))
    async with terminal(Roost(tmp_path), *flags) as chat:
        all_three = Surfaces(telegram, window, chat)
        await all_three.see("The owl wakes.")

        await window.say("And then?")  # while that streams
        stage.model.release()
        await all_three.see("It flies.")
        await all_three.see("It hunts.")
        stage.model.release()
        await all_three.see("It rests.")

        await chat.prompt()
        chat.type(f"Good night.{ENTER}")
        await all_three.see("Sleep")
        stage.model.release()
        await all_three.see("well.")

    for words in ("Tell me of the owl.", "And then?", "Good night."):
        await window.sees(words, times=1)
    # What grew became the answer; what was asked elsewhere stands above it.
    assert [sent.text for sent in telegram.sent] == [
        "The owl wakes. It flies.",
        "And then?\n\nIt hunts. It rests.",
        "Good night.\n\nSleep well.",
    ]
