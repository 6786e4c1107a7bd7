"""The pages that come with the server, in a real browser."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.e2e.chromium import PATIENCE
from tests.e2e.command import Roost, Server
from tests.e2e.web.window import Window

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def server(roost: Roost) -> AsyncGenerator[Server]:
    async with roost.running() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncGenerator[Page]:
    troubles: list[str] = []
    page = await browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(f"{said.type}: {said.text}"))
    yield page
    await page.close()
    assert [trouble for trouble in troubles if not _is_expected(trouble)] == []


def _is_expected(said: str) -> bool:
    """Nobody is signed in at first: the app asks, and Chromium writes down that it was told so."""
    return said.startswith("log") or "401 (Unauthorized)" in said


async def test_printed_link_signs_the_browser_in(server: Server, page: Page) -> None:
    link = next(line.split()[-1] for line in server.greeting.splitlines() if "#" in line)
    await page.goto(link)
    await page.wait_for_url(f"{server.address}/")
    me = await page.evaluate("fetch('/api/me').then((answer) => answer.json())")
    assert me["user"]["name"] == "owner"
    assert await page.evaluate("document.cookie") == ""


@pytest.mark.timeout(240)
async def test_first_visit_is_answered_by_the_model_that_comes_along(
    server: Server, page: Page
) -> None:
    page.set_default_timeout(120_000)
    await page.goto(next(line.split()[-1] for line in server.greeting.splitlines() if "#" in line))
    window = Window(page)
    await window.say("Say hello.")
    session = await window.session()
    said = window.turn("Say hello.").get_by_role("group").last.get_by_text("local/")
    await said.wait_for()
    states = await page.evaluate(
        """(session) => fetch(`/api/sessions/${session}/turns`)
          .then((answer) => answer.json())
          .then((found) => found.turns.map((turn) => turn.state))""",
        session,
    )
    assert states == ["completed"]


async def test_api_page_lists_every_operation(server: Server, page: Page) -> None:
    await page.goto(f"{server.address}/api/docs")
    await expect(page.locator("details").nth(50)).to_be_attached()
    await page.get_by_text("Send a message.").click()
    await expect(page.get_by_text("steer").first).to_be_visible()
