"""Workspaces: what a box costs to open, and to start something in, beside none at all."""

import asyncio
import os
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.clock import SystemClock
from roost.core.config import WorkspacesConfig
from roost.core.ids import BlobId, UserId, new_session_id, new_tool_call_id, new_turn_id
from roost.tools.base import ToolContext
from roost.tools.terminal import TerminalTool
from roost.workspace.base import Box, Child, Folder, Ground, Sandbox
from roost.workspace.local import LocalSandbox
from roost.workspace.probe import bubblewrap, probe
from roost.workspace.workspaces import Workspaces

_TIMES = 60
_CALLS = 1000
_OWNER = 60_001
_HOME = "/workspace"
_DEEP = """
trap '' TERM
sh -c 'trap "" TERM; sh -c "sleep 1000 & echo up; wait" & wait' &
wait
"""


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    """Boxes first, then what a call in a terminal costs."""
    with tempfile.TemporaryDirectory() as name:
        return asyncio.run(_measured(Path(name).resolve(), tell))


async def _measured(folder: Path, tell: Callable[[str], None]) -> list[Figure]:
    config = WorkspacesConfig()
    if os.geteuid() == 0:
        os.chown(folder, _OWNER, _OWNER)
    local, boxed = LocalSandbox(), bubblewrap(config, Path("/nowhere"))
    try:
        if not (found := await probe(config, Path("/nowhere"))).works:
            tell(f"bubblewrap does not work here: {found.why_not}")
            return []
        tell("opening boxes")
        figures = [*await _opening(local, boxed, folder), *await _working(boxed, folder)]
        tell("calling a terminal")
        return [*figures, *await _calling(boxed, folder)]
    finally:
        await local.close()
        await boxed.close()
        if os.geteuid() == 0:
            os.chown(folder, 0, 0)


async def _opening(local: Sandbox, boxed: Sandbox, folder: Path) -> list[Figure]:
    """In turn, so that what else the machine does falls on both."""
    without, within = Samples(), Samples()
    for _ in range(_TIMES):
        for sandbox, samples in ((local, without), (boxed, within)):
            box: list[Box] = []

            async def opened(sandbox: Sandbox = sandbox, box: list[Box] = box) -> None:
                box.append(await sandbox.open(_ground(sandbox, folder), network=False))

            await samples.wait(opened())
            await box[0].close()
    return [
        Figure(
            name="open a sandbox, over none",
            value=within.p50 - without.p50,
            unit="ms",
            target=at_most(20),
        ),
        Figure(
            name="open a sandbox",
            value=within.p50,
            unit="ms",
            limit=without.p50,
            against="the same without bubblewrap",
        ),
    ]


async def _working(sandbox: Sandbox, folder: Path) -> list[Figure]:
    starting, killing = Samples(), Samples()
    box = await sandbox.open(_ground(sandbox, folder), network=False)
    for _ in range(_TIMES):
        await starting.wait(_true(box))
        child = await _started(box, "/bin/sh", "-c", _DEEP)
        assert child.output is not None
        await _readable(child.output)
        await killing.wait(child.kill())
        child.close()
    await box.close()
    return [
        Figure(name="run `true` in a box", value=starting.p50, unit="ms"),
        Figure(
            name="kill a tree of depth 3, p99", value=killing.p99, unit="ms", target=at_most(1000)
        ),
    ]


async def _calling(sandbox: Sandbox, folder: Path) -> list[Figure]:
    """A trivial command through the tool, and through a bash on a pipe, in turn."""
    workspaces = Workspaces(
        sandbox,
        folder / "workspaces",
        WorkspacesConfig(),
        clock=SystemClock(),
        is_admin=_nobody,
    )
    (terminal,) = TerminalTool(workspaces).tools()
    context = ToolContext(
        user=UserId("usr_bench"),
        session=new_session_id(),
        turn=new_turn_id(),
        call=new_tool_call_id(),
        show=lambda text: None,
        keep=_kept,
    )
    bash = await asyncio.create_subprocess_exec("bash", "--norc", stdin=PIPE, stdout=PIPE)
    bare, called, fresh = Samples(), Samples(), Samples()
    by_rule = msgspec.structs.replace(context, allowed="by rule")
    for number in range(_CALLS):
        await bare.wait(_piped(bash))
        await called.wait(terminal.run('{"command":"true"}', context))
        if number % 10 == 0:
            await fresh.wait(terminal.run('{"command":"true"}', by_rule))
    bash.kill()
    await bash.communicate()
    await workspaces.close()
    return [
        Figure(
            name="a call of the terminal, over a bare shell",
            value=called.p50 - bare.p50,
            unit="ms",
            target=at_most(15),
        ),
        Figure(
            name="a call of the terminal",
            value=called.p50,
            unit="ms",
            limit=bare.p50,
            against="a bash on a pipe",
        ),
        Figure(
            name="a call of the terminal, p99",
            value=called.p99,
            unit="ms",
            limit=bare.p99,
            against="a bash on a pipe",
        ),
        Figure(name="a call in a fresh shell", value=fresh.p50, unit="ms"),
    ]


async def _piped(bash: Process) -> None:
    assert bash.stdin is not None
    assert bash.stdout is not None
    bash.stdin.write(b"true; echo done\n")
    await bash.stdout.readline()


async def _nobody(user: UserId) -> bool:
    return False


async def _kept(data: bytes, media_type: str) -> BlobId:
    raise AssertionError("nothing is kept here")


async def _true(box: Box) -> None:
    child = await _started(box, "/bin/true")
    await child.wait()
    child.close()


async def _started(box: Box, *argv: str) -> Child:
    return await box.start(argv, directory=box.ground.home.inside, environment={}, tty=False)


async def _readable(fd: int) -> None:
    readable = asyncio.Event()
    asyncio.get_running_loop().add_reader(fd, readable.set)
    try:
        async with asyncio.timeout(10):
            await readable.wait()
    finally:
        asyncio.get_running_loop().remove_reader(fd)


def _ground(sandbox: Sandbox, folder: Path) -> Ground:
    inside = _HOME if sandbox.kind == "bubblewrap" else str(folder)
    return Ground((Folder(folder, inside, writable=True),), folder, _OWNER)
