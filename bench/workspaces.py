"""Workspaces: what a box costs to open, and to start something in, beside none at all."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.config import WorkspacesConfig
from roost.workspace.base import Box, Child, Folder, Ground, Sandbox
from roost.workspace.local import LocalSandbox
from roost.workspace.probe import bubblewrap, probe

_TIMES = 60
_OWNER = 60_001
_HOME = "/workspace"
_DEEP = """
trap '' TERM
sh -c 'trap "" TERM; sh -c "sleep 1000 & echo up; wait" & wait' &
wait
"""


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    """Boxes first. What a call in a terminal costs belongs here too."""
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
        return [*await _opening(local, boxed, folder), *await _working(boxed, folder)]
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
