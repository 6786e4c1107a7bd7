"""A11 and A12, with a real Chromium: tabs stay with a session, and end with it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.ids import SessionId
from roost.core.messages import ImagePart, ToolResultPart, plain_text
from roost.testing.models import ModelServer, call, say
from tests.browsing import Browsing, browsing
from tests.engine import Engine, started

# Chromium takes seconds to start, and many on a busy machine.
pytestmark = pytest.mark.timeout(180)

FORM = "<h1>Birds</h1><label>Name <input></label>"


class Desk:
    """A whole Roost whose agents have a browser."""

    def __init__(self, engine: Engine, browser: Browsing) -> None:
        self.engine = engine
        self.browser = browser

    async def does(self, session: SessionId, action: str, **given: object) -> ToolResultPart:
        """Let the agent use the browser in a turn of its own; what it was answered."""
        self.engine.server.plan(call("browser", {"action": action, **given}), say("Done."))
        turn = await self.engine.say(session, "Go")
        assert turn.state == "completed", turn
        messages = await self.engine.messages(session)
        parts = [part for message in messages for part in message.parts]
        return [part for part in parts if isinstance(part, ToolResultPart)][-1]

    async def sees(self, session: SessionId, action: str, **given: object) -> str:
        return plain_text((await self.does(session, action, **given)).content)


@pytest.fixture
async def desk(folder: Path, tmp_path: Path, server: ModelServer) -> AsyncGenerator[Desk]:
    async with browsing(tmp_path / "browsing") as browser:
        browser.site.page("/", FORM)
        # A turn waits less long than Chromium may take to start.
        await browser.refused("snapshot")
        engine = Engine(
            folder,
            server,
            clock=SystemClock(),
            tools=(browser.tool,),
            workspaces=browser.workspaces,
        )
        async with started(engine):
            browser.user = engine.owner.id
            yield Desk(engine, browser)


@pytest.mark.contract("A12")
async def test_dropped_agent_finds_the_same_tabs(desk: Desk) -> None:
    session = await desk.engine.session()
    assert 'heading "Birds"' in await desk.sees(session, "open", url="http://example.com/")
    desk.browser.session = session
    await desk.browser.evaluated("document.querySelector('input').value = 'Ada'")
    asked = len(desk.browser.site.asked)
    desk.engine.parts.agents.drop(session)
    assert not desk.engine.parts.agents.is_live(session)
    page = await desk.sees(session, "snapshot")
    assert page.startswith("From http://example.com/ ")
    assert "Ada" in page
    assert len(desk.browser.site.asked) == asked


@pytest.mark.contract("A11")
async def test_end_of_a_session_is_the_end_of_its_tabs_alone(desk: Desk) -> None:
    session, other = await desk.engine.session(), await desk.engine.session()
    for each in (session, other):
        await desk.sees(each, "open", url="http://example.com/")
    tabs, others = [await desk.browser.current(each) for each in (session, other)]
    assert tabs.current is not None
    page = tabs.current
    await desk.engine.account.end(session)
    assert page.is_closed()
    assert tabs.current is None
    assert others.current is not None
    assert 'heading "Birds"' in await desk.sees(other, "snapshot")


async def test_screenshot_is_part_of_the_answer(desk: Desk) -> None:
    session = await desk.engine.session()
    await desk.sees(session, "open", url="http://example.com/")
    shown = await desk.does(session, "screenshot")
    (picture,) = [part for part in shown.content if isinstance(part, ImagePart)]
    assert picture.media_type == "image/jpeg"
