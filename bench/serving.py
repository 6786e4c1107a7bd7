"""A server in a process of its own, on cores that this one leaves to it."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def serving(module: str, *arguments: str) -> Generator[str]:
    """Run `python -m module`, which prints its address once it listens."""
    with launched(module, *arguments) as (url, pid), _apart_from(pid):
        yield url


@contextmanager
def launched(module: str, *arguments: str) -> Generator[tuple[str, int]]:
    """The same, on whichever core is free: its address and its process."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


@contextmanager
def _apart_from(pid: int) -> Generator[None]:
    """This process on the first core, the other on the rest, where there are several."""
    cores = os.sched_getaffinity(0)
    first = {min(cores)}
    if len(cores) > 1:
        os.sched_setaffinity(pid, cores - first)
    os.sched_setaffinity(0, first)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
