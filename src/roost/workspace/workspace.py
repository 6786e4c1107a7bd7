"""A session's hands for as long as they live: boxes, and what is attached to them."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol, TypeVar, cast

import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.errors import WorkspaceError, WorkspaceGone
from roost.core.ids import SessionId, UserId
from roost.workspace.base import Box, Ground, Sandbox, SandboxKind
from roost.workspace.disk import DiskFloor
from roost.workspace.place import Place, Trace
from roost.workspace.plain import as_text
from roost.workspace.processes import Processes, ProcessView
from roost.workspace.tabs import Tabs
from roost.workspace.terminal import Terminal

log = structlog.stdlib.get_logger("roost.workspace")

OPEN_SECONDS = 20.0
CLOSE_SECONDS = 5.0


class Attached(Protocol):
    async def close(self) -> None:
        """Once. Boxes may close at the same time, and with them what it has in them."""
        ...


R = TypeVar("R", bound=Attached)


class WorkspaceView(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace as surfaces show it."""

    id: str
    session: SessionId
    since: int
    last_used: int
    shell: bool
    directory: str
    processes: tuple[ProcessView, ...]


class Ports(Protocol):
    """What a workspace needs of whoever has it."""

    async def may_open(self) -> None:
        """Raises WorkspaceError if its user may have no processes."""
        ...

    async def ended(self, text: str) -> None:
        """A process ended that the session wants to be told of."""
        ...

    async def told(self, text: str) -> None:
        """Something that people should know."""
        ...


class Workspace:
    """Lives from its first use until its session ends, it was idle for too long, or Roost stops.
    The next one of the session has another `id` and the same files, which are those of `home`.

    Belongs to one event loop. Boxes open when first asked for."""

    def __init__(
        self,
        user: UserId,
        session: SessionId,
        ground: Ground,
        place: Place,
        *,
        home: SessionId,
        sandbox: Sandbox | None,
        ports: Ports,
        clock: Clock,
        trace: Trace,
        floor: DiskFloor | None = None,
    ) -> None:
        self.id = f"wsp_{secrets.token_hex(8)}"
        self.user = user
        self.session = session
        self.home = home
        self.ground = ground
        self.since = self.last_used = clock.now()
        self.kind: SandboxKind | None = None if sandbox is None else sandbox.kind
        self.processes = Processes(clock, changed=self._leave_trace, ended=ports.ended)
        self.terminal = Terminal(
            ground, self.box, self.processes, clock=clock, changed=self._leave_trace
        )
        self._place = place
        self._sandbox = sandbox
        self._ports = ports
        self._clock = clock
        self._trace = trace
        self._is_told = False
        self._tracing = asyncio.Lock()
        self._floor = floor
        self._tenancy = ExitStack()
        self._boxes: dict[bool, Box] = {}
        self._attached: dict[str, Attached] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._uses = 0
        self._closed = False

    @property
    def is_busy(self) -> bool:
        return self._uses > 0

    @property
    def is_live(self) -> bool:
        """Whether anything would be lost with it."""
        return bool(self._boxes or self._attached)

    @property
    def view(self) -> WorkspaceView:
        return WorkspaceView(
            id=self.id,
            session=self.session,
            since=self.since,
            last_used=self.last_used,
            shell=self.terminal.has_shell,
            directory=as_text(self.terminal.directory),
            processes=self.processes.views(),
        )

    def touch(self) -> None:
        self.last_used = self._clock.now()

    @contextmanager
    def used(self) -> Generator[None]:
        """While the block lasts it is busy, and never reclaimed."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self.touch()

    async def box(self, *, network: bool = False) -> Box:
        """The box, opened if it is not. One that died is replaced: what ran in it is gone."""
        async with self._lock(f"box {network}"):
            found = self._boxes.get(network)
            if found is not None and found.is_open:
                return found
            self._check()
            if self._sandbox is None:
                raise WorkspaceError("no sandbox works on this machine. `roost doctor` says why.")
            await self._ports.may_open()
            try:
                async with asyncio.timeout(OPEN_SECONDS):
                    opened = await self._sandbox.open(self.ground, network=network)
            except TimeoutError as error:
                raise WorkspaceError("its box does not open. Try again.") from error
            if self._closed:
                await _closed("box", opened)
            self._check()
            if not self._boxes and self._floor is not None:
                self._tenancy.enter_context(self._floor.let(self._writes_to(), self.stop))
            self._boxes[network] = opened
        if found is not None:
            await _closed("box", found)
        return opened

    def _writes_to(self) -> tuple[Path, ...]:
        """Where its disk goes: its own folder, that of whose files it works on, and others."""
        lent = self.ground.home.host.parent
        others = [each.host for each in self.ground.folders[1:] if each.writable]
        return tuple(dict.fromkeys([self._place.folder, lent, *others]))

    async def attached(self, name: str, make: Callable[[], Awaitable[R]]) -> R:
        """What lives and is closed with the workspace, made when first asked for. A name is always
        asked for with the same `make`; one that fails is tried again the next time."""
        async with self._lock(name):
            self._check()
            if name not in self._attached:
                made = await make()
                if self._closed:
                    await _closed(name, made)
                self._check()
                self._attached[name] = made
            return cast("R", self._attached[name])

    @property
    def tabs(self) -> Tabs | None:
        """Those of its browser, if it has any."""
        found = self._attached.get("browser")
        return found if isinstance(found, Tabs) else None

    async def detach(self, name: str) -> None:
        """Close one resource, of its own accord or because it broke; it can be made again."""
        async with self._lock(name):
            if (found := self._attached.pop(name, None)) is not None:
                await _closed(name, found)

    async def take_news(self) -> str:
        """What the session must be told of the workspace before this one; once. The trace has it
        until somebody asks again: what was told may be lost with the server that was to write it
        down."""
        news = self._trace.news
        if news:
            self._trace = msgspec.structs.replace(self._trace, news="", moved=False)
            self._is_told = True
        else:
            await self._forget_told()
        return news

    async def take_move(self) -> str:
        """The same, if it has none of the files of the one before."""
        if self._trace.moved:
            return await self.take_news()
        await self._forget_told()
        return ""

    async def _forget_told(self) -> None:
        if self._is_told:
            self._is_told = False
            await self._leave_trace()

    async def stop(self, reason: str) -> None:
        """Kill everything that runs in its boxes. The next command opens another."""
        boxes = list(self._boxes.values())
        self._boxes.clear()
        self._tenancy.close()
        said = f"What ran in the workspace was stopped: {reason}"
        news = f"{self._trace.news} {said}" if self._trace.moved else said
        self._trace = msgspec.structs.replace(self._trace, news=news)
        await asyncio.gather(*[_closed("box", box) for box in boxes])
        await self._ports.told(said)

    async def close(self, *, why: str = "", forever: bool = False) -> None:
        """Everything, once; what is slow to close holds up nothing else, and no longer than its
        deadline. The next workspace of the session will say `why`, unless it is over `forever`."""
        if self._closed:
            return
        await self._leave_trace(why=why, forever=forever)
        self._closed = True
        held = [*self._attached.items(), *[("box", box) for box in self._boxes.values()]]
        self._attached.clear()
        self._boxes.clear()
        self._tenancy.close()
        held += [("terminal", self.terminal), ("processes", self.processes)]
        await asyncio.gather(*[_closed(name, each) for name, each in held])
        await asyncio.to_thread(self._place.empty_scratch)

    async def _leave_trace(self, *, why: str = "", forever: bool = False) -> None:
        """So that whoever comes after knows what there was, even if this ends without a word."""
        async with self._tracing:
            if self._closed:
                return
            shell, processes = self.terminal.has_shell, self.processes.running
            self._trace = msgspec.structs.replace(
                self._trace, shell=shell, processes=processes, why=why
            )
            needed = not forever and (shell or processes or self._trace.news)
            trace = self._trace if needed else None
            try:
                await asyncio.to_thread(self._place.write_trace, trace)
            except OSError as error:
                log.warning("a workspace can't leave a trace", error=str(error))

    def _check(self) -> None:
        if self._closed:
            raise WorkspaceGone("its session ended, or it was not used for long. Try again.")

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())


async def _closed(name: str, resource: Attached) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await resource.close()
    except Exception:
        log.exception("a part of a workspace could not be closed", part=name)
