"""What a session's browser shows just now, for people who look over its agent's shoulder."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from roost.workspace.browser import SCHEMES

if TYPE_CHECKING:
    from playwright.async_api import Page

FRESH = 1.0
"""Seconds for which a look is shown again, however many ask for one."""
LOOK_SECONDS = 3.0
_URL = 2000
_TITLE = 200


class TabView(msgspec.Struct, frozen=True):
    url: str
    title: str
    current: bool


class Glance(msgspec.Struct, frozen=True):
    """The tabs, and a PNG of the current one, if there was time for it."""

    tabs: tuple[TabView, ...] = ()
    picture: bytes | None = None


class Onlooker:
    """Of one session. It waits for no action of the agent's, nor does one wait for it: a page that
    does not let itself be looked at is shown as it was last seen."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._seen = Glance()
        self._page: Page | None = None
        self._looked = -FRESH

    async def look(self, page: "Page | None") -> Glance:
        """At the current tab, and the names of the others."""
        async with self._lock:
            if page is None:
                return Glance()
            if page is not self._page or time.monotonic() >= self._looked + FRESH:
                before = self._seen.picture if page is self._page else None
                self._page = page
                self._seen = Glance(await _tabs(page), await _picture(page) or before)
                self._looked = time.monotonic()
            return self._seen


async def _tabs(current: "Page") -> tuple[TabView, ...]:
    pages = current.context.pages
    titles = await titles_of(pages)
    return tuple(
        [
            TabView(page.url[:_URL], title, page is current)
            for page, title in zip(pages, titles, strict=True)
        ]
    )


async def titles_of(pages: "Sequence[Page]") -> list[str]:
    return await asyncio.gather(*[title_of(page) for page in pages])


async def title_of(page: "Page") -> str:
    """Nothing if it can't be had just now: the page goes elsewhere, or is stuck."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            return " ".join((await page.title()).split())[:_TITLE]
    return ""


async def _picture(page: "Page") -> bytes | None:
    """Nothing of the page is changed for it: not even the caret is hidden."""
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(LOOK_SECONDS):
            before = page.url
            taken = await page.screenshot(
                type="png", scale="css", caret="initial", timeout=LOOK_SECONDS * 1000
            )
            return taken if _may_be_seen(before) and _may_be_seen(page.url) else None
    return None


def _may_be_seen(url: str) -> bool:
    return url.partition(":")[0] in SCHEMES
