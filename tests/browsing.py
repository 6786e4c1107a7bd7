"""A real Chromium on an internet of the test's own, used as an agent uses it."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.config import WorkspacesConfig
from roost.core.ids import BlobId, SessionId, UserId, new_session_id, new_user_id
from roost.core.messages import plain_text
from roost.testing.clock import FakeClock
from roost.tools.base import Intent, Tool, ToolContext, ToolError, ToolOutput
from roost.tools.browser import BrowserTool
from roost.tools.browser_action import Patience
from roost.workspace.browser import Browser, unavailable
from roost.workspace.tabs import CONTEXTS, AllTabs, Tabs
from roost.workspace.workspaces import Workspaces
from tests.network import PUBLIC, Network, Site, served
from tests.unit.tools.calling import context_of, written

DEADLINE = 120.0


class Browsing:
    """`site` is example.com, and everything else that has a name."""

    def __init__(self, folder: Path, *, most: int = CONTEXTS) -> None:
        self.site = Site()
        self.network = Network()
        self.network.name("example.com", [PUBLIC])
        self.browser = Browser(self.network.guard, folder / "browser", os.environ)
        self.tabs = AllTabs(self.browser, most=most)
        self.workspaces = Workspaces(
            None, folder, WorkspacesConfig(), clock=FakeClock(), is_admin=_nobody
        )
        self.tool = self.with_patience(Patience())
        self.user = new_user_id()
        self.session = new_session_id()
        self.kept: dict[BlobId, bytes] = {}

    def with_patience(self, patience: Patience) -> Tool:
        return BrowserTool(self.workspaces, self.tabs, patience=patience).tools()[0]

    def context(self, session: SessionId | None = None) -> ToolContext:
        return context_of(user=self.user, session=session or self.session, keep=self._keep)

    async def run(self, action: str, context: ToolContext, **given: object) -> ToolOutput:
        async with asyncio.timeout(DEADLINE):
            return await self.tool.run(written(action=action, **given), context)

    async def __call__(
        self, action: str, *, session: SessionId | None = None, **given: object
    ) -> str:
        """What the model reads."""
        return plain_text((await self.run(action, self.context(session), **given)).content)

    async def refused(self, action: str, **given: object) -> str:
        try:
            got = plain_text((await self.run(action, self.context(), **given)).content)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"it was not refused: {got}")

    async def seen(self, words: str) -> str:
        """The page, as soon as it has these words: it may take a while after a click."""
        async with asyncio.timeout(DEADLINE):
            while words not in (page := await self("snapshot")):
                pass
        return page

    async def intent(self, action: str, **given: object) -> Intent | None:
        return await self.tool.intent(written(action=action, **given), self.context())

    async def evaluated(self, script: str) -> object:
        """What a script in the current page gives: what a page may do, without the page."""
        tabs = await self.current()
        assert tabs.current is not None
        async with asyncio.timeout(DEADLINE):
            return await tabs.current.evaluate(script)

    async def current(self, session: SessionId | None = None) -> Tabs:
        workspace = await self.workspaces.of(self.user, session or self.session)
        return await workspace.attached("browser", self.tabs.make)

    async def _keep(self, data: bytes, media_type: str) -> BlobId:
        blob = BlobId(f"{media_type} {len(self.kept)}")
        self.kept[blob] = data
        return blob


@asynccontextmanager
async def browsing(folder: Path, *, most: int = CONTEXTS) -> AsyncGenerator[Browsing]:
    """Skips the test where there is no Chromium, and says so."""
    if (why := unavailable(os.environ)) is not None:
        pytest.skip(why)
    browsing = Browsing(folder, most=most)
    async with served(browsing.site) as port:
        browsing.network.put(PUBLIC, port)
        try:
            yield browsing
        finally:
            await browsing.workspaces.close()
            await browsing.browser.close()


def ref_of(snapshot: str, words: str) -> str:
    """The ref of the first element of a snapshot whose line has these words."""
    line = next(line for line in snapshot.splitlines() if words in line)
    return line.partition("[ref=")[2].partition("]")[0]


async def _nobody(user: UserId) -> bool:
    return False
