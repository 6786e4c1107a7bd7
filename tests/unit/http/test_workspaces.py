"""What runs in a workspace, seen and ended over HTTP."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import WorkspacesConfig
from roost.core.ids import UserId
from roost.testing.models import ModelServer, call, say
from roost.tools.terminal import TerminalTool
from roost.workspace import glance
from roost.workspace.workspaces import Workspaces
from tests.boxes import commands, sandbox_of
from tests.browsing import browsing
from tests.terminal_hands import endless
from tests.unit.http.served import Client, Served, started

SLEEP = endless()


async def _anyone(_: UserId) -> bool:
    return True


@pytest.fixture
async def served(folder: Path, server: ModelServer, tmp_path: Path) -> AsyncGenerator[Served]:
    async with sandbox_of("bubblewrap") as sandbox:
        workspaces = Workspaces(
            sandbox, tmp_path / "boxes", WorkspacesConfig(), clock=SystemClock(), is_admin=_anyone
        )
        tools = TerminalTool(workspaces).tools()
        async with started(Served(folder, server, tools=tools, workspaces=workspaces)) as served:
            yield served
        await workspaces.close()


@pytest.fixture
async def session(browser: Client, served: Served, server: ModelServer) -> str:
    """With a shell, and a process in the background."""
    session = await browser.session()
    server.plan(call("terminal", {"command": SLEEP, "background": True}), say("It runs."))
    await served.engine.say(session)
    return session


async def test_process_is_listed_and_ended(browser: Client, session: str) -> None:
    (workspace,) = await browser.get("/api/workspaces")
    assert workspace["session"] == session
    (process,) = await browser.get(f"/api/sessions/{session}/processes")
    assert (process["command"], process["status"]) == (SLEEP, None)
    assert commands(SLEEP)
    assert (await browser.ask("DELETE", f"/api/sessions/{session}/processes/{process['id']}"))[
        0
    ] == 204
    assert not commands(SLEEP)
    (process,) = await browser.get(f"/api/sessions/{session}/processes")
    assert process["status"] is not None


async def test_workspace_is_closed(browser: Client, session: str) -> None:
    assert (await browser.ask("DELETE", f"/api/sessions/{session}/workspace"))[0] == 204
    assert await browser.get("/api/workspaces") == []
    assert not commands(SLEEP)


async def test_disabling_a_user_ends_what_their_agents_have_running(
    served: Served, browser: Client, server: ModelServer
) -> None:
    bob = await served.identities.people.create("Bob")
    his = served.engine.app.of(bob.id)
    session = (await his.create(origin="test", title="Session")).id
    server.plan(call("terminal", {"command": SLEEP, "background": True}), say("It runs."))
    async for _ in his.talk(session, "Go"):
        pass
    assert commands(SLEEP)
    assert (await browser.ask("PATCH", f"/api/users/{bob.id}", {"disabled": True}))[0] == 200
    assert not commands(SLEEP)


async def test_session_without_a_browser_has_no_picture(browser: Client, session: str) -> None:
    path = f"/api/sessions/{session}/browser"
    assert await browser.get(path) == {"tabs": [], "picture": False}
    assert (await browser.ask("GET", f"{path}/picture"))[0] == 404


async def test_browser_is_looked_at(
    folder: Path, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glance, "LOOK_SECONDS", 60.0)  # there is time on a busy machine too
    server.plan(call("browser", {"action": "open", "url": "http://example.com/"}), say("Open."))
    async with browsing(tmp_path) as real:
        real.site.page("/", "<title>Birds</title><h1>Birds</h1>")
        served = Served(folder, server, tools=(real.tool,), workspaces=real.workspaces)
        async with started(served), served.browser() as browser:
            session = await browser.session()
            await served.engine.say(session, "Look at example.com")
            path = f"/api/sessions/{session}/browser"
            tab = {"url": "http://example.com/", "title": "Birds", "current": True}
            assert await browser.get(path) == {"tabs": [tab], "picture": True}
            async with browser.connections.get(served.url / f"{path[1:]}/picture") as answer:
                assert (answer.status, answer.content_type) == (200, "image/png")
                assert answer.headers["Cache-Control"] == "no-store"
                assert (await answer.read()).startswith(b"\x89PNG")
