"""Runs a Roost whose turns are remembered, until it is killed on the way to memory.

`python -m tests.faults.memory_process FOLDER` is a nursery: for every line `SEED FAULTS` on its
standard input it forks one, and writes down how that one ended.
"""

import asyncio
import os
import random
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import structlog

from roost.core.clock import SystemClock
from roost.core.errors import MemoryFailed
from roost.core.ids import SessionId, TurnId
from roost.memory.base import Memory, Scope, Segment
from roost.testing import faults
from roost.testing.models import ModelServer, say
from tests.engine import Engine, started
from tests.memories import remembering

LEDGER = "ledger"
DURING = "memory.commit.during"
"""Not a place in Roost: the memory itself has half of it when the power fails."""
ROUNDS = 12


class FileMemory:
    """Writes into a file outside what it is asked and what it keeps. Every few commits it fails,
    before it keeps anything or after."""

    def __init__(self, folder: Path, *, seed: int = 0, dies_at: int = 0) -> None:
        self._path = folder / LEDGER
        self._random = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        self._whims = seed > 0
        self._dies_at = dies_at
        self._calls = 0

    async def commit(self, segment: Segment) -> None:
        self._write("asked", segment)
        self._calls += 1
        if self._calls == self._dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        chance = self._random.random() if self._whims else 1.0
        if chance < 0.1:
            raise MemoryFailed("not today", provider="file")
        self._write("kept", segment)
        if chance < 0.2:
            raise MemoryFailed("kept, but the answer is lost", provider="file")

    def _write(self, what: str, segment: Segment) -> None:
        line = " ".join([what, segment.key, str(segment.scope), *segment.turns])
        ledger = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(ledger, f"{line}\n".encode())
        finally:
            os.close(ledger)

    async def recall(self, scope: Scope, words: str, *, limit: int) -> Sequence[Memory]:
        return ()

    async def forget(self, scope: Scope, id: str) -> None:
        pass

    async def withdraw(self, scope: Scope, session: SessionId) -> None:
        pass

    async def health(self) -> str | None:
        return None

    async def close(self) -> None:
        pass


class Ledger:
    """What the memory was asked and kept, over all lives."""

    def __init__(self, folder: Path) -> None:
        self.asked: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
        self.kept: dict[str, tuple[TurnId, ...]] = {}
        path = folder / LEDGER
        for line in path.read_text().splitlines() if path.exists() else ():
            what, key, scope, *turns = line.split()
            if what == "asked":
                self.asked[key].append((scope, *turns))
            else:
                self.kept[key] = tuple([TurnId(turn) for turn in turns])

    def problems(self) -> list[str]:
        changed = [key for key, offers in self.asked.items() if len(set(offers)) > 1]
        turns = [turn for offers in self.asked.values() for turn in offers[0][1:]]
        doubled = {turn for turn in turns if turns.count(turn) > 1}
        return [f"{key} changed" for key in changed] + [f"{turn} twice" for turn in doubled]


async def live(folder: Path, seed: int, dies_at: int) -> None:
    """Talk in one session after the other, and leave each by some boundary."""
    chance = random.Random(seed)  # noqa: S311 (reproducible, not secret)
    memory = FileMemory(folder, seed=seed, dies_at=dies_at)
    profile = chance.choice(["default", "work"])
    async with ModelServer() as server:
        server.otherwise(say("Noted."))
        engine = remembering(
            folder / "data", server, SystemClock(), {"file": memory}, profile=profile
        )
        async with started(engine):
            for _ in range(ROUNDS):
                await _talk(engine, chance)


async def _talk(engine: Engine, chance: random.Random) -> None:
    account, session = engine.account, await engine.session()
    for number in range(chance.randrange(1, 4)):
        await engine.say(session, f"Question {number}")
    if chance.random() < 0.2:
        await account.history.undo(session)
    how = chance.random()
    if how < 0.4:
        await account.memory.commit(session)
    elif how < 0.7:
        await account.end(session)
    elif how < 0.9:
        await account.history.clear(session)
    # The others are left for the stop, or for the next start.


def _be_born(folder: Path, seed: int, armed: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        place, _, nth = armed.partition("=kill:")
        dies_at = int(nth) if place == DURING else 0
        faults.arm_from_environment({"ROOST_FAULTS": "" if dies_at else armed})
        asyncio.run(live(folder, seed, dies_at))
        os._exit(0)
    except BaseException:  # noqa: BLE001 (nobody else is there to tell)
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        seed, armed = line.split()
        _, status = os.waitpid(_be_born(folder, int(seed), armed), 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
