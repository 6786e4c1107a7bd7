"""Between sessions and their workspaces: what becomes of one is told to the other."""

import asyncio
from collections import Counter
from collections.abc import Collection
from functools import partial

import structlog

from roost.core.errors import Conflict, NotFound, WorkspaceElsewhere
from roost.core.ids import SessionId, UserId, new_message_id, new_turn_id
from roost.core.messages import ContextPart, Draft, TextPart
from roost.core.turns import NewTurn, TurnEnd
from roost.runtime.hub import Hub
from roost.runtime.persistence import persisted
from roost.runtime.turns import Turns
from roost.store.servers import Servers
from roost.store.store import Store
from roost.store.work import Claimed
from roost.workspace.workspaces import Moving, Workspaces

log = structlog.stdlib.get_logger("roost.workspace")

ROUTE = "workspace"
"""Where a turn comes from that no person began."""


MOST_ALONE = 20
"""Turns in a row that ends of processes may begin."""
KEEP_UP = 60.0
"""Seconds after which what other servers did to sessions is looked at again."""


class WorkspaceCare:
    def __init__(self, workspaces: Workspaces, store: Store, turns: Turns, hub: Hub) -> None:
        self._workspaces = workspaces
        self._store = store
        self._turns = turns
        self._hub = hub
        self._woken: Counter[SessionId] = Counter()
        self._servers = store.servers
        if store.servers is not None:
            workspaces.settle = partial(self._settle, store.servers)
            workspaces.over = partial(self._over, store.servers)
        workspaces.told = self.note
        workspaces.ended = self.wake

    async def note(self, user: UserId, session: SessionId, text: str) -> None:
        """Let a session know, for good; the next tool call tells one that is in the middle of a
        turn."""
        draft = Draft(new_message_id(), "note", (TextPart(text),))
        history = self._store.of(user).history
        try:
            async with self._turns.held(session) as lease:
                await persisted(partial(history.note, session, lease.token, draft))
        except (Conflict, NotFound):
            log.info("a session could not be told", session=session, text=text)
            return
        self._hub.changed(session)

    async def wake(self, user: UserId, session: SessionId, text: str) -> None:
        """Let the agent know now: in the turn under way, or in one of its own. After so many of
        those without a person's word it is only noted: it could go on like that for ever."""
        self._woken[session] += 1
        if self._woken[session] > MOST_ALONE:
            await self.note(user, session, text)
            return
        parts = (ContextPart("workspace", text),)
        new = NewTurn(id=new_turn_id(), parts=parts, steer=True, route=ROUTE)
        try:
            await self._turns.submit(user, session, new)
        except (Conflict, NotFound) as error:
            log.info("an agent could not be told", session=session, error=str(error))
            return
        self._hub.changed(session)

    def finished(self, claimed: Claimed, end: TurnEnd) -> None:
        """A turn that a person began: someone is there."""
        if claimed.turn.route != ROUTE:
            del self._woken[claimed.session.id]

    async def _settle(self, servers: Servers, session: SessionId, moving: Moving) -> None:
        taking: str | None = None
        while True:
            settled = await persisted(partial(servers.settle, session, taking=taking))
            if settled.elsewhere is not None:
                raise WorkspaceElsewhere(settled.elsewhere, there=settled.there)
            if settled.before in (None, taking):
                return
            taking = settled.before
            await moving(taking)

    async def _over(
        self, servers: Servers, sessions: Collection[SessionId]
    ) -> Collection[SessionId]:
        return await persisted(partial(servers.over_among, sessions))

    async def run(self) -> None:
        """Reclaim what is idle, again and again; what deleted sessions left goes first."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_tidy())
            group.create_task(self._workspaces.run())

    async def _keep_tidy(self) -> None:
        """At the start, and then for what other servers do."""
        while True:
            try:
                await self.tidy()
            except Exception:
                log.exception("workspaces of deleted sessions could not be removed")
            if self._servers is None:
                return
            await asyncio.sleep(KEEP_UP)

    async def tidy(self) -> None:
        """A crash may come between deleting a session and removing its files; another server may
        have deleted it, ended it, or taken it over while this one was silent. Where a folder can
        meet a database that is not its own, none is removed on the word of one that knows none."""
        await self._workspaces.tidy()
        stored = await self._workspaces.stored()
        there = await self._store.work.sessions_among(stored)
        if self._servers is not None and stored and not there:
            log.warning("this store knows no session of the workspaces here", count=len(stored))
        else:
            await asyncio.gather(*[self._workspaces.forget(each) for each in stored - there])
        if self._servers is not None:
            await self._servers.settle_all(there)  # as after a move from SQLite
            over = await self._servers.over_among(self._workspaces.sessions)
            await asyncio.gather(*[self._workspaces.end(each) for each in over])
