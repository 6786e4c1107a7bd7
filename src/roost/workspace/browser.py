"""The system's Chromium, one for all sessions: started when first needed, stopped when no session
has it, and without a way to the network but the proxy."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from roost.core.errors import BrowserLost, WorkspaceError
from roost.workspace.addresses import Guard
from roost.workspace.proxy import Pass, Proxy

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Playwright

log = structlog.stdlib.get_logger("roost.workspace")

START_SECONDS = 60.0
STOP_SECONDS = 10.0

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    # Chromium resolves no names itself, so that nothing can leave in a lookup either.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # No datagrams: neither QUIC nor calls between browsers.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-client-side-phishing-detection",
    "--disable-domain-reliability",
    "--no-pings",
)
# Chromium tells these about the forms and pages it sees.
_REPORTED_TO = frozenset(
    [
        *("content-autofill.googleapis.com", "optimizationguide-pa.googleapis.com"),
        *("safebrowsing.googleapis.com", "update.googleapis.com", "clients2.google.com"),
    ]
)
VIEWPORT = (1280, 800)
SCHEMES = ("http", "https", "about", "data", "blob", "chrome-error", "")
"""Of pages that may be seen: none of this machine's files."""


def executable(environ: Mapping[str, str]) -> str | None:
    """Where Chromium is, if it is on the PATH."""
    path = environ.get("PATH", os.defpath)
    return next((found for name in _NAMES if (found := shutil.which(name, path=path))), None)


def unavailable(environ: Mapping[str, str]) -> str | None:
    """Why there is no browser here, and what to do; None if there is one."""
    if find_spec("playwright") is None:
        return "The Python package playwright is missing. Install Roost with the extra `browser`."
    if executable(environ) is None:
        return "There is no Chromium on the PATH. Install one (Debian: apt install chromium)."
    return None


class Browser:
    """Belongs to one event loop. `home` is a folder that it may write to."""

    def __init__(self, guard: Guard, home: Path, environ: Mapping[str, str]) -> None:
        self._proxy = Proxy(guard, without=_REPORTED_TO)
        self._home = home
        self._environ = environ
        self._starting: asyncio.Task[Chromium] | None = None
        self._driver: Playwright | None = None
        self._contexts: dict[BrowserContext, Pass] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()
        self._closed = False

    @property
    def proxy_url(self) -> str:
        """Where its traffic goes through, while it runs."""
        return self._proxy.url

    async def open(self) -> "tuple[BrowserContext, Pass]":
        """A context: cookies, storage and tabs apart from all others."""
        async with self._lock:
            try:
                return await self._opened(await self._started())
            except BrowserLost:
                # Neither it nor its driver need say that they ended.
                self._contexts.clear()
                await self._stop()
                return await self._opened(await self._started())

    async def close_context(self, context: "BrowserContext") -> None:
        """Without any left, Chromium stops."""
        if (ticket := self._contexts.pop(context, None)) is None:
            return
        self._proxy.dismiss(ticket)
        # Whoever waits may give up; what is half stopped then would be nobody's.
        self._closing.add(closing := asyncio.create_task(self._close_context(context)))
        closing.add_done_callback(self._closing.discard)
        await asyncio.shield(closing)

    async def _close_context(self, context: "BrowserContext") -> None:
        async with self._lock:
            if self._contexts:
                await _quietly("context", context.close())
            else:
                await self._stop()

    async def close(self) -> None:
        self._closed = True
        self._contexts.clear()
        async with self._lock:
            await self._stop()

    async def _opened(self, chromium: "Chromium") -> "tuple[BrowserContext, Pass]":
        ticket = self._proxy.admit()
        try:
            context = await self._made(chromium, ticket)
        except BaseException:
            self._proxy.dismiss(ticket)
            raise
        self._contexts[context] = ticket
        return context, ticket

    async def _made(self, chromium: "Chromium", ticket: Pass) -> "BrowserContext":
        from playwright.async_api import Error

        width, height = VIEWPORT
        server, name, password = self._proxy.url, ticket.name, ticket.password
        try:
            async with asyncio.timeout(START_SECONDS):
                return await chromium.new_context(
                    proxy={"server": server, "username": name, "password": password},
                    viewport={"width": width, "height": height},
                    accept_downloads=False,
                    service_workers="block",
                    permissions=[],
                )
        except (Error, TimeoutError) as error:
            raise BrowserLost("Chromium opens no pages. Try again.") from error

    async def _started(self) -> "Chromium":
        if self._closed:
            raise WorkspaceError("Roost is stopping.")
        if self._starting is not None and self._starting.done():
            failed = self._starting.cancelled() or self._starting.exception() is not None
            if failed or not self._starting.result().is_connected():
                self._contexts.clear()
                await self._stop()
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        # Whoever waits may be cancelled; what is half started then would be nobody's.
        return await asyncio.shield(self._starting)

    async def _start(self) -> "Chromium":
        reason = unavailable(self._environ)
        found = executable(self._environ)
        if reason is not None or found is None:
            raise WorkspaceError(reason or "there is no Chromium.")
        from playwright.async_api import Error, async_playwright

        await asyncio.to_thread(self._home.mkdir, mode=0o700, parents=True, exist_ok=True)
        await self._proxy.open()
        try:
            async with asyncio.timeout(START_SECONDS):
                self._driver = await async_playwright().start()
                chromium = await self._driver.chromium.launch(
                    executable_path=found,
                    headless=True,
                    args=_FLAGS,
                    # Pages open tabs when someone clicked, not by the dozen.
                    ignore_default_args=["--disable-popup-blocking"],
                    # Its own traffic has no pass, and ends at the proxy.
                    proxy={"server": self._proxy.url},
                    # Root can't have Chromium's own sandbox.
                    chromium_sandbox=os.geteuid() != 0,
                    env=self._environment(),
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
        except (Error, TimeoutError) as error:
            log.warning("Chromium did not start", executable=found, why=str(error))
            raise WorkspaceError("Chromium did not start. The log says why.") from error
        log.info("Chromium started", executable=found, version=chromium.version)
        return chromium

    def _environment(self) -> dict[str, str | float | bool]:
        """Nothing of Roost's own environment, where there may be keys."""
        path = self._environ.get("PATH", os.defpath)
        return {"PATH": path, "HOME": str(self._home), "LANG": "C.UTF-8"}

    async def _stop(self) -> None:
        starting, self._starting = self._starting, None
        if starting is not None:
            await asyncio.wait([starting])
            if not starting.cancelled() and starting.exception() is None:
                await _quietly("Chromium", starting.result().close())
        driver, self._driver = self._driver, None
        if driver is not None:
            await _quietly("driver", driver.stop())
        await self._proxy.close()


async def _quietly(what: str, closing: Awaitable[None]) -> None:
    """What does not close in time, or is gone already, is left: it goes with the driver."""
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await closing
    except Exception:
        log.exception("a part of the browser could not be closed", part=what)
