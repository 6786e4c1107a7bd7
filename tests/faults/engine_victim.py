"""Starts engines in a process of their own, hears what they say, and kills them."""

import asyncio
import os
import random
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from roost.core.events import Changed, ToolCallUpdated
from roost.testing.models import ModelRequest, Reply, call, cut, fail, pause, say, stall, think
from tests.faults.engine_books import Books
from tests.faults.engine_lines import Born, Died, Line, Opened, Orders, Saw, decode, encode

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 60.0
LONGEST_LINE = 64 << 20


class Whims:
    """A model with moods: it talks at a pace, calls tools, breaks off, hangs, fails. While `kind`
    it only answers."""

    def __init__(self, seed: int) -> None:
        self.kind = False
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)

    def __call__(self, request: ModelRequest) -> Reply:
        chance = self._random.random()
        words = [f"{request.number}.{n}" for n in range(self._random.randrange(3, 60))]
        if self.kind:
            return say(f"Kindly {request.number}.")
        pace = self._random.choice([0.002, 0.01, 0.03])
        talk = say(" ".join(words), pace=pace)
        if chance < 0.1:
            talk = think(f"Hm {request.number}. " * 5, pace=pace) + talk
        if 0.1 < chance < 0.55:
            return talk + self._calls(request)
        if 0.55 < chance < 0.6:
            return talk + cut()
        if 0.6 < chance < 0.65:
            return talk + self._calls(request) + cut()
        if 0.65 < chance < 0.68:
            return talk + stall()
        if 0.68 < chance < 0.7:
            return fail(401)
        return talk

    def _calls(self, request: ModelRequest) -> Reply:
        reply = pause(0)
        for number in range(self._random.randrange(1, 4)):
            name = self._random.choice(["quick", "quick", "slow", "careful"])
            reply += call(name, {"text": f"{request.number}.{number} " * 4}, pace=0.005)
        return reply


class Nursery:
    """Forks engines on one folder, one at a time."""

    def __init__(self, process: Process, books: Books) -> None:
        self._process = process
        self._books = books
        self.pid = 0
        self.killed_at = 0.0

    async def kill_one(self, orders: Orders) -> None:
        """Let one live for a while: until some moment of its start, some time after it, or some
        moment after a tool began to run."""
        chance = random.Random(orders.seed)  # noqa: S311 (reproducible, not secret)
        how = chance.random()
        await self.bear(orders)
        if how > 0.15:
            await self._hear_until(_is_open)
        if how > 0.8:
            await self._hear_until(_runs_a_tool, within=1.0)
        longest = 0.15 if how < 0.15 else 1.2 if how < 0.8 else 0.25
        await self._hear_for(chance.uniform(0, longest))
        await self.kill()

    async def kill_busy(self, orders: Orders) -> None:
        """Let one live until it streams and runs tools."""
        await self.bear(orders)
        await self._hear_until(_is_open)
        await self._hear_until(_runs_a_tool)
        await self.kill()

    async def bear(self, orders: Orders) -> None:
        assert self._process.stdin is not None
        self.killed_at = -1.0
        self._process.stdin.write(encode(orders))
        await self._process.stdin.drain()
        await self._hear_until(lambda line: isinstance(line, Born))

    async def kill(self) -> None:
        self.killed_at = time.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        await self.let_die()

    async def let_die(self) -> None:
        """Until it is dead, of a fault point if it was not killed."""
        died = await self._hear_until(lambda line: isinstance(line, Died))
        assert isinstance(died, Died)
        assert os.waitstatus_to_exitcode(died.status) == -signal.SIGKILL
        self.pid = 0

    async def _hear_until(
        self, done: Callable[[Line], bool], *, within: float | None = None
    ) -> Line | None:
        try:
            async with asyncio.timeout(within or DEADLINE):
                while True:
                    line = await self._line()
                    if line is not None and done(line):
                        return line
        except TimeoutError:
            assert within is not None, "the engine is stuck"
            return None

    async def _hear_for(self, seconds: float) -> None:
        await self._hear_until(lambda _: False, within=seconds)

    async def _line(self) -> Line | None:
        """The next thing said, which the books have taken in; None if it is not whole."""
        assert self._process.stdout is not None
        written = await self._process.stdout.readuntil()
        found = decode(written.rstrip(b"\n"))
        if not isinstance(found, Line):
            return None
        if isinstance(found, Born):
            self.pid = found.pid
        if isinstance(found, Died) and self.killed_at < 0:
            self.killed_at = found.at
        self._books.hear(found)
        return found


def _is_open(line: Line) -> bool:
    return isinstance(line, Opened)


def _runs_a_tool(line: Line) -> bool:
    if not isinstance(line, Saw) or not isinstance(line.event, Changed):
        return False
    moves = [event for event in line.event.events if isinstance(event, ToolCallUpdated)]
    return any(move.state == "running" for move in moves)


@asynccontextmanager
async def nursery(folder: Path, books: Books) -> AsyncGenerator[Nursery]:
    command = [sys.executable, "-m", "tests.faults.engine_process", str(folder)]
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=REPOSITORY, stdin=PIPE, stdout=PIPE, stderr=log, limit=LONGEST_LINE
        )
    found = Nursery(process, books)
    try:
        yield found
    finally:
        if found.pid:
            os.kill(found.pid, signal.SIGKILL)
        process.kill()
        await process.wait()
