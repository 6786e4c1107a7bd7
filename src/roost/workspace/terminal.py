"""A workspace's terminal: the shell of the moment, and what becomes of the commands it is given."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Protocol

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.errors import WorkspaceError
from roost.workspace.base import Box, Ground
from roost.workspace.output import Output, Saved
from roost.workspace.processes import Processes
from roost.workspace.shell import Finished, Fresh, Home, Shell

log = structlog.stdlib.get_logger("roost.workspace")

Show = Callable[[str], None]

_AT_ONCE = 0.4
"""Seconds in which a command that is to run in the background may fail or end, to be said so."""
_STOP_SECONDS = 0.45


class OpenBox(Protocol):
    def __call__(self, *, network: bool = False) -> Awaitable[Box]: ...


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a command. Without a status it still runs, as `process`. `notes` are said to
    whoever gave it."""

    text: str
    status: int | None
    seconds: float
    process: str | None = None
    notes: tuple[str, ...] = ()


class Terminal:
    """One command at a time. One that takes too long goes on in the background with the shell that
    it runs in, and the next command gets another."""

    def __init__(
        self,
        ground: Ground,
        box: OpenBox,
        processes: Processes,
        *,
        clock: Clock,
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._directory = ground.home.inside
        self._home = ground.home.inside
        self._box = box
        self._processes = processes
        self._clock = clock
        self._changed = changed
        self._saved = Saved(ground.folders[1], ground.owner)
        self._shell: Shell | None = None
        self._exported = ""
        self._lock = asyncio.Lock()
        self._stopping: set[asyncio.Task[None]] = set()

    @property
    def directory(self) -> str:
        """Where the next command runs."""
        if self._shell is not None and not self._lock.locked():
            self._directory = self._shell.directory
        return self._directory

    @property
    def has_shell(self) -> bool:
        return self._shell is not None and self._shell.is_alive

    async def run(self, command: str, *, wait: float, show: Show, notify: bool = False) -> Ran:
        """In the shell that lasts."""
        async with self._lock:
            shell, notes = await self._opened()
            output = Output(self._saved, show)
            try:
                ran = await self._ran(command, shell, output, wait=wait, notify=notify)
            finally:
                self._directory, self._exported = shell.directory, shell.exported
            if ran.process is not None or not shell.is_alive:
                self._shell = None
                if ran.process is None:
                    await shell.close()  # it may have ended just after its command
                await self._changed()
                notes = (*notes, self._parting(ran))
            return msgspec.structs.replace(ran, notes=notes)

    async def run_fresh(
        self, command: str, *, wait: float, show: Show, network: bool = False, notify: bool = False
    ) -> Ran:
        """In a shell of its own, where nothing has another meaning."""
        box = await self._box(network=network)
        fresh = await Fresh.open(box, command, directory=self.directory)
        output = Output(self._saved, show)
        return await self._ran(command, fresh, output, wait=wait, notify=notify, network=network)

    async def start(
        self, command: str, *, show: Show, notify: bool, network: bool, exported: bool
    ) -> Ran:
        """In the background from the start, in a shell of its own; `exported` variables of the
        shell that lasts are there if that is asked for."""
        self._processes.check_room()
        box = await self._box(network=network)
        variables = self._exported if exported else ""
        fresh = await Fresh.open(
            box, command, directory=self.directory, exported=variables, jobs=True
        )
        output = Output(self._saved, show)
        return await self._ran(
            command, fresh, output, wait=_AT_ONCE, notify=notify, network=network
        )

    async def close(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()
        if self._stopping:
            await asyncio.wait(self._stopping)

    def _parting(self, ran: Ran) -> str:
        if ran.process is None:
            return f"The shell ended. The next command gets a new one in {self.directory}."
        return (
            f"The next command gets a new shell in {self.directory}, with the exported variables; "
            f"all else of the shell stays with {ran.process}."
        )

    async def _opened(self) -> tuple[Shell, tuple[str, ...]]:
        """The shell, and what there is to say if it is another than before."""
        if self._stopping:
            await asyncio.wait(self._stopping)
        if self._shell is not None and self._shell.is_alive:
            return self._shell, ()
        lost, self._shell = self._shell, None
        notes: tuple[str, ...] = ()
        if lost is not None:
            await lost.close()
            notes = (f"The earlier shell was ended; this is a new one in {self.directory}.",)
        box = await self._box()
        try:
            shell = await Shell.open(box, directory=self.directory, exported=self._exported)
        except WorkspaceError:
            if self.directory == self._home:
                raise
            # It may have been removed.
            notes += (f"{self.directory} can't be entered; the shell begins in {self._home}.",)
            shell = await Shell.open(box, directory=self._home, exported=self._exported)
        self._shell, self._directory = shell, shell.directory
        await self._changed()
        return shell, notes

    async def _ran(
        self,
        command: str,
        home: Home,
        output: Output,
        *,
        wait: float,
        notify: bool,
        network: bool = False,
    ) -> Ran:
        began, since = monotonic(), self._clock.now()
        work = asyncio.create_task(home.run(command, output))
        try:
            await asyncio.wait([work], timeout=wait)
            if not work.done():
                self._processes.check_room("The command was stopped: it took too long.")
        except (asyncio.CancelledError, WorkspaceError):
            await self._stopped(home, output, work)
            raise
        output.show = None
        seconds = monotonic() - began
        if work.done():
            finished = work.result()
            await output.close()
            text = output.take()
            return Ran(text=text, status=finished.status, seconds=seconds)
        process = await self._processes.add(
            command, home, output, work, since=since, notify=notify, network=network
        )
        await output.settle()
        return Ran(text=output.take(), status=None, seconds=seconds, process=process.id)

    async def _stopped(self, home: Home, output: Output, work: asyncio.Task[Finished]) -> None:
        """In a task of its own: it goes on if nobody waits for it any longer."""

        async def stop() -> None:
            output.show = None
            await home.stop()
            await asyncio.wait([work])
            await output.close()

        task = asyncio.create_task(stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        await asyncio.wait([task], timeout=_STOP_SECONDS)
