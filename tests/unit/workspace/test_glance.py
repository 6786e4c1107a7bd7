"""Looking at what a session's browser shows, with a real Chromium."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from roost.core.ids import new_session_id, new_user_id
from roost.workspace import glance
from roost.workspace.files.pictures import picture_of
from roost.workspace.glance import Glance
from tests.browsing import DEADLINE, Browsing, browsing, ref_of

# One Chromium for all of them: it takes seconds to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")


HOME = '<title>Birds</title><h1>Birds</h1><a href="/two" target="_blank">Another tab</a>'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Browsing]:
    async with browsing(tmp_path_factory.mktemp("browsing")) as shared:
        yield shared


@pytest.fixture
def browser(shared: Browsing, monkeypatch: pytest.MonkeyPatch) -> Browsing:
    """With a session of its own, and time for a look on a busy machine too."""
    monkeypatch.setattr(glance, "LOOK_SECONDS", DEADLINE)
    shared.session = new_session_id()
    shared.site.page("/", HOME)
    shared.site.page("/two", "<title>Two</title><h1>Page two</h1>")
    return shared


async def look(browser: Browsing) -> Glance:
    return await browser.workspaces.glance(browser.user, browser.session)


async def test_current_tab_is_seen(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    await browser("click", ref=ref_of(page, "Another tab"))
    await browser.seen('heading "Page two"')
    seen = await look(browser)
    assert [(tab.url, tab.title, tab.current) for tab in seen.tabs] == [
        ("http://example.com/", "Birds", False),
        ("http://example.com/two", "Two", True),
    ]
    assert seen.picture is not None
    picture = picture_of(seen.picture)
    assert picture is not None
    assert picture.media_type == "image/png"


async def test_looking_opens_nothing_and_uses_nothing(browser: Browsing) -> None:
    assert await look(browser) == Glance()
    assert browser.session not in [each.session for each in browser.workspaces.listed(browser.user)]
    await browser("open", url="http://example.com/")
    workspace = await browser.workspaces.of(browser.user, browser.session)
    workspace.last_used = 0
    assert (await look(browser)).tabs
    assert workspace.last_used == 0


async def test_others_see_nothing(browser: Browsing) -> None:
    await browser("open", url="http://example.com/")
    assert await browser.workspaces.glance(new_user_id(), browser.session) == Glance()


async def test_many_who_look_see_one_picture(
    browser: Browsing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glance, "FRESH", 3600.0)
    await browser("open", url="http://example.com/")
    first, *others = await asyncio.gather(*[look(browser) for _ in range(20)])
    assert all(each is first for each in others)
    monkeypatch.setattr(glance, "FRESH", 0.0)
    assert await look(browser) is not first


async def test_agent_and_onlooker_do_not_wait_for_each_other(browser: Browsing) -> None:
    await browser("open", url="http://example.com/")
    tabs = await browser.current()
    async with tabs.use():
        assert (await look(browser)).picture is not None


async def test_page_that_does_not_answer_is_shown_as_it_was(
    browser: Browsing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glance, "FRESH", 0.0)
    await browser("open", url="http://example.com/")
    seen = await look(browser)
    monkeypatch.setattr(glance, "LOOK_SECONDS", 0.2)
    stuck = asyncio.ensure_future(browser.evaluated("while (true) {}"))
    async with asyncio.timeout(DEADLINE):
        while (again := await look(browser)).picture is not seen.picture:
            seen = again  # a new one: it is not stuck yet
    assert again.picture is not None
    assert again.tabs[0].url == "http://example.com/"
    await browser.workspaces.end(browser.session)
    await asyncio.gather(stuck, return_exceptions=True)


async def test_page_of_this_machine_is_not_shown(browser: Browsing, tmp_path: Path) -> None:
    await browser("open", url="http://example.com/")
    tabs = await browser.current()
    (tmp_path / "secret.html").write_text("secret")
    assert tabs.current is not None
    await tabs.current.goto((tmp_path / "secret.html").as_uri())
    assert (await look(browser)).picture is None
