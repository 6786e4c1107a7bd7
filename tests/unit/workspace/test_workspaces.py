"""Workspaces: one for each session, reclaimed when idle, ended once, and told of when gone."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from datetime import timedelta
from pathlib import Path

import pytest

from roost.core.config import WorkspacesConfig
from roost.core.errors import (
    ConfigError,
    InvalidInput,
    NotFound,
    StoreUnavailable,
    WorkspaceError,
    WorkspaceGone,
)
from roost.core.ids import SessionId, UserId, new_session_id
from roost.testing.clock import FakeClock
from roost.workspace.base import Box, Ground, Sandbox, SandboxKind
from roost.workspace.disk import DiskFloor
from roost.workspace.place import FIRST_OWNER
from roost.workspace.workspaces import Moving, Workspaces
from tests.boxes import AS_ROOT, DEADLINE, KINDS, commands, sandbox_of, until
from tests.terminal_hands import GUEST, USER, Hands, endless, hands_on

HOURS = 12 * 3600
"""The default of workspaces.idle_ttl."""

SLEEP = endless()


@pytest.fixture(params=KINDS)
async def hands(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncGenerator[Hands]:
    async with hands_on(tmp_path, request.param, clock) as hands:
        yield hands


@pytest.fixture
async def idle(tmp_path: Path, clock: FakeClock) -> AsyncGenerator[Hands]:
    """Without boxes: nothing can run."""
    hands = Hands(tmp_path / "workspaces", None, clock)
    yield hands
    await hands.workspaces.close()


class Resource:
    def __init__(self, *, hangs: bool = False) -> None:
        self.closes = 0
        self._hangs = hangs

    async def close(self) -> None:
        self.closes += 1
        if self._hangs:
            await asyncio.Event().wait()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    "id",
    ["", "..", "ses_", "ses_/../..", "ses_a/b", "ses_A", "ses_a\n", "usr_a", "/ses_a", "ses_é"],
)
async def test_id_that_is_not_a_session_s_becomes_no_path(idle: Hands, id: str) -> None:
    with pytest.raises(InvalidInput):
        await idle.workspaces.of(USER, SessionId(id))
    with pytest.raises(InvalidInput):
        await idle.workspaces.forget(SessionId(id))
    assert not idle.folder.exists()


async def test_asked_for_at_once_it_is_the_same_one(idle: Hands) -> None:
    of = idle.workspaces.of
    first, *others = await asyncio.gather(*[of(USER, idle.session) for _ in range(5)])
    assert all(other is first for other in others)
    assert first.ground.home.host.stat().st_mode & 0o777 == 0o700
    assert first.ground.home.inside == "/workspace"
    assert [folder.inside for folder in first.ground.folders] == ["/workspace", "/output"]
    assert [folder.writable for folder in first.ground.folders] == [True, False]
    assert not first.is_live


async def test_workspace_is_nobody_else_s(idle: Hands) -> None:
    await idle.workspace()
    with pytest.raises(WorkspaceError, match="another user"):
        await idle.workspaces.of(GUEST, idle.session)


async def _anyone(user: object) -> bool:
    return True


def workspaces_with(folder: Path, clock: FakeClock, config: WorkspacesConfig) -> Workspaces:
    data = folder / "data" / "workspaces"
    return Workspaces(None, data, config, clock=clock, is_admin=_anyone)


async def test_folders_from_the_configuration_keep_their_paths(
    tmp_path: Path, clock: FakeClock
) -> None:
    given, meant = tmp_path / "link", tmp_path / "write"
    meant.mkdir()
    given.symlink_to(meant)
    config = WorkspacesConfig(read=("/usr/share",), write=(str(given),))
    workspaces = workspaces_with(tmp_path, clock, config)
    ground = (await workspaces.of(USER, new_session_id())).ground
    read, write = ground.folders[2:]
    assert (str(read.host), read.inside, read.writable) == ("/usr/share", "/usr/share", False)
    assert str(write.host) == write.inside == str(meant)
    assert write.writable


@pytest.mark.parametrize("path", ["/", "..", "data", "data/workspaces", "nowhere"])
def test_folder_that_holds_roosts_own_data_is_refused(
    tmp_path: Path, clock: FakeClock, path: str
) -> None:
    (tmp_path / "data" / "workspaces").mkdir(parents=True)
    given = str(tmp_path / path)
    with pytest.raises(ConfigError, match=r"workspaces\.read names"):
        workspaces_with(tmp_path, clock, WorkspacesConfig(read=(given,)))


async def test_only_admins_run_commands_without_a_box(tmp_path: Path) -> None:
    async with hands_on(tmp_path, "local") as hands:
        refused = await hands.refused("true", user=GUEST)
        assert "only an admin may do" in refused
        hands.session = new_session_id()
        assert await hands("echo yes", user=USER) == "yes\n"


async def test_without_a_sandbox_commands_are_refused_and_files_are_there(idle: Hands) -> None:
    assert "no sandbox works on this machine" in await idle.refused("true")
    assert (await idle.workspace()).ground.home.host.is_dir()


@pytest.mark.skipif(not AS_ROOT, reason="only root gives files away")
async def test_under_root_each_workspace_has_an_owner_who_stays(tmp_path: Path) -> None:
    async with hands_on(tmp_path, "bubblewrap") as hands:
        one = await hands.workspaces.of(USER, hands.session)
        two = await hands.workspaces.of(USER, new_session_id())
        assert FIRST_OWNER <= (one.ground.owner or 0) != two.ground.owner
        assert one.ground.home.host.stat().st_uid == one.ground.owner
        await hands.workspaces.end(hands.session)
        assert (await hands.workspace()).ground.owner == one.ground.owner
        await hands.workspaces.forget(hands.session)
        three = await hands.workspaces.of(USER, new_session_id())
        assert three.ground.owner not in (one.ground.owner, two.ground.owner)


async def test_end_kills_everything_once_and_keeps_files(hands: Hands) -> None:
    slow, quick = Resource(hangs=True), Resource()

    async def make(resource: Resource) -> Resource:
        return resource

    workspace = await hands.workspace()
    await workspace.attached("slow", lambda: make(slow))
    await workspace.attached("quick", lambda: make(quick))
    await hands(f"echo kept >file; setsid nohup {SLEEP} & {SLEEP} & disown -a")
    await hands(f"(setsid {SLEEP} &) ; {SLEEP}", background=True)
    await until(lambda: len(commands(SLEEP)) >= 4)
    ending = asyncio.create_task(hands.workspaces.end(hands.session))
    again = asyncio.create_task(hands.workspaces.end(hands.session))
    async with asyncio.timeout(DEADLINE):
        await asyncio.gather(ending, again)
    assert not commands(SLEEP)
    assert (slow.closes, quick.closes) == (1, 1)
    with pytest.raises(WorkspaceGone):
        await workspace.box()
    with pytest.raises(WorkspaceGone):
        await workspace.attached("quick", lambda: make(quick))
    answer = await hands("cat file")
    assert answer == "kept\n"
    assert (await hands.workspace()).id != workspace.id


async def test_next_workspace_waits_until_the_one_before_is_closed(hands: Hands) -> None:
    await hands(f"{SLEEP} & disown")
    ending = asyncio.create_task(hands.workspaces.end(hands.session))
    await asyncio.sleep(0)
    assert await hands("echo new") == "new\n"
    assert ending.done()
    assert not commands(SLEEP)


async def test_forgetting_removes_what_processes_locked(hands: Hands) -> None:
    await hands("mkdir -p a/b; touch a/b/c; chmod 000 a/b; chmod 500 a; ln -s /etc link")
    await hands.workspaces.forget(hands.session)
    assert names(hands.folder) == set()
    await hands.workspaces.forget(hands.session)
    assert Path("/etc/passwd").exists()


async def test_idle_workspace_is_closed_and_people_are_told(hands: Hands, clock: FakeClock) -> None:
    await hands(f"{SLEEP} & disown; cd /")
    await hands(SLEEP, background=True)
    clock.advance(HOURS - 1)
    assert await hands.workspaces.sweep() == 0
    clock.advance(2)
    assert await hands.workspaces.sweep() == 1
    said = "The earlier shell and 1 process ended: the workspace was not used for 12 h."
    assert hands.told == [(hands.session, f"{said} Files are kept.")]
    answer = await hands("pwd")
    home = (await hands.workspace()).ground.home.inside
    assert answer == f"[{said} Files are kept.]\n{home}\n"
    assert await hands("pwd") == f"{home}\n"
    assert not commands(SLEEP)


async def test_workspace_that_had_nothing_is_closed_without_a_word(
    idle: Hands, clock: FakeClock
) -> None:
    first = await idle.workspace()
    clock.advance(HOURS + 1)
    assert await idle.workspaces.sweep() == 1
    assert idle.told == []
    assert (await idle.workspace()).id != first.id


async def test_busy_workspace_is_never_idle(hands: Hands, clock: FakeClock) -> None:
    task = hands.running("echo begun; read line; echo $line")
    await hands.seen("begun")
    clock.advance(10 * HOURS)
    assert await hands.workspaces.sweep() == 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await hands.workspaces.sweep() == 0


async def test_workspaces_stay_for_as_long_as_agents_do(tmp_path: Path, clock: FakeClock) -> None:
    async def anyone(user: object) -> bool:
        return True

    workspaces = Workspaces(
        None,
        tmp_path,
        WorkspacesConfig(idle_ttl=timedelta(minutes=1)),
        clock=clock,
        is_admin=anyone,
        agents_idle=timedelta(hours=1),
    )
    await workspaces.of(USER, new_session_id())
    clock.advance(3599)
    assert await workspaces.sweep() == 0
    clock.advance(2)
    assert await workspaces.sweep() == 1


async def test_what_a_restart_took_is_told_once_even_if_nobody_said_goodbye(hands: Hands) -> None:
    workspace = await hands.workspace()
    await hands("cd /; export X=1")
    await hands(SLEEP, background=True)
    await hands(SLEEP, background=True)
    # As after kill -9: these never hear of an end.
    left = hands.workspaces
    async with sandbox_of(workspace.kind or "local") as sandbox:
        hands.again(sandbox)
        told = "[The earlier shell and 2 processes ended when Roost restarted. Files are kept.]\n"
        # Files are no reason to tell.
        await hands.workspace()
        assert await hands.processes("list") == f"{told}[nothing]"
        assert await hands("echo $X") == "\n"
        await hands.workspaces.close()
    await left.close()


async def test_what_was_not_told_before_a_second_crash_is_told_after_it(idle: Hands) -> None:
    place = idle.folder / idle.session
    place.mkdir(parents=True)
    first = await idle.workspace()
    (place / "alive.json").write_bytes(b'{"shell":true,"processes":0}')
    idle.again(None)
    assert (await idle.workspace()).id != first.id
    idle.again(None)
    workspace = await idle.workspace()
    assert await workspace.take_news() == (
        "The earlier shell ended when Roost restarted. Files are kept."
    )
    assert await workspace.take_news() == ""
    idle.again(None)
    assert await (await idle.workspace()).take_news() == ""


# Where there are several servers.


async def _move(session: SessionId, moving: Moving) -> None:
    await moving("srv_gone")


async def _answer_nothing(session: SessionId, moving: Moving) -> None:
    await moving("srv_gone")
    raise StoreUnavailable("its answer was lost", path="somewhere")


@pytest.mark.parametrize("shell", [True, False])
async def test_move_is_told_after_a_crash_that_came_first(idle: Hands, shell: bool) -> None:
    idle.workspaces.settle = _move
    await idle.workspace()
    if shell:
        trace = idle.folder / idle.session / "alive.json"
        trace.write_bytes(trace.read_bytes().replace(b'"shell":false', b'"shell":true'))
        assert b'"shell":true' in trace.read_bytes()
    idle.again(None)
    told = await (await idle.workspace()).take_move()
    assert told.startswith("The server srv_gone had the workspace of this session")
    assert "Files that are here" not in told


async def test_move_is_written_down_before_it_is_settled(idle: Hands) -> None:
    idle.workspaces.settle = _answer_nothing
    with pytest.raises(StoreUnavailable):
        await idle.workspace()
    idle.again(None)
    assert "srv_gone" in await (await idle.workspace()).take_news()


async def test_what_was_told_is_told_again_if_nothing_followed_it(idle: Hands) -> None:
    idle.workspaces.settle = _move
    told = await (await idle.workspace()).take_news()
    idle.again(None)
    workspace = await idle.workspace()
    assert await workspace.take_move() == told != "", "it may have been lost with the server"
    assert await workspace.take_move() == ""
    idle.again(None)
    assert await (await idle.workspace()).take_news() == ""


async def test_caller_is_told_of_a_move_that_its_subagent_found(
    tmp_path: Path, clock: FakeClock
) -> None:
    caller, subagent = new_session_id(), new_session_id()

    async def home_of(user: UserId, session: SessionId) -> SessionId:
        return caller

    async def settle(session: SessionId, moving: Moving) -> None:
        if session == caller:
            await moving("srv_gone")
            settled.append(session)

    settled: list[SessionId] = []
    config = WorkspacesConfig()
    workspaces = Workspaces(
        None, tmp_path / "rooms", config, clock=clock, is_admin=_anyone, home_of=home_of
    )
    workspaces.settle = settle
    for_subagent = await workspaces.of(USER, subagent)
    workspaces.settle = None  # from now on it is settled
    for_caller = await workspaces.of(USER, caller)
    assert settled == [caller]
    assert "srv_gone" in await for_subagent.take_news()
    assert "srv_gone" in await for_caller.take_news()


async def test_workspace_that_another_server_has_now_is_not_gone_on_with(hands: Hands) -> None:
    async def over(sessions: Collection[SessionId]) -> Collection[SessionId]:
        return sessions

    await hands(SLEEP, background=True)
    first = await hands.workspace()
    hands.workspaces.over, hands.workspaces.settle = over, _move
    second = await hands.workspace()
    assert second.id != first.id
    assert "srv_gone" in await second.take_news()
    await until(lambda: not commands(SLEEP))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"shell": 5}'])
async def test_trace_that_can_not_be_read_is_no_trace(idle: Hands, content: bytes) -> None:
    place = idle.folder / idle.session
    place.mkdir(parents=True)
    (place / "alive.json").write_bytes(content)
    assert await (await idle.workspace()).take_news() == ""


async def test_ended_session_has_nothing_to_tell(hands: Hands) -> None:
    await hands("cd /")
    await hands.workspaces.end(hands.session)
    assert await hands("true") == "[no output]"


async def test_what_runs_is_listed_for_its_user_and_can_be_stopped(
    hands: Hands, clock: FakeClock
) -> None:
    assert hands.workspaces.listed(USER) == ()
    await hands("cd /")
    await hands(f"echo out; {SLEEP}", background=True)
    await until(lambda: hands.workspaces.listed(USER)[0].processes[0].output == "out\n")
    clock.advance(5)
    (view,) = hands.workspaces.listed(USER)
    (process,) = view.processes
    assert (view.session, view.shell, view.directory) == (hands.session, True, "/")
    assert (process.id, process.status, process.output) == ("p1", None, "out\n")
    assert process.command == f"echo out; {SLEEP}"
    assert clock.now() - process.since == 5000
    assert hands.workspaces.listed(GUEST) == ()
    with pytest.raises(NotFound):
        await hands.workspaces.stop_process(GUEST, hands.session, "p1")
    await hands.workspaces.stop_process(USER, hands.session, "p1")
    (view,) = hands.workspaces.listed(USER)
    assert view.processes[0].status == -9
    assert not commands(SLEEP)


async def test_attached_is_made_once_and_again_after_it_failed(idle: Hands) -> None:
    workspace = await idle.workspace()
    made: list[Resource] = []

    async def make() -> Resource:
        await asyncio.sleep(0)
        made.append(Resource())
        return made[-1]

    async def fail() -> Resource:
        raise OSError("no browser")

    with pytest.raises(OSError, match="no browser"):
        await workspace.attached("browser", fail)
    both = await asyncio.gather(*[workspace.attached("browser", make) for _ in range(3)])
    assert both == made * 3
    await workspace.detach("browser")
    await workspace.detach("browser")
    assert made[0].closes == 1
    assert await workspace.attached("browser", make) is made[1]


async def test_resource_that_is_made_too_late_is_closed(idle: Hands) -> None:
    workspace = await idle.workspace()
    late, go = Resource(), asyncio.Event()

    async def make() -> Resource:
        await go.wait()
        return late

    task = asyncio.create_task(workspace.attached("browser", make))
    await asyncio.sleep(0)
    await idle.workspaces.end(idle.session)
    go.set()
    with pytest.raises(WorkspaceGone):
        await task
    assert late.closes == 1


class Late:
    """A sandbox whose boxes open once they are let."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.asked = asyncio.Event()
        self.let = asyncio.Event()
        self.boxes: list[Box] = []
        self._sandbox = sandbox

    @property
    def kind(self) -> SandboxKind:
        return self._sandbox.kind

    async def open(self, ground: Ground, *, network: bool) -> Box:
        self.asked.set()
        await self.let.wait()
        self.boxes.append(await self._sandbox.open(ground, network=network))
        return self.boxes[-1]

    async def close(self) -> None:
        await self._sandbox.close()


async def test_box_that_opens_too_late_is_closed(tmp_path: Path, clock: FakeClock) -> None:
    async with sandbox_of("local") as sandbox, asyncio.timeout(DEADLINE):
        late = Late(sandbox)
        hands = Hands(tmp_path / "workspaces", late, clock)
        workspace = await hands.workspace()
        opening = asyncio.create_task(workspace.box())
        await late.asked.wait()
        await hands.workspaces.end(hands.session)
        late.let.set()
        with pytest.raises(WorkspaceGone):
            await opening
        assert [box.is_open for box in late.boxes] == [False]
        await hands.workspaces.close()


async def test_box_that_died_is_replaced(hands: Hands) -> None:
    workspace = await hands.workspace()
    await hands("cd /; export X=1; y=2")
    box = await workspace.box()
    await box.close()
    assert await hands("echo $X$y; pwd") == (
        "1\n/\n[The earlier shell was ended; this is a new one in /.]"
    )


async def test_whoever_fills_the_disk_is_stopped_and_told(hands: Hands) -> None:
    workspace = await hands.workspace()
    await hands("cd /; export X=kept")
    await hands(SLEEP, background=True)
    task = hands.running(f"echo begun; {SLEEP}")
    await hands.seen("begun")
    await workspace.stop("the disk is full.")
    said = "What ran in the workspace was stopped: the disk is full."
    answer = await task
    assert answer.startswith(f"[{said}]\nbegun\n[The shell ended.")
    assert "[exit status -9 " in answer
    assert hands.told == [(hands.session, said)]
    assert not commands(SLEEP)
    assert "kept\n" in await hands("echo $X")


async def test_floor_watches_while_something_can_be_written(tmp_path: Path) -> None:
    floor = DiskFloor(tmp_path, 1 << 60)
    watch = asyncio.create_task(floor.run())
    async with hands_on(tmp_path, "local", floor=floor) as hands:
        answer = await hands("while :; do head -c 100000 /dev/zero >>file; sleep 0.01; done")
        assert "MB of disk is free, and this workspace has just written" in answer
        await until(lambda: len(hands.told) == 1)
    watch.cancel()


async def test_closing_ends_all_and_refuses_more(hands: Hands) -> None:
    for _ in range(3):
        hands.session = new_session_id()
        await hands(f"{SLEEP} & disown")
    await hands.workspaces.close()
    assert not commands(SLEEP)
    with pytest.raises(WorkspaceGone):
        await hands.workspace()


async def test_what_was_being_removed_at_a_crash_goes(tmp_path: Path) -> None:
    async with hands_on(tmp_path, "local") as hands:
        await hands.workspace()
        left = hands.folder / ".gone-ses_x-1234"
        (left / "files").mkdir(parents=True)
        await hands.workspaces.close()
        hands.again(None)
        await hands.workspace()
        await hands.workspaces.tidy()
        assert names(hands.folder) == {hands.session}
