"""Servers of tools end with Roost, however it ends, and with all that they started."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.boxes import DEADLINE, Watched

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_no_server_outlives_roost(tmp_path: Path, how: signal.Signals) -> None:
    roost = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.mcp_process", str(tmp_path)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert roost.stdout is not None
    async with asyncio.timeout(DEADLINE * 2):
        pid, *servers = map(int, (await roost.stdout.readline()).split())
    watched = Watched(servers)
    os.kill(pid, how)
    assert await roost.wait() == -how
    assert len(servers) == 2
    assert await watched.gone() == []
