"""All workspaces of this Roost: found by session, reclaimed when idle, ended with their session."""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from contextvars import Context
from datetime import timedelta
from itertools import count
from pathlib import Path

import structlog

from roost.core.clock import Clock
from roost.core.config import WorkspacesConfig
from roost.core.errors import WorkspaceError, WorkspaceGone
from roost.core.ids import SessionId, UserId
from roost.workspace.base import Folder, Sandbox
from roost.workspace.place import (
    FIRST_OWNER,
    Place,
    owners_of,
    remove_leavings,
    sessions_in,
)
from roost.workspace.workspace import Workspace

log = structlog.stdlib.get_logger("roost.workspace")

SWEEP_SECONDS = 30.0

Tell = Callable[[UserId, SessionId, str], Awaitable[None]]
"""Says something to a session: to people, or to its agent."""


class Workspaces:
    """Belongs to one event loop. A session has one workspace at a time; while one is being closed
    the next one waits.

    `is_admin` says who may run processes without a box. `told` is for people, `ended` for the
    session's agent, which may go on with it."""

    def __init__(
        self,
        sandbox: Sandbox | None,
        folder: Path,
        config: WorkspacesConfig,
        *,
        clock: Clock,
        is_admin: Callable[[UserId], Awaitable[bool]],
        agents_idle: timedelta = timedelta(0),
        told: Tell | None = None,
        ended: Tell | None = None,
    ) -> None:
        self.told = told
        self.ended = ended
        self._sandbox = sandbox
        self._folder = folder
        self._clock = clock
        self._is_admin = is_admin
        self._idle_ttl = max(config.idle_ttl, agents_idle)
        self._more = [
            *[_kept(path, writable=False) for path in config.read],
            *[_kept(path, writable=True) for path in config.write],
        ]
        self._life = secrets.token_hex(8)
        self._live: dict[SessionId, Workspace] = {}
        self._closing: dict[SessionId, asyncio.Task[None]] = {}
        self._making = asyncio.Lock()
        self._owners: set[int] | None = None
        self._is_closed = False

    async def of(self, user: UserId, session: SessionId) -> Workspace:
        """The session's workspace. This opens nothing."""
        if self._is_closed:
            raise WorkspaceGone("Roost is stopping.")
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
            closing = self._closes(session)
        if closing is not None:
            await asyncio.wait([closing])

    async def forget(self, session: SessionId) -> None:
        """End it, and remove its files."""
        await self.end(session)
        place = Place(self._folder, session)
        async with self._making:
            await asyncio.to_thread(place.remove)

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
        for workspace in idle:
            was_live = workspace.is_live
            self._closes(workspace.session)
            if was_live and self.told is not None:
                await self.told(workspace.user, workspace.session, "")
        return len(idle)

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

    def _closes(self, session: SessionId) -> asyncio.Task[None] | None:
        """In a task of its own: whoever asked may give up, the closing goes on."""
        if (workspace := self._live.pop(session, None)) is not None:
            task = asyncio.create_task(workspace.close(), context=Context())
            self._closing[session] = task
            task.add_done_callback(lambda _: self._closing.pop(session, None))
        return self._closing.get(session)

    async def _made(self, user: UserId, session: SessionId) -> Workspace:
        place = Place(self._folder, session)
        kind = None if self._sandbox is None else self._sandbox.kind
        owner = await asyncio.to_thread(self._prepare, place)

        async def may_open() -> None:
            if kind == "local" and not await self._is_admin(user):
                raise WorkspaceError(
                    "without bubblewrap, commands run unprotected, which only an admin may do. "
                    "Ask whoever runs this Roost to make bubblewrap work; `roost doctor` says how."
                )

        return Workspace(
            user,
            session,
            place.ground(kind, owner, self._more),
            sandbox=self._sandbox,
            may_open=may_open,
            clock=self._clock,
        )

    def _prepare(self, place: Place) -> int | None:
        """Under root every workspace is a user of its own, so that what is counted by user is
        counted by workspace. `local` runs as whoever Roost is."""
        if os.geteuid() != 0 or self._sandbox is None or self._sandbox.kind == "local":
            return place.prepare(None)
        if self._owners is None:
            remove_leavings(self._folder)
            self._owners = set(owners_of(self._folder))
        free = next(uid for uid in count(FIRST_OWNER) if uid not in self._owners)
        owner = place.prepare(free)
        if owner is not None:
            self._owners.add(owner)
        return owner


def _kept(path: str, *, writable: bool) -> Folder:
    host = Path(path).expanduser()
    return Folder(host, str(host), writable)
