"""A11, A12, D6 and E5, with real shells: what stays with a session, and what ends with it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from roost.core.messages import plain_text
from roost.testing.models import ModelServer, call, say
from tests.boxes import commands, until
from tests.engine import eventually
from tests.seconds import within
from tests.terminal_hands import endless
from tests.workshop import Workshop, workshop_in

SLEEP = endless()


@pytest.fixture
async def workshop(folder: Path, server: ModelServer) -> AsyncGenerator[Workshop]:
    async with workshop_in(folder, server, "bubblewrap") as workshop:
        yield workshop


@pytest.fixture
async def local(folder: Path, server: ModelServer) -> AsyncGenerator[Workshop]:
    async with workshop_in(folder, server, "local") as workshop:
        yield workshop


class Resource:
    def __init__(self) -> None:
        self.closes = 0

    async def close(self) -> None:
        self.closes += 1


@pytest.mark.contract("A12")
@pytest.mark.contract("A11")
async def test_dropped_agent_finds_the_same_shell_and_processes(workshop: Workshop) -> None:
    engine, session = workshop.engine, await workshop.engine.session()
    await workshop.does(session, "cd /usr; export X=1; y=2; f() { echo f; }")
    await workshop.does(session, f"read x; echo got $x; {SLEEP}", background=True)
    workspace = await workshop.workspaces.of(engine.owner.id, session)
    engine.parts.agents.drop(session)
    assert not engine.parts.agents.is_live(session)
    assert await workshop.does(session, "pwd; echo $X$y; f") == "/usr\n12\nf\n"
    said = await workshop.processes(session, "write", id="p1", text="it\n")
    while "got it" not in said:
        said = await workshop.processes(session, "poll", id="p1", wait=10)
    assert await workshop.workspaces.of(engine.owner.id, session) is workspace


@pytest.mark.contract("A12")
async def test_after_a_restart_the_session_is_told_that_its_workspace_is_new(
    workshop: Workshop,
) -> None:
    session = await workshop.engine.session()
    await workshop.does(session, "cd /usr; export X=1; echo kept >~/file")
    await workshop.does(session, SLEEP, background=True)
    await workshop.restart()
    assert not commands(SLEEP)
    news = "[The earlier shell and 1 process ended when Roost restarted. Files are kept.]\n"
    assert await workshop.does(session, "pwd; echo $X; cat file") == f"{news}/workspace\n\nkept\n"
    assert await workshop.does(session, "pwd") == "/workspace\n"


@pytest.mark.contract("A12")
async def test_idle_workspace_is_reclaimed_and_the_session_is_told(workshop: Workshop) -> None:
    session = await workshop.engine.session()
    await workshop.does(session, "cd /usr")
    await workshop.does(session, SLEEP, background=True)
    workshop.clock.advance(11 * 3600)
    assert await workshop.workspaces.sweep() == 0
    assert await workshop.does(session, "pwd") == "/usr\n"
    workshop.clock.advance(13 * 3600)
    assert await workshop.workspaces.sweep() == 1
    told = "The earlier shell and 1 process ended: the workspace was not used for 12 h."
    texts = [plain_text(m.parts) for m in await workshop.engine.messages(session)]
    assert any(told in text for text in texts)
    await until(lambda: not commands(SLEEP))
    assert told in await workshop.does(session, "pwd")


def _sleepers() -> list[str]:
    """Those that were begun and have become what they are to be."""
    return [each for each in commands(SLEEP) if each.startswith("sleep")]


@pytest.mark.contract("A11")
@pytest.mark.parametrize("how", ["end", "delete", "reset"])
async def test_end_of_a_session_is_the_end_of_all_that_runs_in_it(
    workshop: Workshop, how: str
) -> None:
    engine, account = workshop.engine, workshop.engine.account
    session, other = await engine.session(), await engine.session()
    await account.point("cli", session)
    tree = f"trap '' TERM HUP; (setsid {SLEEP} & {SLEEP}) & "
    for each in (session, other):
        await workshop.does(each, f"{tree} disown -a; echo kept >file")
        await workshop.does(each, f"{tree} {SLEEP}", background=True)
    await until(lambda: len(_sleepers()) == 10)
    workspace = await workshop.workspaces.of(engine.owner.id, session)
    resource = Resource()

    async def make() -> Resource:
        return resource

    await workspace.attached("browser", make)
    match how:
        case "end":
            await account.end(session)
        case "delete":
            await account.delete(session)
        case _:
            await account.reset("cli", origin="cli")
    assert len(_sleepers()) == 5
    assert resource.closes == 1
    assert workspace.ground.home.host.exists() == (how != "delete")
    assert [view.session for view in workshop.workspaces.listed(engine.owner.id)] == [other]
    assert "p1 runs" in await workshop.processes(other, "list")
    await workshop.workspaces.end(session)
    assert resource.closes == 1


@pytest.mark.contract("A11")
async def test_end_in_mid_turn_kills_what_the_turn_runs(workshop: Workshop) -> None:
    session = await workshop.engine.session()
    await workshop.begins(session, f"echo begun; {SLEEP}")
    await workshop.engine.account.end(session)
    assert not commands(SLEEP)


@pytest.mark.contract("D6")
async def test_cancel_ends_a_tree_that_ignores_signals_within_a_second(workshop: Workshop) -> None:
    session = await workshop.engine.session()
    await workshop.does(session, "x=kept")
    deaf = "trap '' TERM INT HUP QUIT;"
    inner = f"{deaf} {SLEEP} & echo begun; while :; do {SLEEP}; done"
    middle = f'{deaf} bash -c "{inner}" & while :; do {SLEEP}; done'
    Path(workshop.engine.folder, "workspaces", session, "files", "tree.sh").write_text(middle)
    await workshop.begins(session, f"bash -c '{deaf} bash tree.sh & while :; do {SLEEP}; done'")
    await until(lambda: len(_sleepers()) >= 4)
    async with within(1):
        assert await workshop.engine.account.cancel(session)
        await until(lambda: not commands(SLEEP))
    (turn,) = [
        turn for turn in await workshop.engine.account.turns(session) if turn.state == "cancelled"
    ]
    assert turn.ended_at is not None
    assert await workshop.does(session, "echo $x") == "kept\n"


@pytest.mark.contract("E5")
async def test_approved_command_is_asked_again_if_its_workspace_is_gone(local: Workshop) -> None:
    session = await local.engine.session()
    local.server.plan(call("terminal", {"command": "echo ran >>count; cat count"}))
    turn = await local.engine.account.send(session, "Go")
    await local.engine.reached(turn.id, "waiting")
    (first,) = await local.engine.account.decisions.pending()
    assert first.asked.subject == "echo ran >>count; cat count"
    files = (await local.workspaces.of(local.engine.owner.id, session)).ground.home
    assert first.directory == files.inside
    await local.restart()
    local.server.plan(say("Done."))
    await local.engine.account.decisions.answer(first.id, "approved")

    async def asked_again() -> bool:
        return [each.id for each in await local.engine.account.decisions.pending()] not in (
            [],
            [first.id],
        )

    await eventually(asked_again)
    assert not (files.host / "count").exists()
    (second,) = await local.engine.account.decisions.pending()
    assert second.workspace != first.workspace
    await local.engine.account.decisions.answer(second.id, "approved")
    assert (await local.engine.ended(turn.id)).state == "completed"
    assert (await local.results(session))[-1] == "ran\n"


async def test_agent_is_woken_when_a_process_ends(workshop: Workshop, server: ModelServer) -> None:
    session = await workshop.engine.session()
    await workshop.does(session, "read x; echo $x", background=True, notify=True)
    workspace = await workshop.workspaces.of(workshop.engine.owner.id, session)
    server.plan(say("So it ended."))
    await workspace.processes.find("p1").write("finished\n")

    async def answered() -> bool:
        return "So it ended." in await workshop.engine.texts(session)

    await eventually(answered)
    assert "Process p1" in server.requests[-1].body.decode()
