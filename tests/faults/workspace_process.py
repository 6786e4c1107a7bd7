"""Holds a box with all kinds of processes in it until it is killed.

`python -m tests.faults.workspace_process KIND FOLDER MARKER` says `open` when the box is, `ready`
when all of them run, and `gone` if the box ends before it does.
"""

import asyncio
import sys
from pathlib import Path

from roost.workspace.base import SandboxKind
from tests.boxes import begin, box_in, read_until

TOUGH = (
    "sleep {marker} & echo up; wait",
    "trap '' TERM INT HUP; sleep {marker} & echo up; wait",
    "setsid sh -c 'trap \"\" TERM; sleep {marker}' & echo up; wait",
    "nohup sleep {marker} >/dev/null 2>&1 & echo up; wait",
    # Its parent has ended, and so has that one's: a daemon.
    "(setsid sh -c 'sleep {marker} & sleep {marker}' & ) ; echo up",
    "sh -c 'sh -c \"trap : TERM; sleep {marker} & wait; sleep {marker}\"' & echo up; wait",
)


async def main(kind: SandboxKind, folder: Path, marker: str) -> None:
    async with box_in(folder, kind) as box:
        print("open", flush=True)  # noqa: T201
        for script in TOUGH:
            child = await begin(box, "/bin/sh", "-c", script.format(marker=marker))
            await read_until(child, "up")
        shell = await begin(box, "/bin/sh", tty=True, environment={"PS1": "$ "})
        assert shell.tty is not None
        await read_until(shell, "$ ")
        print("ready", flush=True)  # noqa: T201
        await box.wait()
        print("gone", flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    _, name, folder, marker = sys.argv
    asyncio.run(main("local" if name == "local" else "bubblewrap", Path(folder), marker))
