"""How sessions come to their end: closed, deleted, or another in their place."""

import asyncio
from contextlib import suppress

from roost.core.errors import Conflict
from roost.core.ids import SessionId, UserId
from roost.core.sessions import NewSession, Session
from roost.runtime.parts import Parts


class Endings:
    """Of one user's sessions. Whatever runs in one stops first."""

    def __init__(self, parts: Parts, user: UserId) -> None:
        self._store = parts.store.of(user)
        self._user = user
        self._hub = parts.hub
        self._turns = parts.turns
        self._agents = parts.agents
        self._memory = parts.memory
        self._workspaces = parts.workspaces
        self._feeds = parts.feeds

    async def end(self, session: SessionId) -> None:
        await self._silence(session)
        await self._end(session)

    async def _end(self, session: SessionId) -> None:
        async with self._turns.held(session) as lease:
            await self._store.sessions.end(session, lease.token)
            self._agents.drop(session)
        self._hub.changed(session)
        await self._end_workspace(session)
        self._memory.boundary(self._user, session, "end")

    async def delete(self, session: SessionId) -> None:
        await self._silence(session)
        self._feeds.owned(session, self._user)
        family = await self._family(session)
        await self._store.sessions.delete(session)
        self._turns.give_up(session)  # if one began in between
        self._agents.drop(session)
        self._hub.changed(session)
        self._memory.deleted(session)
        if self._workspaces is not None:
            await asyncio.gather(*[self._workspaces.forget(each) for each in family])

    async def reset(self, route: str, new: NewSession) -> Session:
        """The route's session makes place for a new one."""
        old = await self._store.sessions.current(route)
        if old is None:
            opened = await self._store.sessions.reset(route, None, None, new)
            self._hub.changed(opened.id)
            return opened
        await self._silence(old)
        async with self._turns.held(old) as lease:
            opened = await self._store.sessions.reset(route, old, lease.token, new)
            self._agents.drop(old)
        self._hub.changed(old)
        self._hub.changed(opened.id)
        await self._end_workspace(old)
        self._memory.boundary(self._user, old, "reset")
        return opened

    async def _family(self, session: SessionId) -> list[SessionId]:
        """A session, its subagents, and theirs."""
        found = [session]
        for each in found:  # it grows
            found += [child.id for child in await self._store.sessions.subagents(each)]
        return found

    async def _silence(self, session: SessionId) -> None:
        """Stop what is done in a session. What its subagents do is over with it."""
        silent = [session]
        for each in silent:  # it grows
            await self._stop(each)
            children = await self._store.sessions.subagents(each)
            silent += [child.id for child in children if child.ended_at is None]
        for subagent in reversed(silent[1:]):
            await self._end(subagent)

    async def _stop(self, session: SessionId) -> None:
        """Stop the turn under way with none to follow it: what waits would be taken up before
        anyone else can hold the session."""
        for turn in await self._store.queue.of(session):
            with suppress(Conflict):  # it has just begun, and is the one to cancel
                await self._store.queue.remove(turn.id)
                self._hub.changed(session)
        await self._store.sessions.get(session)  # whose it is
        await self._turns.cancel(self._user, session)

    async def _end_workspace(self, session: SessionId) -> None:
        if self._workspaces is not None:
            await self._workspaces.end(session)
