"""The app while its server is gone, in a real browser."""

import signal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.e2e.chromium import PATIENCE
from tests.e2e.command import Roost

pytestmark = pytest.mark.asyncio(loop_scope="session")

READY = "navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller !== null)"


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> Page:
    page = await browser.new_page()
    page.set_default_timeout(PATIENCE)
    return page


async def test_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(
    roost: Roost, page: Page, port: int
) -> None:
    given = "--port", str(port)
    async with roost.running(*given) as server:
        await page.goto(f"{server.address}/sign-in")
        await page.wait_for_function(READY)
        await server.stop(signal.SIGTERM)
    await page.reload()
    await page.get_by_role("heading", name="Roost can't be reached").wait_for()
    mark = page.locator("img")
    assert await mark.evaluate("(image) => image.complete && image.naturalWidth > 0")
    async with roost.running(*given):
        await page.wait_for_selector("#app")
    assert page.url == f"{server.address}/sign-in"


async def test_worker_keeps_assets_and_nothing_else(roost: Roost, page: Page) -> None:
    async with roost.running() as server:
        await page.goto(server.address)
        await page.wait_for_function(READY)
        await page.reload()
        kept: list[str] = await page.evaluate(
            """async () => {
                await fetch("/api/me");
                const found = [];
                for (const name of await caches.keys())
                    for (const request of await (await caches.open(name)).keys())
                        found.push(new URL(request.url).pathname);
                return found;
            }"""
        )
    beside = {"/offline.html", "/offline.css", "/offline.js", "/favicon.svg"}
    assert beside < set(kept)
    assert all(path.startswith("/assets/") for path in set(kept) - beside)
