"""What the tests in a browser rest on: they have it in common, and nothing that is in it."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator

import msgspec
import pytest
from playwright.async_api import Browser, Error

from tests.e2e.chromium import Chromium

HERE = "http://127.0.0.1:9/"


@pytest.fixture
async def chromium() -> AsyncGenerator[Chromium]:
    """One of its own, to be killed."""
    chromium = Chromium()
    yield chromium
    await chromium.close()


class _Process(msgspec.Struct):
    type: str
    id: int


class _Found(msgspec.Struct, rename="camel"):
    process_info: list[_Process]


async def _process(browser: Browser) -> int:
    session = await browser.new_browser_cdp_session()
    answer = await session.send("SystemInfo.getProcessInfo")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found = msgspec.convert(answer, _Found)
    return next(each.id for each in found.process_info if each.type == "browser")


async def _crash(browser: Browser) -> None:
    gone = asyncio.Event()
    browser.on("disconnected", lambda _: gone.set())
    os.kill(await _process(browser), signal.SIGKILL)
    await gone.wait()


async def _works(browser: Browser) -> bool:
    page = await browser.new_page()
    return await page.evaluate("1 + 1") == 2


async def test_browser_is_lent_again_with_nothing_of_the_one_before_in_it(
    chromium: Chromium,
) -> None:
    async with chromium.lent() as browser:
        first = await _process(browser)
        context = await browser.new_context()
        await context.add_cookies([{"name": "a", "value": "b", "url": HERE}])
    async with chromium.lent() as browser:
        assert await _process(browser) == first
        assert browser.contexts == []
        assert await (await browser.new_context()).cookies() == []


async def test_browser_that_crashed_is_replaced(chromium: Chromium) -> None:
    async with chromium.lent() as browser:
        assert await _works(browser)
        await _crash(browser)
        with pytest.raises(Error):
            await _works(browser)
    async with chromium.lent() as browser:
        assert await _works(browser)


async def test_what_a_test_left_running_ends_with_it(chromium: Chromium) -> None:
    async with chromium.lent():
        left = asyncio.create_task(asyncio.Event().wait())
    assert left.cancelled()
