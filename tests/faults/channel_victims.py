"""Starts Roosts with a channel in processes of their own, one after the other, and has them die."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from roost.testing import faults
from tests.faults.channel_process import Orders

KILLS = int(os.environ.get("ROOST_TEST_CHANNEL_KILLS", "20"))
SEED = int(os.environ.get("ROOST_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
REPOSITORY = Path(__file__).parents[2]
PLACES = sorted([each for each in faults.PLACES if each.startswith(("channel.", "store.commit"))])
DEADLINE = 60.0


def fate(chance: random.Random) -> str:
    """The fault that one of them is born with, if it is not killed from outside."""
    place = chance.choice(PLACES)
    nth = chance.randrange(1, 6 if place.startswith("channel.") else 60)
    return f"{place}=kill:{nth}" if chance.random() < 0.7 else ""


class Victims:
    """Roosts on one folder, one after the other."""

    def __init__(self, process: Process, orders: Orders) -> None:
        self._process = process
        self._orders = orders
        self._pid: int | None = None

    async def bear(self, faults: str = "") -> int:
        assert self._process.stdin is not None
        orders = msgspec.structs.replace(self._orders, faults=faults)
        self._process.stdin.write(msgspec.json.encode(orders) + b"\n")
        self._pid = int((await self._line()).removeprefix("born "))
        return self._pid

    async def let_die(self, pid: int, within: float) -> None:
        """Of its fault point, or of us after a while."""
        died = asyncio.ensure_future(self._line())
        await asyncio.wait([died], timeout=within)
        if not died.done():
            with suppress(ProcessLookupError):  # it has just died
                os.kill(pid, signal.SIGKILL)
        assert await died == "died"
        self._pid = None

    def kill(self) -> None:
        """Whoever lives is nobody's child once their parent is gone."""
        self._process.kill()
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    async def _line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def victims(folder: Path, orders: Orders) -> AsyncGenerator[Victims]:
    command = [sys.executable, "-m", "tests.faults.channel_process", str(folder)]
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=log
        )
    them = Victims(process, orders)
    try:
        yield them
    finally:
        them.kill()
        await process.wait()
