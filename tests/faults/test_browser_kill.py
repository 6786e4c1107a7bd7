"""No Chromium outlives Roost, however Roost ends."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.workspace.browser import unavailable
from roost.workspace.inside.trees import children
from tests.boxes import Watched, commands, until

DEADLINE = 120.0


@asynccontextmanager
async def holder(folder: Path) -> AsyncGenerator[Process]:
    if (why := unavailable(os.environ)) is not None:
        pytest.skip(why)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.browser_process", str(folder)),
        stdout=PIPE,
        # What ends in it is said at length.
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE):
            while (line := await process.stdout.readline()) and b"ready" not in line:
                pass
        assert line
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("killed", ["Roost", "the driver", "Roost and the driver"])
async def test_no_chromium_is_left_when_they_are_killed(tmp_path: Path, killed: str) -> None:
    async with holder(tmp_path) as process:
        (driver,) = children(process.pid)
        everyone = Watched.below(driver)
        assert len(everyone.pids) > 3
        if "driver" in killed:
            os.kill(driver, signal.SIGKILL)
        if "Roost" in killed:
            process.kill()
        assert await everyone.gone(DEADLINE) == []
        # A crash handler has no parent, but the folder among its words.
        words = str(tmp_path / "browser")
        await until(lambda: not commands(words))


@pytest.mark.timeout(300)
async def test_no_chromium_is_left_when_the_browser_is_closed(tmp_path: Path) -> None:
    async with holder(tmp_path) as process:
        everyone = Watched.below(process.pid)
        process.terminate()
        assert await everyone.gone(DEADLINE) == []
