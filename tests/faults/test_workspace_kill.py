"""Whatever is killed with kill -9, Roost itself or what is between it and a box: nobody is left."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.workspace.base import SandboxKind
from roost.workspace.inside.trees import below, children
from tests.boxes import DEADLINE, KINDS, Watched, commands, need, until
from tests.faults.workspace_process import TOUGH

_TIMES = int(os.environ.get("ROOST_TEST_WORKSPACE_KILLS", "5"))


@asynccontextmanager
async def holder(kind: SandboxKind, folder: Path, marker: str) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.workspace_process", kind, str(folder), marker),
        stdout=PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def says(process: Process, word: str) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        assert (await process.stdout.readline()).decode().strip() == word


def new_marker() -> str:
    """A time to sleep that is nobody else's."""
    return f"{random.randrange(10**6, 10**7)}.{os.getpid()}"  # noqa: S311


def only_child(pid: int) -> int:
    (child,) = children(pid)
    return child


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", range(_TIMES))
async def test_nothing_outlives_a_roost_that_is_killed(
    tmp_path: Path, kind: SandboxKind, time: int
) -> None:
    await need(kind)
    marker = new_marker()
    async with holder(kind, tmp_path, marker) as process:
        await says(process, "open")
        await says(process, "ready")
        everyone = Watched.below(process.pid)
        assert len(commands(marker)) >= len(TOUGH)
        process.kill()
        assert await everyone.gone() == []
    await until(lambda: not commands(marker))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", range(1, 11))
async def test_nothing_outlives_a_roost_that_is_killed_while_it_opens_a_box(
    tmp_path: Path, kind: SandboxKind, number: int
) -> None:
    """As soon as there are so many processes below it."""
    await need(kind)
    marker = new_marker()
    async with holder(kind, tmp_path, marker) as process:
        await until(lambda: len(below(process.pid)) >= number)
        everyone = Watched.below(process.pid)
        process.kill()
        assert await everyone.gone() == []
    await until(lambda: not commands(marker))


@pytest.mark.parametrize("kind", KINDS)
async def test_boxes_go_with_what_they_were_started_from(tmp_path: Path, kind: SandboxKind) -> None:
    await need(kind)
    marker = new_marker()
    async with holder(kind, tmp_path, marker) as process:
        await says(process, "open")
        await says(process, "ready")
        everyone = Watched.below(process.pid)
        os.kill(only_child(process.pid), signal.SIGKILL)
        assert await everyone.gone() == []
        await says(process, "gone")
    await until(lambda: not commands(marker))


@pytest.mark.parametrize("kind", KINDS)
async def test_processes_go_with_their_keeper(tmp_path: Path, kind: SandboxKind) -> None:
    await need(kind)
    marker = new_marker()
    async with holder(kind, tmp_path, marker) as process:
        await says(process, "open")
        await says(process, "ready")
        keeper = only_child(only_child(process.pid))
        everyone = Watched.below(keeper)
        os.kill(keeper, signal.SIGKILL)
        assert await everyone.gone() == []
        await says(process, "gone")
    await until(lambda: not commands(marker))
