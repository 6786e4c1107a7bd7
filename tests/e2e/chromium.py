"""A real browser, and patience with it."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright, expect

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
