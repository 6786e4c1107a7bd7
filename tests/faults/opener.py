"""Opens the store of a folder in a process of its own, says how that went, and holds it until its
standard input ends: `python -m tests.faults.opener [--ordinary] FOLDER`."""

import asyncio
import ctypes
import os
import sys
from pathlib import Path

from roost.core.clock import SystemClock
from roost.core.errors import RoostError
from roost.store.sqlite.store import open_store
from roost.testing import faults

_DROP_FROM_BOUNDING_SET = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def become_ordinary() -> None:
    """Give up root's right to ignore file modes, for good: it takes effect with a new program."""
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        if ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0):
            sys.exit("can't drop a capability")
    arguments = [argument for argument in sys.argv[1:] if argument != "--ordinary"]
    os.execv(sys.executable, [sys.executable, "-m", "tests.faults.opener", *arguments])  # noqa: S606


def main() -> None:
    if "--ordinary" in sys.argv and os.geteuid() == 0:
        become_ordinary()
    faults.arm_from_environment(os.environ)
    try:
        store = open_store(Path(sys.argv[-1]), clock=SystemClock(), version="0")
    except RoostError as error:
        sys.stdout.write(f"{type(error).__name__}: {error}\n")
        return
    sys.stdout.write("opened\n")
    sys.stdout.flush()
    sys.stdin.read()
    asyncio.run(store.close())


if __name__ == "__main__":
    main()
