"""Workspaces belong to a server: a session works where its files are, as long as that is there."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.errors import Conflict, WorkspaceElsewhere
from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.core.messages import ToolResultPart, plain_text
from roost.runtime import workspace_care
from roost.runtime.workspace_care import WorkspaceCare
from roost.store.postgres.connect import connect
from roost.store.servers import Servers
from roost.testing.models import ModelServer, call, say, stall
from roost.tools.files import file_tools
from tests import cluster, postgres
from tests.boxes import commands
from tests.engine import SECONDS, eventually
from tests.store_driver import beside, databases
from tests.streaming import View
from tests.terminal_hands import endless
from tests.workshop import Workshop, workshop_in

pytestmark = pytest.mark.postgres


@pytest.fixture
async def here(folder: Path, server: ModelServer) -> AsyncGenerator[Workshop]:
    async with workshop_in(folder, server, "bubblewrap") as workshop:
        yield workshop


@pytest.fixture
async def there(
    here: Workshop, folder: Path, tmp_path: Path, server: ModelServer
) -> AsyncGenerator[Workshop]:
    elsewhere = beside(folder, tmp_path / "elsewhere")
    async with workshop_in(elsewhere, server, "bubblewrap") as workshop:
        yield workshop
    del databases[elsewhere]


def members(workshop: Workshop) -> Servers:
    servers = workshop.engine.store.servers
    assert servers is not None
    return servers


async def run_sql(url: str, sql: str) -> None:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        await connection.execute(sql)
    finally:
        await connection.close(timeout=SECONDS)


async def bury(workshop: Workshop) -> None:
    """Whatever has said nothing in the last moment is dead to this server."""
    await eventually(lambda: members(workshop).bury(0))


@pytest.mark.contract("A12")
async def test_message_to_another_server_is_answered_where_the_files_are(
    here: Workshop, there: Workshop
) -> None:
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    assert await there.does(session, "cat file") == "kept\n"
    assert not there.engine.parts.agents.is_live(session)


@pytest.mark.contract("A12")
async def test_session_of_a_server_that_was_stopped_gets_another_workspace_and_is_told(
    here: Workshop, there: Workshop
) -> None:
    session, name = await here.engine.session(), members(here).id
    await here.does(session, "echo kept >file")
    await here.engine.stop()
    said = await there.does(session, "ls; echo listed")
    assert said.startswith(f"[The server {name} had the workspace of this session")
    assert "Files that are here" not in said
    assert said.endswith("listed\n")
    assert await there.does(session, "echo once") == "once\n", "it is told once"


@pytest.mark.contract("A12", "B3")
async def test_session_of_a_server_that_died_gets_another_workspace(
    here: Workshop, there: Workshop
) -> None:
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    await here.engine.crash()
    waits = await there.engine.account.send(session, "Are you there?")
    assert waits.state == "queued", "for as long as it may be there"
    await bury(there)
    there.engine.parts.turns.wake()
    assert (await there.engine.ended(waits.id)).state == "completed"
    assert "This is another workspace." in await there.does(session, "ls")


@pytest.mark.contract("A12")
async def test_session_is_told_though_its_next_server_died_before_it_was(
    here: Workshop, there: Workshop
) -> None:
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    await here.engine.stop()
    await there.begins(session, f"echo begun; {endless()}")
    (*_, turn), left = await there.engine.account.turns(session), there.workspaces
    await there.engine.crash()
    await there.open()
    assert (await there.engine.ended(turn.id)).state == "interrupted"
    assert "This is another workspace." in await there.does(session, "ls")
    await left.close()


async def test_server_that_lost_a_session_does_not_go_on_with_its_files(
    here: Workshop, there: Workshop
) -> None:
    session = await here.engine.session()
    await here.does(session, "echo old >file")
    await here.engine.app.drain()
    await there.does(session, "echo new >file")
    with pytest.raises(WorkspaceElsewhere, match=members(there).id):
        await here.engine.account.workspace(session)
    assert session not in here.workspaces.sessions


async def test_file_tools_say_that_the_files_are_others(here: Workshop, there: Workshop) -> None:
    there.engine.tools = file_tools(there.workspaces)
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    await here.engine.stop()
    await there.engine.restart()
    there.server.plan(call("read_file", {"path": "file"}), say("Oh."))
    await there.engine.say(session, "Read it")
    assert "This is another workspace." in (await there.results(session))[-1]


async def test_files_that_are_elsewhere_are_not_shown_but_said_where(
    here: Workshop, there: Workshop
) -> None:
    await here.engine.app.found_at("http://one.example")
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    with pytest.raises(WorkspaceElsewhere, match=r"one\.example.* Ask that server for them"):
        await there.engine.account.workspace(session)


async def test_who_looks_at_files_does_not_take_them_from_a_server_that_restarts(
    here: Workshop, there: Workshop
) -> None:
    session, name = await here.engine.session(), members(here).id
    await here.does(session, "echo kept >file")
    await here.engine.stop()
    with pytest.raises(WorkspaceElsewhere, match=f"{name}, which is not there now"):
        await there.engine.account.workspace(session)
    await here.restart()
    assert (await there.does(session, "cat file")).endswith("kept\n")
    assert session in here.workspaces.sessions


async def test_workspace_is_closed_on_its_server_only(here: Workshop, there: Workshop) -> None:
    session = await here.engine.session()
    await here.does(session, "true")
    with pytest.raises(WorkspaceElsewhere, match="Ask that server for them"):
        await there.engine.account.close_workspace(session)
    assert session in here.workspaces.sessions
    await here.engine.account.close_workspace(session)
    assert session not in here.workspaces.sessions


async def test_browser_that_is_elsewhere_is_not_shown_as_closed(
    here: Workshop, there: Workshop
) -> None:
    await here.engine.app.found_at("http://one.example")
    session = await here.engine.session()
    await here.does(session, "true")
    with pytest.raises(WorkspaceElsewhere, match=r"one\.example"):
        await there.engine.account.glance(session)
    assert (await here.engine.account.glance(session)).tabs == ()


async def test_who_looks_at_files_does_not_take_the_session_from_who_works_on_it(
    here: Workshop, there: Workshop
) -> None:
    here.server.plan(say("One") + stall())
    session = await here.engine.session()
    await here.engine.account.send(session, "Go")
    await there.engine.streamed(session, "One")
    with pytest.raises(WorkspaceElsewhere, match=members(here).id):
        await there.engine.account.workspace(session)


async def test_stopped_turn_goes_on_only_where_its_files_are(
    here: Workshop, there: Workshop
) -> None:
    session = await here.engine.session()
    await here.does(session, "true")
    here.server.plan(say("One") + stall())
    await here.engine.account.send(session, "Go")
    await there.engine.streamed(session, "One")
    assert await here.engine.account.cancel(session)
    with pytest.raises(Conflict, match="Send one: it is answered there"):
        await there.engine.account.proceed(session)
    assert (await here.engine.account.proceed(session)).state in ("running", "completed")


async def test_files_that_came_with_a_folder_are_its_servers(
    here: Workshop, there: Workshop, folder: Path
) -> None:
    """As after a move from SQLite, where nobody has to say where they are."""
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    await run_sql(databases[folder], "UPDATE sessions SET workspace_at = NULL")
    await here.restart()
    await eventually(lambda: members(there).has_elsewhere(session))
    assert (await there.does(session, "cat file")).endswith("Files are kept.]\nkept\n")


async def test_files_are_kept_from_a_database_that_knows_nothing_of_them(
    here: Workshop, folder: Path, postgres_server: postgres.Server
) -> None:
    """As if a folder's store was to be moved, and never was."""
    session = await here.engine.session()
    await here.does(session, "echo kept >file")
    await here.close()
    own, databases[folder] = databases[folder], await postgres_server.database()
    (folder / "store.id").unlink()
    await here.open()
    parts = here.engine.parts
    await WorkspaceCare(here.workspaces, parts.store, parts.turns, parts.hub).tidy()
    assert session in await here.workspaces.stored()
    await here.close()
    await postgres_server.give_back(databases[folder])
    databases[folder] = own
    (folder / "store.id").unlink()
    await here.open()
    assert (await here.does(session, "cat file")).endswith("kept\n")


@pytest.mark.contract("A11")
async def test_server_that_lost_a_session_ends_what_runs_there(
    here: Workshop, there: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_care, "KEEP_UP", 0.05)
    await here.restart()
    sleep = endless()
    session, kept = await here.engine.session(), await here.engine.session()
    await here.does(session, sleep, background=True)
    await here.does(kept, "true")
    await here.engine.app.drain()
    await there.does(session, "true")

    async def has_ended() -> bool:
        return session not in here.workspaces.sessions and not commands(sleep)

    await eventually(has_ended)
    assert kept in here.workspaces.sessions


@pytest.mark.contract("A11")
async def test_session_that_is_ended_on_another_server_leaves_nothing_running(
    here: Workshop, there: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_care, "KEEP_UP", 0.05)
    await here.restart()
    sleep = endless()
    session, kept = await here.engine.session(), await here.engine.session()
    await here.does(session, sleep, background=True)
    await here.does(kept, "true")
    await there.engine.account.end(session)

    async def has_ended() -> bool:
        return session not in here.workspaces.sessions and not commands(sleep)

    await eventually(has_ended)
    assert kept in here.workspaces.sessions


# With real processes.


async def answered(server: cluster.Server, session: SessionId, words: str) -> str:
    """Say something there; what the last tool was answered in the turn."""
    view = View()
    async with asyncio.timeout(cluster.SECONDS), server.account.watch(session) as events:
        view.take(await anext(events))
        turn = (await server.account.send(session, words)).id
        while view.states.get(turn) != "completed":
            view.take(await anext(events))
    parts = [part for message in view.messages.values() for part in message.parts]
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    return plain_text(results[-1].content)


@pytest.mark.contract("A12", "B3")
@pytest.mark.timeout(180)
async def test_session_works_where_its_files_are_until_that_server_dies(
    tmp_path: Path, server: ModelServer, url: str
) -> None:
    server.plan(
        *(call("write_file", {"path": "file", "content": "kept"}), say("Written.")),
        *(call("read_file", {"path": "file"}), say("Read.")),
        *(call("read_file", {"path": "file"}), say("Gone.")),
    )
    environ = {"ROOST_LEASES_TTL": "20s"}
    async with cluster.running(tmp_path, server, [url, url], environ) as (here, there):
        session = (await here.account.create(origin="test", title="Session")).id
        await answered(here, session, "Write")
        assert "kept" in await answered(there, session, "Read")
        assert (here.data / "workspaces" / session / "files" / "file").read_text() == "kept"
        await here.kill()
        await run_sql(url, "UPDATE servers SET seen_at = 0")  # the other one says that it is there
        assert "This is another workspace." in await answered(there, session, "Read again")
