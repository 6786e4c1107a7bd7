"""A terminal for `roost chat` to run in: a real pty, and a screen that shows what a person sees."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from tests.e2e import command
from tests.e2e.command import Roost
from tests.screen import CONTROL, Screen

# prompt_toolkit asks for pastes to be marked while it reads.
_READING, _NOT_READING = "\x1b[?2004h", "\x1b[?2004l"
CTRL_C, CTRL_D, ENTER, ALT_ENTER = "\x03", "\x04", "\r", "\x1b\r"


class Terminal:
    def __init__(self, process: asyncio.subprocess.Process, keyboard: int, screen: Screen) -> None:
        self.process = process
        self.raw = ""
        self._keyboard = keyboard
        self._screen = screen
        self._rest = ""
        self._news = asyncio.Event()
        self._mark = 0

    @property
    def text(self) -> str:
        """All that stands on the screen and above it."""
        return str(self._screen)

    def type(self, keys: str) -> None:
        """From here on `until` looks only at what is new."""
        self._mark = len(self.raw)
        os.write(self._keyboard, keys.encode())

    def received(self) -> None:
        with suppress(OSError):  # the other side is closed
            if data := os.read(self._keyboard, 65536):
                new = data.decode(errors="replace")
                self.raw += new
                self._rest = self._screen.feed(self._rest + new)
        self._news.set()

    async def until(self, words: str) -> str:
        """Wait until these are shown after what was last typed; the screen as it is then."""
        return await self._until(lambda new: words in _plain(new), words)

    async def prompt(self) -> str:
        """Wait until something can be typed."""
        return await self._until(
            lambda new: new.rfind(_READING) > new.rfind(_NOT_READING), "a prompt"
        )

    async def _until(self, seen: Callable[[str], bool], what: str) -> str:
        try:
            async with asyncio.timeout(command.DEADLINE):
                while not seen(self.raw[self._mark :]):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{what!r} never came. The screen:\n{self.text}") from None
        return self.text

    async def over(self) -> int:
        async with asyncio.timeout(command.DEADLINE):
            return await self.process.wait()


def _plain(raw: str) -> str:
    return CONTROL.sub("", raw).replace("\r", "")


@asynccontextmanager
async def terminal(
    roost: Roost, *arguments: str, rows: int = 30, columns: int = 80
) -> AsyncGenerator[Terminal]:
    """`roost chat` in a terminal of its own; killed in the end if it still runs."""
    keyboard, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roost",
        "chat",
        *arguments,
        env=roost.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "LANG": "C.UTF-8"},
        cwd=roost.home,
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(other)
    here = Terminal(process, keyboard, Screen(rows, columns))
    loop = asyncio.get_running_loop()
    loop.add_reader(keyboard, here.received)
    try:
        yield here
    finally:
        loop.remove_reader(keyboard)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()
        os.close(keyboard)


def _own_terminal() -> None:
    """So that Ctrl-C on it is a signal to whoever runs in it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
