"""A session's page, as somebody has it who is signed in."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from playwright.async_api import Browser, Locator, Page

from bench.server.client import Client
from bench.server.process import Server
from roost.core.ids import SessionId


class Browsing(NamedTuple):
    """What it is measured with. `tell` hears what is being done."""

    server: Server
    client: Client
    browser: Browser
    tell: Callable[[str], None]

    @asynccontextmanager
    async def page(self, session: SessionId, query: str = "") -> AsyncGenerator[Page]:
        """Signed in as a program is: that changes nothing of what is measured."""
        authorization = {"Authorization": f"Bearer {self.server.token}"}
        async with await self.browser.new_context(extra_http_headers=authorization) as context:
            page = await context.new_page()
            await page.goto(f"{self.server.url}/s/{session}{query}")
            await composer(page).wait_for()
            yield page


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message", exact=True)


def stop(page: Page) -> Locator:
    """The button that is there while a turn runs."""
    return page.get_by_role("button", name="Stop", exact=True)
