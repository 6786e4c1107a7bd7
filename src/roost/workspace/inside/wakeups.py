"""Waiting for signals and messages in one place."""

from __future__ import annotations

import os
import select

# The module beneath has the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal


class Wakeups:
    """Signals as something to wait for, next to messages."""

    def __init__(self, *numbers: int) -> None:
        self.fd, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _note)

    def taken(self) -> bytes:
        """The numbers that came since."""
        try:
            return os.read(self.fd, 4096)
        except BlockingIOError:
            return b""


def _note(number: int, frame: object) -> None:
    """What there is to do stands in the pipe."""


def ready(*fds: int, within: float | None = None) -> list[int]:
    """Wait for one of them to have something to read, or to have ended."""
    waiting = select.poll()
    for fd in fds:
        waiting.register(fd, select.POLLIN)
    return [fd for fd, _ in waiting.poll(None if within is None else within * 1000)]
