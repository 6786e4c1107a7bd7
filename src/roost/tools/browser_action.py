"""One action in a tab of the browser, and how the page is seen after it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal

import msgspec
from yarl import URL

from roost.core.errors import WorkspaceError
from roost.core.messages import ImagePart
from roost.tools.base import ToolContext, ToolError, ToolOutput
from roost.workspace.addresses import read_url
from roost.workspace.browser import SCHEMES
from roost.workspace.glance import title_of, titles_of
from roost.workspace.tabs import Tabs

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Frame, Locator, Page, Request

CHARACTERS = 15_000

_SETTLE_MS = 3_000
_LEAVE_SECONDS = 0.2
_ARRIVE_SECONDS = 10.0

# fmt: off
Action = Literal[
    "open", "snapshot", "click", "type", "press", "scroll", "back", "screenshot", "tabs", "tab",
    "close",
]
# fmt: on


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a page may take, in milliseconds. To `see` it takes all of it if a frame could not
    be loaded."""

    load: int = 20_000
    act: int = 8_000
    see: int = 8_000


@asynccontextmanager
async def told(tabs: Tabs) -> AsyncGenerator[None]:
    """What goes wrong, in words for the model."""
    from playwright.async_api import Error, TimeoutError

    try:
        yield
    except WorkspaceError as error:
        raise ToolError(" ".join([*taken(tabs), str(error)])) from error
    except TimeoutError as error:
        said = "The page did not do that in time: take a snapshot and look at how it is now."
        raise ToolError(" ".join([*taken(tabs), said])) from error
    except Error as error:
        said = f"The browser says: {_line(error.message)}"
        raise ToolError(" ".join([*taken(tabs), said])) from error


class Acting:
    """One action in the current tab."""

    def __init__(
        self, tabs: Tabs, context: "BrowserContext", page: "Page", patience: Patience
    ) -> None:
        self._tabs = tabs
        self._context = context
        self._page = page
        self._patience = patience

    async def run(
        self, action: Action, context: ToolContext, *, url: str, ref: str, text: str, tab: int
    ) -> ToolOutput:
        match action:
            case "open":
                await self._open(url)
            case "snapshot":
                return await self._shown(ref)
            case "click":
                element = await self._element(ref)
                await self._and_wait(element.click(timeout=self._patience.act))
            case "type":
                await self._check_promise(context, ref)
                await self._and_wait(self._type(await self._element(ref), text))
            case "press":
                await self._check_promise(context, ref)
                await self._and_wait(self._press(ref, text))
            case "scroll":
                await self._page.mouse.wheel(0, -600 if text == "up" else 600)
            case "back":
                await self._page.go_back(timeout=self._patience.load, wait_until="domcontentloaded")
            case "screenshot":
                return await self._picture(context)
            case "tabs":
                return ToolOutput.of(await self._list())
            case "tab":
                await self._tabs.show(self._numbered(tab))
            case "close":
                await self._page.close()
                return ToolOutput.of(await self._list())
        return await self._shown()

    async def _open(self, address: str) -> None:
        from playwright.async_api import Error, TimeoutError

        url = read_url(address)
        host = url.raw_authority.lower()
        self._tabs.why_refused(host)
        try:
            try:
                await self._go(str(url))
            except TimeoutError:  # the page that is there may not let go
                self._page = await self._tabs.renew(self._context)
                await self._go(str(url))
        except Error as error:
            if self._tabs.notes and "ERR_ABORTED" in error.message:  # it is a download
                return
            raise ToolError(self._tabs.why_refused(host) or _plain(error.message)) from error
        if (why := self._tabs.why_refused(host)) is not None:
            raise ToolError(why)

    async def _go(self, url: str, tries: int = 3) -> None:
        from playwright.async_api import Error

        try:
            await self._page.goto(url, timeout=self._patience.load, wait_until="domcontentloaded")
        except Error as error:
            if "interrupted by another navigation" not in error.message:
                raise
            # Chromium is still busy to show the last failure, or the page led on at once.
            if "chrome-error:" in error.message and tries > 1:
                await self._go(url, tries - 1)

    async def _check_promise(self, context: ToolContext, ref: str) -> None:
        """A page may have gone elsewhere since somebody agreed to what is typed."""
        call, origin = self._tabs.promised or ("", "")
        if call == context.call and origin != await origin_of(self._page, ref):
            raise ToolError("The page has changed meanwhile. Take a new snapshot.")

    async def _element(self, ref: str) -> "Locator":
        if not ref:
            raise ToolError("Say which element, by its ref.")
        return await _found(self._page, ref)

    async def _and_wait(self, acting: Awaitable[None]) -> None:
        """Act, and if that leads to another page, wait until it is there."""
        leaving, arrived = asyncio.Event(), asyncio.Event()
        main = self._page.main_frame

        def leave(request: "Request") -> None:
            if request.is_navigation_request() and request.frame == main:
                leaving.set()

        def arrive(frame: "Frame") -> None:
            if frame == main:
                arrived.set()

        self._page.on("request", leave)
        self._page.on("framenavigated", arrive)
        try:
            await acting
            if await _happens(leaving, _LEAVE_SECONDS):
                await _happens(arrived, _ARRIVE_SECONDS)
        finally:
            self._page.remove_listener("request", leave)
            self._page.remove_listener("framenavigated", arrive)

    async def _type(self, element: "Locator", text: str) -> None:
        if await element.evaluate("element => element.tagName") == "SELECT":
            await element.select_option(label=text, timeout=self._patience.act)
        else:
            await element.fill(text, timeout=self._patience.act)

    async def _press(self, ref: str, key: str) -> None:
        if ref:
            await (await self._element(ref)).press(key, timeout=self._patience.act)
        else:
            await self._page.keyboard.press(key)

    def _numbered(self, tab: int) -> "Page":
        pages = self._context.pages
        if not 1 <= tab <= len(pages):
            raise ToolError(f"There are {len(pages)} tabs.")
        return pages[tab - 1]

    async def _list(self) -> str:
        current, pages = self._tabs.current, self._context.pages
        named = zip(pages, await titles_of(pages), strict=True)
        lines = [
            f"{'*' if page is current else ' '} {number}. {title} {page.url[:500]}"
            for number, (page, title) in enumerate(named, 1)
        ]
        return "\n".join([*taken(self._tabs), *lines]) or "There are no tabs."

    async def _picture(self, context: ToolContext) -> ToolOutput:
        page = await self._settled()
        data = await page.screenshot(
            type="jpeg", quality=75, scale="css", timeout=self._patience.load
        )
        blob = await context.keep(data, "image/jpeg")
        words = ToolOutput.of(await self._head(page)).content
        return ToolOutput((*words, ImagePart(blob, "image/jpeg", "screenshot.jpg")))

    async def _shown(self, ref: str = "") -> ToolOutput:
        page = await self._settled()
        if ref:
            tree = await (await self._element(ref)).aria_snapshot(
                mode="ai", timeout=self._patience.see
            )
        else:
            page, tree = await self._tree(page)
        if len(tree) > CHARACTERS:
            left = len(tree) - CHARACTERS
            tree = f"{tree[:CHARACTERS]}\n[{left} more characters: take a snapshot of a ref.]"
        return ToolOutput.of(f"{await self._head(page)}\n\n{tree or '(The page is empty.)'}")

    async def _tree(self, page: "Page") -> "tuple[Page, str]":
        from playwright.async_api import Error

        try:
            return page, await page.aria_snapshot(mode="ai", timeout=self._patience.see)
        except Error:  # it may just have gone on to another page
            page = await self._settled()
            return page, await page.aria_snapshot(mode="ai", timeout=self._patience.see)

    async def _settled(self) -> "Page":
        """The current tab, which may be another by now, when it has loaded or enough time went
        by."""
        from playwright.async_api import TimeoutError

        page = await self._tabs.page(self._context)
        with suppress(TimeoutError):
            await page.wait_for_load_state("load", timeout=_SETTLE_MS)
        if page.url.partition(":")[0] not in SCHEMES:
            await page.goto("about:blank")
            raise ToolError("The page led to where only http:// and https:// may.")
        return page

    async def _head(self, page: "Page") -> str:
        lines = [f"From {page.url[:2000]} ({await title_of(page)})", *taken(self._tabs)]
        pages = self._context.pages
        if len(pages) > 1:
            lines.append(f"Tab {pages.index(page) + 1} of {len(pages)}.")
        return "\n".join(lines)


async def _happens(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def taken(tabs: Tabs) -> list[str]:
    notes = list(tabs.notes)
    tabs.notes.clear()
    return notes


def _line(message: str) -> str:
    return message.partition("\n")[0].partition("Call log:")[0].strip()[:300]


def _plain(message: str) -> str:
    """`Page.goto: net::ERR_X at https://... Call log: ...` in few words."""
    said = _line(message.partition(" at ")[0].partition(": ")[2]).rstrip(".")
    return f"The page can't be opened: {said}."


async def _found(page: "Page", ref: str) -> "Locator":
    found = page.get_by_ref(ref)
    if not ref.isalnum() or await found.count() == 0:
        raise ToolError(f"There is no element {ref!r} any more. Take a new snapshot.")
    return found


async def origin_of(page: "Page | None", ref: str) -> str:
    """Whose page an element is on: that of a frame, if it is in one. The page itself is not asked,
    it might lie."""
    if page is None:
        raise ToolError("No page is open.")
    frame = page.main_frame
    if ref:
        handle = await (await _found(page, ref)).element_handle(timeout=_SETTLE_MS)
        frame = await handle.owner_frame() or frame
    elif await page.evaluate("document.activeElement instanceof HTMLIFrameElement"):
        raise ToolError("Say which element, by its ref.")
    scheme = frame.url.partition(":")[0]
    return str(URL(frame.url).origin()) if scheme in ("http", "https") else f"{scheme}:"
