"""This end of a terminal: reads at a pace that leaves room for others, and types."""

import asyncio
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from contextlib import suppress

from roost.core.errors import WorkspaceError

CHUNK = 65_536
PACE = 0.004
"""Seconds for which reading rests after a chunk: some 16 MB/s, and no more of the loop."""
_ROWS, _COLUMNS = 50, 160
_WRITE_SECONDS = 2.0
_SOON = 0.02


class Tty:
    """`sink` takes what is printed, and may be changed at any time."""

    def __init__(self, fd: int, sink: Callable[[bytes], None]) -> None:
        self.sink = sink
        self.ended = asyncio.Event()
        """Nobody has the other end open any more."""
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None
        self._is_open = True
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._sane = _sane(fd)
        self.reset()
        self._loop.add_reader(fd, self._read)

    def reset(self) -> None:
        """Undo what the last command did to it, and forget what was typed and not read."""
        if self._is_open:
            with suppress(termios.error):  # the other end is gone, which will be heard
                termios.tcflush(self._fd, termios.TCOFLUSH)
                termios.tcsetattr(self._fd, termios.TCSAFLUSH, self._sane)

    async def write(self, data: bytes) -> None:
        """Type something."""
        deadline = self._loop.time() + _WRITE_SECONDS
        while data:
            if not self._is_open or self.ended.is_set():
                raise WorkspaceError("the process has ended.")
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                if self._loop.time() > deadline:
                    raise WorkspaceError("the process does not read its input.") from None
                await asyncio.sleep(_SOON)

    def close(self) -> None:
        """Before the descriptor is closed by whoever owns it."""
        if self._is_open:
            self._is_open = False
            self._stop_reading()
            self.ended.set()

    def _read(self) -> None:
        taken = 0
        while taken < CHUNK:
            try:
                data = os.read(self._fd, CHUNK)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno == errno.EINTR:
                    continue
                data = b""
            if not data:
                self._stop_reading()
                self.ended.set()
                return
            taken += len(data)
            self.sink(data)
        self._loop.remove_reader(self._fd)
        self._rest = self._loop.call_later(PACE, self._resume)

    def _resume(self) -> None:
        self._rest = None
        self._loop.add_reader(self._fd, self._read)

    def _stop_reading(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        else:
            self._loop.remove_reader(self._fd)


def _sane(fd: int) -> list[int | list[bytes | int]]:
    """Lines are edited, Ctrl-C works, nothing that is typed is echoed, and a newline is just
    that."""
    found = termios.tcgetattr(fd)
    found[0] = termios.ICRNL | termios.BRKINT
    found[1] = termios.OPOST
    found[3] = termios.ISIG | termios.ICANON | termios.IEXTEN | termios.ECHOE | termios.ECHOK
    return found
