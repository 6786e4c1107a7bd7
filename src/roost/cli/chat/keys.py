"""Ctrl-C and the other signals of a terminal, as things to wait for."""

import asyncio
import contextlib
import signal
import sys
import termios
from collections.abc import Generator
from typing import NamedTuple


class Signals(NamedTuple):
    """`stop` is Ctrl-C, `leave` is for when the terminal is gone or someone ends the program."""

    stop: asyncio.Event
    leave: asyncio.Event


@contextlib.contextmanager
def signals() -> Generator[Signals]:
    loop = asyncio.get_running_loop()
    received = Signals(asyncio.Event(), asyncio.Event())
    loop.add_signal_handler(signal.SIGINT, received.stop.set)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, received.leave.set)
    try:
        yield received
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def unechoed() -> Generator[None]:
    """What is typed while an answer streams does not stand in it, and waits for the next prompt."""
    try:
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (OSError, ValueError, termios.error):
        yield
        return
    quiet = [*before]
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(keyboard, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        # The terminal may be gone.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSANOW, before)
