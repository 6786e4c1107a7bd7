"""Shells in a terminal: one that lasts from command to command, and fresh ones for one each."""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

import msgspec
import structlog

from roost.core.errors import WorkspaceError
from roost.workspace.base import Box, Child
from roost.workspace.control import Control, Report, mark_of
from roost.workspace.output import Output
from roost.workspace.tty import Tty

log = structlog.stdlib.get_logger("roost.workspace")

BASH = ("bash", "--noprofile", "--norc")
ENVIRONMENT: Mapping[str, str] = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""Nobody is there to turn pages, or to look at colours."""

_OPEN_SECONDS = 10.0
_GRACE = 0.1
"""Seconds that a command has to end after an interrupt."""
_LET_GO = 0.5
"""Seconds that a shell has to say that it did, once its command was killed. It says so at once, but
not where others have the processor, and what it knows is lost with it."""
_KILL_SECONDS = 5.0
_MARK_SECONDS = 10.0
_LAST_WORDS_SECONDS = 0.25
_BETWEEN = 8_192
"""Bytes of what jobs print while no command runs, kept for the next."""
_LONGEST_EXPORT = 100_000
_GIVEN_UP = -9

_WITH_JOBS = """\
builtin eval "$1"; __roost_c=$2; builtin shift 2; builtin eval "$__roost_c"
__roost_s=$?; builtin wait; builtin exit $__roost_s"""
"""A command with the variables before it; its jobs are part of it."""


class Finished(msgspec.Struct, frozen=True):
    """`ended` is whether the shell ended with the command."""

    status: int
    ended: bool


class Home(Protocol):
    """Where one command runs at a time."""

    @property
    def tty(self) -> Tty: ...

    async def run(self, command: str, output: Output) -> Finished:
        """Until it ends. Giving up does not stop it: `stop` does."""
        ...

    async def stop(self) -> None:
        """End the command and all that it started, quickly. A shell that lasts is spared, if it
        lets go of the command."""
        ...

    async def close(self) -> None:
        """End everything."""
        ...


class _Terminal:
    """A child and its terminal, closed once."""

    def __init__(self, child: Child) -> None:
        assert child.tty is not None
        self.child = child
        self.tty = Tty(child.tty, _nothing)
        self.ended = asyncio.create_task(child.wait())
        self._closing: asyncio.Task[None] | None = None

    async def finished(self) -> int:
        """Its status, once it has ended, or could not be ended and is given up."""
        await asyncio.wait([self.ended])
        return _GIVEN_UP if self.ended.cancelled() else self.ended.result()

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(_KILL_SECONDS):
                await self.child.kill()
                await self.ended
        except (TimeoutError, WorkspaceError):
            log.exception("a command could not be ended")
        with suppress(TimeoutError):
            # What it printed last.
            async with asyncio.timeout(_LAST_WORDS_SECONDS):
                await self.tty.ended.wait()
        self.tty.close()
        self.child.close()
        self.ended.cancel()


class Fresh:
    """A shell for one command, which nothing that was done before can change the meaning of, unless
    `exported` brings variables along. All that the command started ends with it; with `jobs`, it
    lasts for as long as they do."""

    def __init__(self, terminal: _Terminal) -> None:
        self.tty = terminal.tty
        self._terminal = terminal
        # It may be quicker than whoever is to hear it.
        self._early: list[bytes] = []
        self.tty.sink = self._early.append

    @classmethod
    async def open(
        cls, box: Box, command: str, *, directory: str, exported: str = "", jobs: bool = False
    ) -> "Fresh":
        script = ("-c", _WITH_JOBS, "bash", exported, command) if jobs else ("-c", command)
        child = await box.start(
            (*BASH, *script), directory=directory, environment=ENVIRONMENT, tty=True
        )
        return cls(_Terminal(child))

    async def run(self, command: str, output: Output) -> Finished:
        output.feed(b"".join(self._early))
        self.tty.sink = output.feed
        status = await self._terminal.finished()
        await self._terminal.close()
        return Finished(status, ended=True)

    async def stop(self) -> None:
        await self._terminal.close()

    async def close(self) -> None:
        await self._terminal.close()


class Shell:
    """A bash that keeps its directory, variables and functions from one command to the next.

    `exported` is as of the end of the last command; with its directory it is enough to open another
    in its place."""

    def __init__(self, box: Box, terminal: _Terminal, control: Control, directory: str) -> None:
        self.tty = terminal.tty
        self.exported = ""
        self._box = box
        self._terminal = terminal
        self._control = control
        self._directory = directory
        self._number = 0
        self._reports: dict[int, asyncio.Future[Report]] = {}
        self._latest: Report | None = None
        self._output: Output | None = None
        self._mark: bytes | None = None
        self._held = b""
        self._marked = asyncio.Event()
        self._between = b""
        self.tty.sink = self._hear_tty
        # One that was killed marks nothing any more.
        terminal.ended.add_done_callback(lambda _: self._marked.set())

    @classmethod
    async def open(cls, box: Box, *, directory: str, exported: str = "") -> "Shell":
        first: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        opened: list[Shell] = []

        def heard(report: Report) -> None:
            if opened:
                opened[0].hear(report)
            elif not first.done():
                first.set_result(report)

        control = Control(heard)
        try:
            child = await box.start(
                (*BASH, "--noediting", "-i"),
                directory=directory,
                environment={**ENVIRONMENT, **control.environment},
                tty=True,
                pass_fds=[control.theirs.fileno()],
            )
        except BaseException:
            control.close()
            raise
        control.theirs.close()
        shell = cls(box, _Terminal(child), control, directory)
        try:
            ways = [first, shell._terminal.ended]
            await asyncio.wait(ways, timeout=_OPEN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                raise WorkspaceError("bash does not start.")
            shell.hear(first.result())
            opened.append(shell)
            if exported:
                async with asyncio.timeout(_OPEN_SECONDS):
                    await shell._evaluated(exported)
                shell._between = b""
        except BaseException:
            await shell.close()
            raise
        return shell

    @property
    def directory(self) -> str:
        """Where it is now, or was last seen."""
        self._directory = self._control.directory or self._directory
        return self._directory

    @property
    def is_alive(self) -> bool:
        """Its end comes with that of its box, of which it may be told later."""
        return self._box.is_open and not self._terminal.ended.done()

    async def run(self, command: str, output: Output) -> Finished:
        output.feed(self._between)
        self._between = b""
        self._output = output
        self.tty.reset()
        try:
            report = await self._evaluated(command)
            if report is None:
                status = await self._terminal.finished()
                await self.close()
                return Finished(status, ended=True)
            await self._drain()
            # A command that spoke for its shell has been contradicted by now: before the mark.
            self._control.listen()
            report = self._latest or report
            return Finished(report.status, ended=False)
        finally:
            self._output = None

    async def stop(self) -> None:
        await self._terminal.child.interrupt()
        await self._reported(_GRACE)
        with suppress(TimeoutError, WorkspaceError):
            async with asyncio.timeout(2 * _GRACE):
                await self._terminal.child.kill(spare=[self._terminal.child.pid])
        if not await self._reported(_LET_GO):
            await self.close()

    async def close(self) -> None:
        await self._terminal.close()
        self._control.close()

    def hear(self, report: Report) -> None:
        self._directory = self.directory
        if report.exported.startswith("declare ") and len(report.exported) <= _LONGEST_EXPORT:
            self.exported = report.exported
        if report.number == self._number:
            self._latest = report
        waiting = self._reports.pop(report.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(report)

    async def _evaluated(self, command: str) -> Report | None:
        """What the shell says when it is done; None if it ended first."""
        self._number += 1
        report: asyncio.Future[Report] = asyncio.get_running_loop().create_future()
        self._reports = {self._number: report}
        try:
            await self._control.run(self._number, command)
        except TimeoutError:
            await self.close()  # it listens no more
        except OSError:
            log.debug("a shell ended before its command")
        await asyncio.wait([report, self._terminal.ended], return_when=asyncio.FIRST_COMPLETED)
        return report.result() if report.done() else None

    async def _reported(self, seconds: float) -> bool:
        """Whether the command that runs ended within that time."""
        waiting = [*self._reports.values(), self._terminal.ended]
        if len(waiting) > 1:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return not self._reports and self.is_alive

    async def _drain(self) -> None:
        """Until all that the command printed has come through the terminal: the shell's word that
        it ended may be faster."""
        if self.is_alive:
            self._marked.clear()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_MARK_SECONDS):
                text = secrets.token_hex(8)  # which no command can have known
                self._mark = mark_of(text)
                await self._control.mark(text)
                await self._marked.wait()
        held, self._held, self._mark = self._held, b"", None
        self._pass_on(held)

    def _hear_tty(self, data: bytes) -> None:
        if self._mark is None:
            self._pass_on(data)
            return
        data = self._held + data
        before, found, after = data.partition(self._mark)
        if found:
            self._mark, self._held = None, b""
            self._pass_on(before)
            self._output = None
            self._pass_on(after)
            self._marked.set()
        else:
            safe = max(0, len(data) - len(self._mark))
            self._pass_on(data[:safe])
            self._held = data[safe:]

    def _pass_on(self, data: bytes) -> None:
        if self._output is not None:
            self._output.feed(data)
        else:
            self._between = (self._between + data)[-_BETWEEN:]


def _nothing(data: bytes) -> None:
    """Nobody listens yet."""
