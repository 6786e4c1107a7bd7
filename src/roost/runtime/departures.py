"""What becomes of what a user has going when they may not use this Roost any more."""

import asyncio

from roost.core.ids import UserId
from roost.runtime.parts import Parts


class Departures:
    def __init__(self, parts: Parts) -> None:
        self._turns = parts.turns
        self._workspaces = parts.workspaces

    async def stop(self, user: UserId) -> None:
        """Of a user who is disabled: their turns are cancelled, and what their agents have running
        ends. What was said, and files, stay."""
        await self._turns.cancel_all(user)
        if (workspaces := self._workspaces) is not None:
            open = [each.session for each in workspaces.listed(user)]
            await asyncio.gather(*[workspaces.end(session) for session in open])
