"""All workspaces of this Roost: found by session, reclaimed when idle, ended with their session."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from contextvars import Context
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path

import structlog

from roost.core.clock import Clock
from roost.core.config import WorkspacesConfig
from roost.core.errors import ConfigError, NotFound, WorkspaceError, WorkspaceGone
from roost.core.ids import SessionId, UserId
from roost.workspace.base import Folder, Sandbox, SandboxKind
from roost.workspace.disk import DiskFloor
from roost.workspace.glance import Glance
from roost.workspace.news import following, lost_with, moved_from
from roost.workspace.place import (
    FIRST_OWNER,
    Place,
    owners_of,
    remove_leavings,
    sessions_in,
)
from roost.workspace.workspace import Workspace, WorkspaceView

log = structlog.stdlib.get_logger("roost.workspace")

SWEEP_SECONDS = 30.0
_TELL_SECONDS = 30.0

HomeOf = Callable[[UserId, SessionId], Awaitable[SessionId]]
Moving = Callable[[str], Awaitable[None]]
"""Writes down that a session's workspace was on a server, by its name, that is not there."""
Settle = Callable[[SessionId, Moving], Awaitable[None]]
"""Has the workspace of a session be on this server. If another had it, that is written down first:
this one may die in the next moment, and the session would never be told."""
Over = Callable[[Collection[SessionId]], Awaitable[Collection[SessionId]]]
"""Those of some sessions whose workspaces here are over: another server has them now."""
Tell = Callable[[UserId, SessionId, str], Awaitable[None]]
"""Says something to a session: to people, or to its agent."""


class Workspaces:
    """Belongs to one event loop. A session has one workspace at a time; while one is being closed
    the next one waits.

    `is_admin` says who may run processes without a box; whoever fills the disk down to its `floor`
    is stopped. `told` is for people, `ended` for the session's agent, which may go on with it.
    `home_of` is whose files a session works on: a subagent's are its caller's."""

    def __init__(
        self,
        sandbox: Sandbox | None,
        folder: Path,
        config: WorkspacesConfig,
        *,
        clock: Clock,
        is_admin: Callable[[UserId], Awaitable[bool]],
        agents_idle: timedelta = timedelta(0),
        floor: DiskFloor | None = None,
        home_of: HomeOf | None = None,
        told: Tell | None = None,
        ended: Tell | None = None,
    ) -> None:
        self.told = told
        self.ended = ended
        self.settle: Settle | None = None
        """Where there are several servers, whichever makes a workspace has the session from then
        on."""
        self.over: Over | None = None
        self._sandbox = sandbox
        self._folder = folder
        self._clock = clock
        self._is_admin = is_admin
        self._floor = floor
        self._home_of = home_of
        self._idle_ttl = max(config.idle_ttl, agents_idle)
        self._more = [
            *[_shared(path, "read", folder.parent) for path in config.read],
            *[_shared(path, "write", folder.parent) for path in config.write],
        ]
        self._live: dict[SessionId, Workspace] = {}
        self._closing: dict[SessionId, asyncio.Task[None]] = {}
        self._making = asyncio.Lock()
        self._tidying = asyncio.Lock()
        self._owners: set[int] | None = None
        self._is_closed = False

    @property
    def kind(self) -> SandboxKind | None:
        """What commands run in; None is that there are none."""
        return None if self._sandbox is None else self._sandbox.kind

    async def of(self, user: UserId, session: SessionId) -> Workspace:
        """The session's workspace. This opens nothing."""
        if self._is_closed:
            raise WorkspaceGone("Roost is stopping.")
        await self._close_if_over(session)
        while (found := self._live.get(session)) is None:
            if (closing := self._closing.get(session)) is not None:
                await asyncio.wait([closing])
                continue
            async with self._making:
                if session not in self._live and session not in self._closing:
                    self._live[session] = await self._made(user, session)
        if found.user != user:
            raise WorkspaceError("it belongs to another user.")
        found.touch()
        return found

    async def end(self, session: SessionId) -> None:
        """Kill what runs in the session's workspace and close it. Its files stay."""
        async with self._making:
            closing = self._closes(session, forever=True)
        if closing is not None:
            await asyncio.wait([closing])

    async def forget(self, session: SessionId) -> None:
        """End it, and remove its files."""
        await self.end(session)
        place = Place(self._folder, session)
        async with self._making:
            await asyncio.to_thread(place.put_aside)
        await self.tidy()

    async def tidy(self) -> None:
        """Remove what was put aside. That may take long, and holds up nobody."""
        async with self._tidying:
            await asyncio.to_thread(remove_leavings, self._folder)

    async def stored(self) -> frozenset[SessionId]:
        """The sessions that have files here."""
        return frozenset(await asyncio.to_thread(sessions_in, self._folder))

    async def sweep(self) -> int:
        """Close the workspaces that have been idle for too long; how many they were."""
        before = self._clock.now() - self._idle_ttl // timedelta(milliseconds=1)
        idle = [
            workspace
            for workspace in self._live.values()
            if not workspace.is_busy and workspace.last_used < before
        ]
        why = f"the workspace was not used for {_hours(self._idle_ttl)}"
        telling: list[Awaitable[None]] = []
        for workspace in idle:
            if lost := lost_with(workspace.terminal.has_shell, workspace.processes.running):
                said = f"{lost} ended: {why}. Files are kept."
                telling.append(self.tell(workspace.user, workspace.session, said))
            self._closes(workspace.session, why=why)
        await asyncio.gather(*telling)
        return len(idle)

    async def glance(self, user: UserId, session: SessionId) -> Glance:
        """What a session's browser shows. Whoever looks does not use the workspace, nor open it."""
        workspace = self._live.get(session)
        tabs = None if workspace is None or workspace.user != user else workspace.tabs
        return Glance() if tabs is None else await tabs.glance()

    def listed(self, user: UserId) -> tuple[WorkspaceView, ...]:
        """What a user has running."""
        return tuple([each.view for each in self._live.values() if each.user == user])

    @property
    def users(self) -> frozenset[UserId]:
        """Those who have a workspace open."""
        return frozenset([each.user for each in self._live.values()])

    @property
    def sessions(self) -> frozenset[SessionId]:
        """Those that have one open."""
        return frozenset(self._live)

    @property
    def counts(self) -> tuple[int, int]:
        """Workspaces that are open, and the processes that run in them."""
        running = [each.processes.running for each in self._live.values()]
        return len(running), sum(running)

    async def stop_process(self, user: UserId, session: SessionId, id: str) -> None:
        """Kill a process, and all that it started."""
        workspace = self._live.get(session)
        if workspace is None or workspace.user != user:
            raise NotFound("workspace of session", session)
        await workspace.processes.find(id).kill()

    async def run(self, *, period: float = SWEEP_SECONDS) -> None:
        """Sweep every `period` seconds, until cancelled."""
        while True:
            await asyncio.sleep(period)
            try:
                await self.sweep()
            except Exception:
                log.exception("idle workspaces could not be closed")

    async def close(self) -> None:
        """End them all. Every part has a deadline, and all of them run at once."""
        self._is_closed = True
        async with self._making:
            for session in list(self._live):
                self._closes(session)
        while self._closing:
            await asyncio.wait(self._closing.values())

    def _closes(
        self, session: SessionId, *, why: str = "", forever: bool = False
    ) -> asyncio.Task[None] | None:
        """In a task of its own: whoever asked may give up, the closing goes on."""
        if (workspace := self._live.pop(session, None)) is not None:
            closing = workspace.close(why=why, forever=forever)
            task = asyncio.create_task(closing, context=Context())
            self._closing[session] = task
            task.add_done_callback(lambda _: self._closing.pop(session, None))
        return self._closing.get(session)

    async def are_lent(self, user: UserId, session: SessionId) -> bool:
        """Whether the files that a session works on are another's, as a subagent's are."""
        return self._home_of is not None and await self._home_of(user, session) != session

    async def _close_if_over(self, session: SessionId) -> None:
        """A server that was silent for a while may have lost it to another, and need not know."""
        live = self._live.get(session)
        if live is None or self.over is None or not await self.over({live.home, session}):
            return
        if self._live.get(session) is live:
            self._closes(session, forever=True)

    async def _made(self, user: UserId, session: SessionId) -> Workspace:
        place = Place(self._folder, session)
        home = session if self._home_of is None else await self._home_of(user, session)
        lender = place if home == session else Place(self._folder, home)
        await self._settle_here(session, home)
        owner = await asyncio.to_thread(self._prepare, lender)
        if lender is not place:
            await asyncio.to_thread(place.prepare, owner)
        trace = following(await asyncio.to_thread(place.read_trace))
        return Workspace(
            user,
            session,
            place.ground(self.kind, owner, self._more, files=lender.files),
            place,
            home=home,
            sandbox=self._sandbox,
            ports=_Ports(self, user, session),
            clock=self._clock,
            trace=trace,
            floor=self._floor,
        )

    async def _settle_here(self, session: SessionId, home: SessionId) -> None:
        if self.settle is None:
            return
        for each in sorted({home, session}):
            await self.settle(each, partial(self._note_move, {each, session}, home))

    async def _note_move(
        self, sessions: Collection[SessionId], home: SessionId, server: str
    ) -> None:
        """Whoever works on files that are others now is told, and so is whose files they are."""
        trace = await asyncio.to_thread(moved_from, server, Place(self._folder, home).files)
        for each in sessions:
            if (closing := self._closes(each, forever=True)) is not None:
                await asyncio.wait([closing])
            await asyncio.to_thread(Place(self._folder, each).keep_trace, trace)

    async def may_open(self, user: UserId) -> None:
        if self._sandbox is None or self._sandbox.kind != "local" or await self._is_admin(user):
            return
        raise WorkspaceError(
            "without bubblewrap, commands run unprotected, which only an admin may do. Ask whoever "
            "runs this Roost to make bubblewrap work; `roost doctor` says how."
        )

    async def tell(self, user: UserId, session: SessionId, text: str) -> None:
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                if self.told is not None:
                    await self.told(user, session, text)
        except Exception:
            log.exception("people could not be told of a workspace", session=session)

    def _prepare(self, place: Place) -> int | None:
        """Under root every workspace is a user of its own, so that what is counted by user is
        counted by workspace. `local` runs as whoever Roost is."""
        if self._owners is None:
            self._owners = set(owners_of(self._folder))
        if os.geteuid() != 0 or self._sandbox is None or self._sandbox.kind == "local":
            return place.prepare(None)
        free = next(uid for uid in count(FIRST_OWNER) if uid not in self._owners)
        owner = place.prepare(free)
        if owner is not None:
            self._owners.add(owner)
        return owner


def _shared(path: str, setting: str, data: Path) -> Folder:
    """A folder of the machine's that boxes show. Its path has no links: they could be moved."""
    host = Path(path).expanduser().resolve()
    if not host.is_dir():
        raise ConfigError(f"workspaces.{setting} names {path}, which is no folder on this machine.")
    own = data.resolve()
    if own.is_relative_to(host) or host.is_relative_to(own):
        raise ConfigError(f"workspaces.{setting} names {path}, which holds Roost's own data.")
    return Folder(host, str(host), writable=setting == "write")


class _Ports:
    """What one workspace may ask of all this."""

    def __init__(self, workspaces: Workspaces, user: UserId, session: SessionId) -> None:
        self._workspaces = workspaces
        self._user = user
        self._session = session

    async def may_open(self) -> None:
        await self._workspaces.may_open(self._user)

    async def ended(self, text: str) -> None:
        if self._workspaces.ended is not None:
            await self._workspaces.ended(self._user, self._session, text)

    async def told(self, text: str) -> None:
        await self._workspaces.tell(self._user, self._session, text)


def _hours(time: timedelta) -> str:
    minutes = round(time.total_seconds() / 60)
    return f"{minutes // 60} h" if minutes and minutes % 60 == 0 else f"{minutes} min"
