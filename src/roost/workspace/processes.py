"""What runs in the background of a workspace: found by its id, polled, typed to, killed whole."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.errors import WorkspaceError
from roost.workspace.output import Output
from roost.workspace.shell import Finished, Home

log = structlog.stdlib.get_logger("roost.workspace")

MOST = 16
"""Processes that may run at once; and ended ones that are remembered."""
_TELL_SECONDS = 30.0
_SHORT = 200
_LONGEST_LINE = 4_000
_GATHER = 0.2
"""Seconds for more to come, once something has."""


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """A process as surfaces show it. `status` is None while it runs; times are in milliseconds."""

    id: str
    command: str
    since: int
    until: int | None
    status: int | None
    output: str


class Process:
    """A command in the background, from its first output to after its end."""

    def __init__(
        self,
        id: str,
        command: str,
        home: Home,
        output: Output,
        work: asyncio.Task[Finished],
        *,
        since: int,
        notify: bool,
        network: bool,
    ) -> None:
        self.id = id
        self.network = network
        self.command = command
        self.output = output
        self.since = since
        self.until: int | None = None
        self.status: int | None = None
        self.notify = notify
        self._home = home
        self._work = work
        self._ended = asyncio.Event()
        self._polls = 0

    @property
    def is_running(self) -> bool:
        return self.status is None

    @property
    def view(self) -> ProcessView:
        return ProcessView(
            id=self.id,
            command=self.command,
            since=self.since,
            until=self.until,
            status=self.status,
            output=self.output.last,
        )

    async def poll(self, seconds: float) -> str:
        """What it printed since the last time; waits for something, or its end, for so long."""
        self._polls += 1
        news = asyncio.create_task(self.output.news())
        end = asyncio.create_task(self._end())
        try:
            await asyncio.wait([news, end], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if news.done() and seconds:
                await asyncio.wait([end], timeout=_GATHER)
        finally:
            self._polls -= 1
            news.cancel()
            end.cancel()
        await self.output.settle()
        return self.output.take()

    async def write(self, text: str) -> None:
        if not self.is_running:
            raise WorkspaceError(f"{self.id} has ended.")
        data = text.encode()
        if max(map(len, data.split(b"\n"))) > _LONGEST_LINE:
            # The kernel would drop the rest of it without a word.
            raise WorkspaceError(f"a terminal takes lines of {_LONGEST_LINE} bytes. Use a file.")
        await self._home.tty.write(data)

    async def kill(self) -> None:
        """With all that it started. Nobody is told: whoever killed it knows."""
        self.notify = False
        await self._home.close()
        await self._ended.wait()

    async def watch(self, clock: Clock, ended: Callable[[str], Awaitable[None]]) -> None:
        """See it to its end. It is told of once, unless somebody is looking at it just then."""
        try:
            self.status = (await self._work).status
        except Exception:
            log.exception("a process was lost sight of", process=self.id)
            self.status = -9
        self.until = clock.now()
        await self._home.close()
        await self.output.close()
        looking = self._polls > 0
        self._ended.set()
        if self.notify and not looking:
            self.notify = False
            await ended(self._obituary())

    async def _end(self) -> None:
        await self._ended.wait()

    def _obituary(self) -> str:
        seconds = ((self.until or 0) - self.since) / 1000
        said = f"Process {self.id} ({_short(self.command)}) ended with status {self.status}"
        last = f"\nIts last output:\n{self.output.last}" if self.output.last else ""
        return f"{said} after {seconds:.0f} s.{last}"


class Processes:
    """Those of one workspace. `changed` is told when the number that runs has; `ended` when one
    ended that was to be told of."""

    def __init__(
        self,
        clock: Clock,
        *,
        changed: Callable[[], Awaitable[None]],
        ended: Callable[[str], Awaitable[None]],
    ) -> None:
        self._clock = clock
        self._changed = changed
        self._tell = ended
        self._ids = count(1)
        self._all: dict[str, Process] = {}
        self._watches: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        return sum(1 for process in self._all.values() if process.is_running)

    def views(self) -> tuple[ProcessView, ...]:
        return tuple([process.view for process in self._all.values()])

    def check_room(self, otherwise: str = "Kill one first.") -> None:
        if self.running >= MOST:
            raise WorkspaceError(f"{MOST} processes run in the background. {otherwise}")

    async def add(
        self,
        command: str,
        home: Home,
        output: Output,
        work: asyncio.Task[Finished],
        *,
        since: int,
        notify: bool,
        network: bool = False,
    ) -> Process:
        process = Process(
            f"p{next(self._ids)}",
            command,
            home,
            output,
            work,
            since=since,
            notify=notify,
            network=network,
        )
        self._all[process.id] = process
        watch = asyncio.create_task(self._watched(process))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        self._forget_oldest()
        await self._changed()
        return process

    def find(self, id: str) -> Process:
        if (process := self._all.get(id)) is None:
            known = ", ".join(self._all) or "none"
            raise WorkspaceError(f"there is no process {id!r}. There are: {known}.")
        return process

    async def close(self) -> None:
        for process in self._all.values():
            process.notify = False
        await asyncio.gather(*[each.kill() for each in self._all.values() if each.is_running])
        if self._watches:
            await asyncio.wait(self._watches)

    async def _watched(self, process: Process) -> None:
        await process.watch(self._clock, self._told)
        await self._changed()

    async def _told(self, text: str) -> None:
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                await self._tell(text)
        except Exception:
            log.exception("a session could not be told of a process that ended")

    def _forget_oldest(self) -> None:
        ended = [process.id for process in self._all.values() if not process.is_running]
        for id in ended[:-MOST]:
            del self._all[id]


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _SHORT else f"{line[:_SHORT]}..."
