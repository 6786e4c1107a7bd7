"""A real Roost with a scripted model behind it, and real browsers in front of it."""

import signal
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, ConsoleMessage, Page

from roost.testing.models import Answer, ModelServer
from tests import ports
from tests.e2e.chromium import PATIENCE, empty
from tests.e2e.command import Roost, Server

CONFIG = """
[models]
default = "test/model"
small = "test/small"

[memory]
provider = "none"

[providers.test]
vendor = "compatible"
base_url = "{url}"
models = ["model", "other", "small"]

{more}
"""
TELEGRAM = """
[channels.telegram]
allow = ["42"]

[channels.telegram.options]
token = "{token}"
api = "{api}"
"""
DESK = (1440, 900)
PHONE = (390, 844)


class Stage:
    """`address` stays the same when the server is killed and comes back."""

    def __init__(self, roost: Roost, model: ModelServer, browser: Browser, folder: Path) -> None:
        self.model = model
        self._roost = roost
        self._browser = browser
        self._config = folder / "roost.toml"
        self._port = ports.held()
        self._running = AsyncExitStack()
        self.server: Server | None = None
        self._links: list[str] = []
        self.troubles: list[str] = []
        self.expected_breaks = False
        """Set by who kills the server: what the browser says of lost connections is no trouble."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{ports.number(self._port)}"

    def configure(self, more: str = "") -> None:
        self._config.write_text(CONFIG.format(url=self.model.openai_url, more=more))

    def plan(self, *answers: Answer) -> None:
        """Of the model that is talked to; who gives titles is another."""
        self.model.plan(*answers, model="model")

    async def start(self) -> Server:
        arguments = ("--config", str(self._config), "--port", str(ports.number(self._port)))
        self.server = await self._running.enter_async_context(self._roost.running(*arguments))
        self._links = [word for word in self.server.greeting.split() if "#" in word]
        return self.server

    async def kill(self) -> None:
        assert self.server is not None
        await self.server.stop(signal.SIGKILL)
        await self._running.aclose()
        self._running = AsyncExitStack()

    async def close(self) -> None:
        await self._running.aclose()
        self._port.close()

    async def link(self, user: str | None = None) -> str:
        """One that signs in, the owner or someone else. What the server said as it started will
        do for the owner, once: the command takes a second."""
        if user is None and self._links:
            return self._links.pop()
        return await self._users("link", *([user] if user else []))

    async def add_user(self, name: str) -> str:
        """A member; the answer is a link that signs them in."""
        return await self._users("add", name)

    async def _users(self, *arguments: str) -> str:
        made = await self._roost("user", *arguments, "--config", str(self._config))
        return next(word for word in made.out.split() if "#" in word)

    async def page(
        self,
        *,
        size: tuple[int, int] = DESK,
        dark: bool = False,
        signed_in: bool = True,
        user: str | None = None,
    ) -> Page:
        """A window of a browser of its own, of the owner if it is nobody else's."""
        width, height = size
        context = await self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=width < 600,
        )
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        self._listen(page)
        if signed_in:
            await page.goto(await self.link(user))
            await page.wait_for_url(f"{self.address}/")
        return page

    def _listen(self, page: Page) -> None:
        """A page that breaks, or does what its policy forbids, breaks the test."""
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, said: ConsoleMessage) -> None:
        lost = self.expected_breaks and "net::ERR_" in said.text
        # Whether one is signed in is asked by asking.
        asks = "401" in said.text and said.location["url"].endswith("/api/me")
        if said.type == "error" and not lost and not asks:
            self.troubles.append(f"{said.text} {said.location}")


@asynccontextmanager
async def staged(folder: Path, browser: Browser, more: str = "") -> AsyncGenerator[Stage]:
    async with ModelServer() as model:
        stage = Stage(Roost(folder), model, browser, folder)
        stage.configure(more)
        try:
            await stage.start()
            yield stage
        finally:
            await empty(browser)  # before its server goes
            await stage.close()
