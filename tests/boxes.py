"""Boxes for tests: opened on a folder of their own, and what runs in them seen from outside."""

import asyncio
import functools
import os
import select
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from roost.core.config import WorkspacesConfig
from roost.workspace.base import Box, Child, Folder, Ground, Sandbox, SandboxKind
from roost.workspace.bubblewrap import BubblewrapSandbox, Limits
from roost.workspace.inside.trees import below
from roost.workspace.local import LocalSandbox
from roost.workspace.probe import Probe, probe

DEADLINE = 60.0
OWNER = 60_001
HOME = "/workspace"
KINDS: tuple[SandboxKind, ...] = ("local", "bubblewrap")

AS_ROOT = os.geteuid() == 0


class Outcome(NamedTuple):
    status: int
    output: str


@functools.cache
def _probed() -> Probe:
    return asyncio.run(probe(WorkspacesConfig(), Path("/nowhere")))


async def need(kind: SandboxKind) -> None:
    """Skip the test where this kind does not work, and say why."""
    if kind == "bubblewrap":
        found = await asyncio.to_thread(_probed)
        if not found.works:
            pytest.skip(f"bubblewrap does not work here: {found.why_not}")


def own(*folders: Path) -> None:
    """Give them to whoever the processes of a box are."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        if AS_ROOT:
            os.chown(folder, OWNER, OWNER)


def ground_in(folder: Path, kind: SandboxKind, *others: Folder) -> Ground:
    home = folder / "home"
    own(home, folder / "scratch")
    inside = HOME if kind == "bubblewrap" else str(home)
    return Ground(
        (Folder(home.resolve(), inside, writable=True), *others), folder / "scratch", OWNER
    )


@asynccontextmanager
async def sandbox_of(
    kind: SandboxKind, *, limits: Limits | None = None, hidden: Sequence[Path] = ()
) -> AsyncGenerator[Sandbox]:
    await need(kind)
    sandbox = (
        LocalSandbox() if kind == "local" else BubblewrapSandbox(limits or Limits(), hidden=hidden)
    )
    try:
        yield sandbox
    finally:
        await sandbox.close()


@asynccontextmanager
async def box_in(
    folder: Path,
    kind: SandboxKind,
    *others: Folder,
    network: bool = False,
    limits: Limits | None = None,
) -> AsyncGenerator[Box]:
    async with sandbox_of(kind, limits=limits) as sandbox:
        box = await sandbox.open(ground_in(folder, kind, *others), network=network)
        try:
            yield box
        finally:
            await box.close()


async def begin(
    box: Box,
    *argv: str,
    tty: bool = False,
    environment: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> Child:
    return await box.start(
        argv,
        directory=box.ground.home.inside,
        environment=environment or {},
        tty=tty,
        pass_fds=pass_fds,
    )


async def run(box: Box, script: str, *arguments: str, shell: str = "/bin/sh") -> Outcome:
    """Run a script to its end."""
    child = await begin(box, shell, "-c", script, shell, *arguments)
    try:
        async with asyncio.timeout(DEADLINE):
            output = await read_all(child)
            return Outcome(await child.wait(), output)
    finally:
        child.close()


async def python(box: Box, code: str, *arguments: str) -> Outcome:
    return await run(box, 'exec /usr/bin/env python3 -c "$@"', code, *arguments)


async def read_all(child: Child) -> str:
    content = b""
    while piece := await read_some(child):
        content += piece
    return content.decode(errors="replace")


async def read_until(child: Child, words: str) -> str:
    """What it writes, up to these words and what came with them."""
    content = b""
    while words.encode() not in content:
        piece = await read_some(child)
        assert piece, f"it ended after {content!r}"
        content += piece
    return content.decode(errors="replace")


async def read_some(child: Child) -> bytes:
    fd = child.output if child.tty is None else child.tty
    assert fd is not None
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(fd, readable.set)
    try:
        async with asyncio.timeout(DEADLINE):
            await readable.wait()
    finally:
        loop.remove_reader(fd)
    try:
        return os.read(fd, 65536)
    except OSError:
        # How Linux says that nobody has the other side of a terminal any more.
        return b""


async def until(condition: Callable[[], bool]) -> None:
    """For what only looking can tell."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def open_files() -> int:
    """How many this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))


class Watched:
    """Processes that are held on to from outside, whatever becomes of their numbers."""

    def __init__(self, pids: Iterable[int]) -> None:
        self.pids = list(pids)
        self._fds: dict[int, int] = {}
        for pid in self.pids:
            try:
                self._fds[os.pidfd_open(pid)] = pid
            except ProcessLookupError:
                continue

    @classmethod
    def below(cls, pid: int) -> "Watched":
        return cls(below(pid))

    async def gone(self, within: float = DEADLINE) -> list[int]:
        """Those that still run after that time."""
        return await asyncio.to_thread(self._gone, within)

    def _gone(self, within: float) -> list[int]:
        deadline = time.monotonic() + within
        poll = select.poll()
        for fd in self._fds:
            poll.register(fd, select.POLLIN)
        while self._fds and (left := deadline - time.monotonic()) > 0:
            for fd, _ in poll.poll(left * 1000):
                poll.unregister(fd)
                os.close(fd)
                del self._fds[fd]
        for fd in self._fds:
            os.close(fd)
        return list(self._fds.values())


def commands(marker: str) -> list[str]:
    """The command lines on this machine that have a word in them."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
            if marker in line:
                found.append(line)
    return found
