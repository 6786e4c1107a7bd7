"""What becomes of what a user has going when they may not use this Roost any more."""

import asyncio
from collections.abc import Sequence

from roost.core.ids import SessionId, UserId
from roost.runtime.parts import Parts


class Departures:
    def __init__(self, parts: Parts) -> None:
        self._turns = parts.turns
        self._agents = parts.agents
        self._hub = parts.hub
        self._upkeep = parts.store.upkeep
        self._work = parts.store.work
        self._workspaces = parts.workspaces

    async def remove(self, sessions: Sequence[SessionId]) -> None:
        """Of a user who was removed, with these sessions. What memory has of them is forgotten when
        it next looks; what a crash leaves of this is taken up by the next start."""
        for session in sessions:
            self._turns.give_up(session)  # if one began in between
            self._agents.drop(session)
            self._hub.changed(session)
        if (workspaces := self._workspaces) is not None:
            stored = await workspaces.stored()
            await asyncio.gather(*[workspaces.forget(each) for each in stored & {*sessions}])
        await self._upkeep.purge_users()

    async def stop(self, user: UserId) -> None:
        """Of a user who is disabled: their turns are cancelled, and what their agents have running
        ends. What was said, and files, stay."""
        await self._turns.cancel_all(user)
        await self._end_workspaces(user)

    async def look(self) -> None:
        """Whether anyone was disabled on another server whose agents have something running here;
        their turns are seen to by `Turns.obey`."""
        users: frozenset[UserId] = frozenset()
        if self._workspaces is not None:
            users = self._workspaces.users
        if users:
            for user in users - await self._work.served_among(users):
                await self._end_workspaces(user)

    async def _end_workspaces(self, user: UserId) -> None:
        if (workspaces := self._workspaces) is not None:
            open = [each.session for each in workspaces.listed(user)]
            await asyncio.gather(*[workspaces.end(session) for session in open])
