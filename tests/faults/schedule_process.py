"""Runs a Roost at one moment until nothing is due and nothing runs, or until it is killed.

`python -m tests.faults.schedule_process FOLDER` is a nursery: for every line `MOMENT FAULTS` on its
standard input it forks one, and writes down how that one ended. The moment, in milliseconds, does
not pass.
"""

import asyncio
import os
import sys
import traceback
from pathlib import Path

import structlog

from roost.testing import faults
from roost.testing.clock import FakeClock
from roost.testing.models import ModelServer, say
from tests.engine import Engine, eventually, started


async def live(folder: Path, moment: int) -> None:
    async with ModelServer() as server:
        server.otherwise(say("Nothing new."))
        async with started(Engine(folder, server, clock=FakeClock(moment))) as engine:

            async def at_rest() -> bool:
                # In the order in which the one becomes the other: nothing is missed in between.
                due = (await engine.store.ticks.look()).due
                waiting = await engine.store.work.figures()
                return not due and not waiting.queued and not len(engine.parts.turns)

            await eventually(at_rest)


def _be_born(folder: Path, moment: int, armed: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        faults.arm_from_environment({"ROOST_FAULTS": armed})
        asyncio.run(live(folder, moment))
        os._exit(0)
    except BaseException:  # noqa: BLE001 (nobody else is there to tell)
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        moment, armed = (line.rstrip("\n") + " ").split(" ")[:2]
        _, status = os.waitpid(_be_born(folder, int(moment), armed), 0)
        os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
