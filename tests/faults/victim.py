"""Starts writers in a process of their own, hears what they say, and kills them."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.faults.ledger import Born, Died, Ledger, Line, Opened, decode_line

REPOSITORY = Path(__file__).parents[2]
DEADLINE = 60.0


class Nursery:
    """Forks writers on one data folder, one at a time."""

    def __init__(self, process: "subprocess.Popen[bytes]", ledger: Ledger) -> None:
        self._process = process
        self._ledger = ledger
        self._heard = b""
        self._unheard: list[Line] = []
        self.opened = False

    def kill_one(self, seed: int) -> None:
        """Let a writer live until some number of answers, and a moment longer."""
        chance = random.Random(seed)  # noqa: S311 (reproducible, not secret)
        answers = chance.choice([0, chance.randrange(1, 40), chance.randrange(40, 160)])
        self.kill_after(seed, answers, chance.uniform(0, 0.004 if answers else 0.05))

    def kill_after(self, seed: int, answers: int, moment: float) -> None:
        pid = self._bear(seed)
        self._hear_until(lambda: self._ledger.answers >= answers)
        self._hear_for(moment)
        os.kill(pid, signal.SIGKILL)
        assert self._hear_end() == signal.SIGKILL

    @contextmanager
    def busy(self, seed: int) -> Generator[None]:
        """A writer that is at work, until the end of the block."""
        pid = self._bear(seed)
        self._hear_until(lambda: self._ledger.answers >= 100)
        yield
        os.kill(pid, signal.SIGKILL)
        assert self._hear_end() == signal.SIGKILL

    def hear_while(self, going_on: Callable[[], bool]) -> None:
        """A writer that nobody hears would soon have to wait."""
        while going_on():
            self._hear_for(0.01)

    def let_die(self, seed: int, fault: str) -> None:
        """Let a writer live until it gets to an armed fault point."""
        self._bear(seed, fault)
        assert self._hear_end() == signal.SIGKILL, f"it did not die of {fault}"

    def _bear(self, seed: int, faults: str = "") -> int:
        assert self._process.stdin is not None
        self._ledger.answers = 0
        self.opened = False
        self._process.stdin.write(f"{seed} {faults}\n".encode())
        self._process.stdin.flush()
        while True:
            lines = self._lines(DEADLINE)
            for position, line in enumerate(lines, 1):
                self._ledger.hear(line)
                if isinstance(line, Born):
                    self._unheard = lines[position:]
                    return line.pid

    def _hear_until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE
        while not done():
            assert time.monotonic() < deadline, "the writer is stuck"
            self._hear_for(0.05)

    def _hear_for(self, seconds: float) -> None:
        for line in self._lines(seconds):
            assert not isinstance(line, Died), f"the writer died by itself: {line}"
            self.opened |= isinstance(line, Opened)
            self._ledger.hear(line)

    def _hear_end(self) -> int:
        while True:
            for line in self._lines(DEADLINE):
                if isinstance(line, Died):
                    return os.waitstatus_to_exitcode(line.status) * -1
                self.opened |= isinstance(line, Opened)
                self._ledger.hear(line)

    def _lines(self, seconds: float) -> list[Line]:
        """What comes within a time, or sooner; a line that its writer did not finish is dropped."""
        found, self._unheard = self._unheard, []
        if found:
            return found
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        if select.select([output], [], [], seconds)[0]:
            chunk = os.read(output, 1 << 16)
            assert chunk, "the nursery is gone"
            self._heard += chunk
        elif seconds == DEADLINE:
            raise AssertionError("the writer is stuck")
        *lines, self._heard = self._heard.split(b"\n")
        for line in filter(None, lines):
            try:
                found.append(decode_line(line))
            except msgspec.DecodeError:
                continue
        return found


@contextmanager
def nursery(folder: Path, ledger: Ledger) -> Generator[Nursery]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.writer", str(folder)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Nursery(process, ledger)
        finally:
            process.kill()
