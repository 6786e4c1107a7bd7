"""Where commands print: plain text, coloured only where colour is welcome."""

import contextlib
import io
import os
import sys
from collections.abc import Generator
from typing import TextIO

from rich.console import Console

from roost.agent.execution import LEFT_ALONE


class _Output(Console):
    """Whoever reads it may leave early, and has enough then: nothing is wrong."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        let_go(sys.stderr if self.stderr else sys.stdout)


def prepare_streams() -> None:
    """A path or a mark that the terminal's encoding lacks must not end the program, nor may bytes
    on the input that are no text: whoever takes them says so."""
    for stream, errors in (
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
        (sys.stdin, "surrogateescape"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def out() -> Console:
    return _console(stderr=False)


def err() -> Console:
    return _console(stderr=True)


def has_color(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _console(*, stderr: bool) -> Console:
    # What is printed holds paths and words of other programs: none of it is markup.
    return _Output(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextlib.contextmanager
def while_read() -> Generator[None]:
    """Whoever reads what is written meanwhile may leave early: they have enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        let_go(sys.stdout)


def let_go(stream: TextIO) -> None:
    """Nobody reads it any more: nothing is left to be flushed at exit either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def leave_if_stuck() -> None:
    """Everything is closed and durable; a tool that would not stop is no reason to stay."""
    if LEFT_ALONE:
        sys.stdout.flush()
        os._exit(0)
