"""A session's tabs: a context of the browser, opened when used, never lost without a word."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from roost.core.errors import WorkspaceError
from roost.workspace.browser import Browser
from roost.workspace.glance import Glance, Onlooker

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, Page

    from roost.workspace.proxy import Pass

CONTEXTS = 8
"""How many sessions have tabs at once. Each takes some hundred megabytes."""
TABS = 10
CLOSE_SECONDS = 10.0
DIALOGS = 20
"""With more of them in one action, a page only wants to be in the way."""

_NOTES = 10


class AllTabs:
    """Those of all sessions, the least recently used first. There are at most `most`; to make room,
    one that nobody uses just now is closed."""

    def __init__(self, browser: Browser, *, most: int = CONTEXTS) -> None:
        self.browser = browser
        self._most = most
        self._open: list[Tabs] = []

    async def make(self) -> "Tabs":
        """For a workspace to keep. Nothing is opened yet."""
        return Tabs(self)

    async def make_room(self) -> None:
        while len(self._open) >= self._most:
            idle = next((tabs for tabs in self._open if not tabs.is_busy), None)
            if idle is None:
                raise WorkspaceError("all browsers are in use. Try again in a minute.")
            await idle.lose("Your tabs were closed to make room for another session's.")

    def used(self, tabs: "Tabs") -> None:
        self.forget(tabs)
        self._open.append(tabs)

    def forget(self, tabs: "Tabs") -> None:
        if tabs in self._open:
            self._open.remove(tabs)


class Tabs:
    """`notes` are what happened to the pages meanwhile, to be told with the next answer; `promised`
    is where the call of that id was said to type."""

    def __init__(self, all_tabs: AllTabs) -> None:
        self.notes: list[str] = []
        self.promised: tuple[str, str] | None = None
        self.is_busy = False
        self._all = all_tabs
        self._opening: asyncio.Task[tuple[BrowserContext, Pass]] | None = None
        self._current: Page | None = None
        self._dialogs = 0
        self._closing: set[asyncio.Future[None]] = set()
        self._lock = asyncio.Lock()
        self._closed = False
        self._onlooker = Onlooker()

    async def glance(self) -> Glance:
        """What they show just now, beside whatever the agent does with them."""
        return await self._onlooker.look(self._current)

    @property
    def url(self) -> str | None:
        """Where the current tab is, if there is one."""
        return self._current.url if self._current is not None else None

    @property
    def current(self) -> "Page | None":
        return self._current

    @asynccontextmanager
    async def use(self) -> "AsyncGenerator[BrowserContext]":
        """The context, for one action at a time."""
        async with self._lock:
            self.is_busy = True
            try:
                yield await self._context()
            finally:
                self.is_busy = False
                self._dialogs = 0

    async def page(self, context: "BrowserContext") -> "Page":
        """The current tab, opened if there is none."""
        if self._current is None:
            self._current = await context.new_page()
        return self._current

    async def renew(self, context: "BrowserContext") -> "Page":
        """Another tab in place of the current one, which does not answer."""
        old, self._current = self._current, None
        page = await self.page(context)
        if old is not None:
            await _closed(old)
        return page

    async def show(self, page: "Page") -> None:
        self._current = page
        await page.bring_to_front()

    def why_refused(self, host: str) -> str | None:
        """Why the proxy let nothing through to this host, the last time it was asked. Once."""
        if self._opening is None or not self._opening.done() or _failed(self._opening):
            return None
        return self._opening.result()[1].refused.pop(host, None)

    def note(self, words: str) -> None:
        self.notes.append(words)
        del self.notes[:-_NOTES]

    async def lose(self, why: str) -> None:
        """Close them all, and say so at the next use."""
        self._all.forget(self)
        opening, self._opening, self._current = self._opening, None, None
        if opening is None:
            return
        with suppress(WorkspaceError):
            context, _ = await asyncio.shield(opening)
            await self._all.browser.close_context(context)
        self.note(why)

    async def close(self) -> None:
        self._closed = True
        await self.lose("")

    async def _context(self) -> "BrowserContext":
        if self._closed:
            raise WorkspaceError("the browser was closed.")
        if self._opening is not None and self._opening.done():
            if _failed(self._opening):
                # Whoever asked for it was gone by then.
                self._opening = None
                self._all.forget(self)
            else:
                await self._check(self._opening.result()[0])
        if self._opening is None:
            await self._all.make_room()
            self._opening = asyncio.create_task(self._open())
        self._all.used(self)
        opening = self._opening
        try:
            # Whoever waits may be cancelled; the next one finds what was opened.
            return (await asyncio.shield(opening))[0]
        finally:
            if opening.done() and _failed(opening):
                self._opening = None
                self._all.forget(self)

    async def _check(self, context: "BrowserContext") -> None:
        """A driver that died tells nobody; it only stops to answer."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await context.cookies("http://localhost")
        except (Error, TimeoutError):
            self._gone(context)

    async def _open(self) -> "tuple[BrowserContext, Pass]":
        context, ticket = await self._all.browser.open()
        context.on("page", self._opened)
        context.on("close", lambda _: self._gone(context))
        return context, ticket

    def _gone(self, context: "BrowserContext") -> None:
        """Chromium ended by itself: the next use starts another."""
        if self._opening is None or not self._opening.done() or self._closed:
            return
        if self._opening.result()[0] is context:
            self._opening, self._current = None, None
            self._all.forget(self)
            self.note("The browser ended unexpectedly; its tabs are gone.")

    def _opened(self, page: "Page") -> None:
        page.on("close", self._tab_closed)
        page.on("crash", lambda _: self.note("The page crashed."))
        page.on("dialog", self._answer)
        page.on("download", self._refuse)
        if len(page.context.pages) > TABS:
            self.note(f"The page wanted another tab; there are {TABS} already.")
            self._closing.add(closing := asyncio.ensure_future(_closed(page)))
            closing.add_done_callback(self._closing.discard)
            return
        if self._current is not None:
            self.note("The page opened another tab, which is now the current one.")
        self._current = page

    def _tab_closed(self, page: "Page") -> None:
        if self._current is page:
            left = [other for other in page.context.pages if other is not page]
            self._current = left[-1] if left else None

    async def _answer(self, dialog: "Dialog") -> None:
        from playwright.async_api import Error

        with suppress(Error):
            if dialog.type == "beforeunload":
                await dialog.accept()
            else:
                self.note(f"The page said ({dialog.type}, dismissed): {dialog.message[:500]}")
                self._dialogs += 1
                await dialog.dismiss()
            if self._dialogs > DIALOGS and dialog.page is not None:
                self._dialogs = 0
                self.note("The page asked again and again; its tab was closed.")
                await dialog.page.close()

    def _refuse(self, download: "Download") -> None:
        self.note(f"The page wanted to download {download.suggested_filename[:100]}: refused.")


def _failed(opening: "asyncio.Task[tuple[BrowserContext, Pass]]") -> bool:
    return opening.cancelled() or opening.exception() is not None


async def _closed(page: "Page") -> None:
    from playwright.async_api import Error

    with suppress(Error, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await page.close()
