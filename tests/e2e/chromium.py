"""A real browser, one for all tests of a worker, and patience with it."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from playwright.async_api import Browser, Error, async_playwright, expect

from roost.workspace.browser import executable

PATIENCE = 60_000
"""Milliseconds: on a busy machine everything takes its time, and none of it is measured here."""


@asynccontextmanager
async def launched() -> AsyncGenerator[Browser]:
    chromium = executable(os.environ)
    if chromium is None:
        pytest.skip("there is no Chromium")
    expect.set_options(timeout=PATIENCE)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, chromium_sandbox=os.geteuid() != 0
        )
        try:
            yield browser
        finally:
            await browser.close()


class Chromium:
    """Starting a browser takes as long as many a test. Cookies, storage, workers and permissions
    are a context's: whoever makes one of their own shares nothing but the process."""

    def __init__(self) -> None:
        self._running = AsyncExitStack()
        self._browser: Browser | None = None

    @asynccontextmanager
    async def lent(self) -> AsyncGenerator[Browser]:
        """With nothing in it. The tests have a loop in common with it, as Playwright wants it: what
        one of them leaves running there ends with it."""
        browser = await self._one_that_runs()
        others = asyncio.all_tasks()
        try:
            yield browser
        finally:
            await _end(asyncio.all_tasks() - others)
            await empty(browser)

    async def close(self) -> None:
        self._browser = None
        await self._running.aclose()

    async def _one_that_runs(self) -> Browser:
        if self._browser is None or not await _runs(self._browser):
            await self.close()
            self._browser = await self._running.enter_async_context(launched())
        return self._browser


async def empty(browser: Browser) -> None:
    """Of one that crashed nothing is left to close."""
    for context in browser.contexts:
        try:
            await context.close()
        except Error:
            if await _runs(browser):
                raise


async def _runs(browser: Browser) -> bool:
    """Asked of the browser itself: `is_connected` does not know of a driver that is gone."""
    try:
        await (await browser.new_context()).close()
    except Error:
        return False
    return True


async def _end(tasks: set[asyncio.Task[object]]) -> None:
    tasks = {task for task in tasks if task is not asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
