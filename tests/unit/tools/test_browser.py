"""The `browser` tool, called as an agent calls it, with a real Chromium."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web

from roost.core.ids import new_session_id
from roost.core.messages import ImagePart
from roost.tools.base import ToolError
from roost.workspace import glance
from roost.workspace.files.pictures import picture_of
from roost.workspace.inside.trees import children
from tests.browsing import DEADLINE, Browsing, browsing, ref_of
from tests.network import PUBLIC
from tests.unit.tools.calling import written

# One Chromium for all of them: it takes seconds to start.
pytestmark = pytest.mark.asyncio(loop_scope="module")

HOME = """<title>Birds</title><h1>Birds</h1>
<a href="/two">The next page</a> <a href="/two" target="_blank">Another tab</a>
<form action="/said"><label>Name <input name=name></label>
<label>Kind <select name=kind><option>Owl</option><option>Wren</option></select></label>
<button>Send</button></form>
<button onclick="document.querySelector('h1').textContent = confirm('Really?')">Ask</button>
<button onclick="this.remove()">Go away</button>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Browsing]:
    async with browsing(tmp_path_factory.mktemp("browsing")) as shared:
        yield shared


@pytest.fixture
def browser(shared: Browsing, monkeypatch: pytest.MonkeyPatch) -> Browsing:
    """With a session of its own, and time for titles on a busy machine too."""
    monkeypatch.setattr(glance, "LOOK_SECONDS", DEADLINE)
    shared.session = new_session_id()
    shared.site.pages.clear()
    shared.site.asked.clear()
    shared.site.page("/", HOME)
    shared.site.page("/two", "<title>Two</title><h1>Page two</h1>")
    shared.site.page("/said", "<h1>Thank you</h1>")
    return shared


async def test_a_page_is_a_tree_of_elements_with_refs(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    assert page.startswith("From http://example.com/ (Birds)\n\n- ")
    assert 'heading "Birds"' in page
    assert 'textbox "Name"' in page
    assert ref_of(page, "The next page").startswith("e")


async def test_links_are_followed_and_left_again(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    await browser("click", ref=ref_of(page, "The next page"))
    await browser.seen('heading "Page two"')
    assert 'heading "Birds"' in await browser("back")


async def test_a_form_is_filled_in_and_sent(browser: Browsing) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.query_string)
        return web.Response(text="<h1>Thank you</h1>", content_type="text/html")

    browser.site.pages["/said"] = answer
    page = await browser("open", url="http://example.com/")
    page = await browser("type", ref=ref_of(page, 'textbox "Name"'), text="Ada L")
    page = await browser("type", ref=ref_of(page, 'combobox "Kind"'), text="Wren")
    await browser("press", ref=ref_of(page, 'textbox "Name"'), text="Enter")
    await browser.seen("Thank you")
    assert seen == ["name=Ada L&kind=Wren"]


async def test_a_ref_that_is_gone_says_what_to_do(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    gone = ref_of(page, "Go away")
    await browser("click", ref=gone)
    said = await browser.refused("click", ref=gone)
    assert said == f"There is no element {gone!r} any more. Take a new snapshot."
    assert "no element" in await browser.refused("click", ref="e1] *")
    assert await browser.refused("click") == "Say which element, by its ref."


async def test_part_of_a_page(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    part = await browser("snapshot", ref=ref_of(page, 'combobox "Kind"'))
    assert "Wren" in part
    assert "Send" not in part


async def test_long_pages_are_cut(browser: Browsing) -> None:
    browser.site.page("/long", "".join([f"<p>line {number}</p>" for number in range(3000)]))
    page = await browser("open", url="http://example.com/long")
    assert "more characters: take a snapshot of a ref." in page
    assert len(page) < 16_000


async def test_a_screenshot_is_a_picture(browser: Browsing) -> None:
    await browser("open", url="http://example.com/")
    await browser("scroll", text="down")
    got = await browser.run("screenshot", browser.context())
    picture = got.content[1]
    assert isinstance(picture, ImagePart)
    seen = picture_of(browser.kept[picture.blob])
    assert seen is not None
    assert (seen.media_type, seen.width, seen.height) == ("image/jpeg", 1280, 800)


async def test_dialogs_are_dismissed_and_told(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    page = await browser("click", ref=ref_of(page, "Ask"))
    assert "The page said (confirm, dismissed): Really?" in page
    assert "Really?" not in await browser.seen('heading "false"')


async def test_tabs(browser: Browsing) -> None:
    page = await browser("open", url="http://example.com/")
    await browser("click", ref=ref_of(page, "Another tab"))
    assert "Tab 2 of 2." in await browser.seen('heading "Page two"')
    listed = await browser("tabs")
    assert listed.endswith("  1. Birds http://example.com/\n* 2. Two http://example.com/two")
    assert 'heading "Birds"' in await browser("tab", tab=1)
    assert await browser.refused("tab", tab=3) == "There are 2 tabs."
    assert await browser("close") == "* 1. Two http://example.com/two"
    assert await browser("close") == "There are no tabs."
    assert await browser.refused("snapshot") == "No page is open: open one first."


async def test_tab_that_is_stuck_is_listed_and_closed(
    browser: Browsing, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = await browser("open", url="http://example.com/")
    await browser("click", ref=ref_of(page, "Another tab"))
    await browser.seen('heading "Page two"')
    stuck = asyncio.ensure_future(browser.evaluated("while (true) {}"))
    monkeypatch.setattr(glance, "LOOK_SECONDS", 0.5)
    async with asyncio.timeout(DEADLINE):
        while not (await browser("tabs")).endswith("* 2.  http://example.com/two"):
            pass  # it is not stuck yet
    monkeypatch.setattr(glance, "LOOK_SECONDS", DEADLINE)
    assert await browser("close") == "* 1. Birds http://example.com/"
    await asyncio.gather(stuck, return_exceptions=True)


async def test_sessions_have_nothing_in_common(browser: Browsing) -> None:
    browser.site.page("/cookie", "<h1>Here</h1>", Set_Cookie="a=b")
    await browser("open", url="http://example.com/cookie")
    assert await browser.evaluated("document.cookie") == "a=b"
    browser.session = new_session_id()
    await browser("open", url="http://example.com/")
    assert await browser.evaluated("document.cookie") == ""


async def test_what_it_would_do(browser: Browsing) -> None:
    intent = await browser.intent("open", url="HTTP://example.com:80/a#b")
    assert intent is not None
    assert (intent.subject, intent.asks) == ("http://example.com/a", False)
    assert await browser.intent("snapshot") is None
    page = await browser("open", url="http://example.com/")
    intent = await browser.intent("click", ref="e1")
    assert intent is not None
    assert (intent.subject, intent.asks) == ("http://example.com/", False)
    intent = await browser.intent("type", ref=ref_of(page, 'textbox "Name"'), text="Ada")
    assert intent is not None
    assert (intent.subject, intent.asks) == ("http://example.com Ada", True)


async def test_what_is_typed_into_a_frame_is_for_whose_frame_it_is(browser: Browsing) -> None:
    browser.network.name("other.example", [PUBLIC])
    browser.site.page("/frame", "<input aria-label=Inner>")
    browser.site.page("/outer", "<iframe src=http://other.example/frame></iframe>")
    page = await browser("open", url="http://example.com/outer")
    intent = await browser.intent("type", ref=ref_of(page, 'textbox "Inner"'), text="Ada")
    assert intent is not None
    assert intent.subject == "http://other.example Ada"


async def test_nothing_is_typed_where_nobody_agreed_to(browser: Browsing) -> None:
    browser.network.name("other.example", [PUBLIC])
    page = await browser("open", url="http://example.com/")
    context = browser.context()
    given = {"ref": ref_of(page, 'textbox "Name"'), "text": "Ada"}
    await browser.tool.intent(written(action="type", **given), context)
    page = await browser("open", url="http://other.example/")
    given["ref"] = ref_of(page, 'textbox "Name"')
    with pytest.raises(ToolError, match="The page has changed meanwhile"):
        await browser.run("type", context, **given)


async def test_a_page_that_is_not_there(browser: Browsing) -> None:
    assert "nowhere.example can't be reached from here: there is no such host." in (
        await browser.refused("open", url="http://nowhere.example/")
    )
    browser.network.name("dead.example", ["93.184.215.99"])
    assert "dead.example does not answer" in await browser.refused(
        "open", url="https://dead.example/"
    )
    assert "There is nothing here." in await browser("open", url="http://example.com/nothing")


async def test_it_takes_little_room(browser: Browsing) -> None:
    assert len(msgspec.json.encode(browser.tool.schema)) < 950


async def test_the_least_recently_used_makes_room_and_is_told(tmp_path: Path) -> None:
    async with browsing(tmp_path, most=2) as browser:
        browser.site.page("/", HOME)
        sessions = [new_session_id() for _ in range(3)]
        for session in sessions:
            await browser("open", session=session, url="http://example.com/")
        assert 'heading "Birds"' in await browser("snapshot", session=sessions[1])
        browser.session = sessions[0]
        assert await browser.refused("snapshot") == (
            "Your tabs were closed to make room for another session's. "
            "No page is open: open one first."
        )


@pytest.mark.parametrize("driver_too", [False, True], ids=["browser", "driver"])
async def test_an_ended_browser_is_told_and_started_again(tmp_path: Path, driver_too: bool) -> None:
    others = _drivers()
    async with browsing(tmp_path) as browser:
        browser.site.page("/", HOME)
        await browser("open", url="http://example.com/")
        if driver_too:
            (driver,) = _drivers() - others
            os.kill(driver, signal.SIGKILL)
        else:
            page = (await browser.current()).current
            assert page is not None
            assert page.context.browser is not None
            await page.context.browser.close()
        again = await browser("open", url="http://example.com/")
        assert "The browser ended unexpectedly; its tabs are gone." in again
        assert 'heading "Birds"' in again


def _drivers() -> set[int]:
    return {pid for pid in children(os.getpid()) if b"run-driver" in _command(pid)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # it went while it was looked for
