"""What a user can do about their long-term memory."""

from collections.abc import Sequence

from roost.core.ids import SessionId, UserId
from roost.runtime.parts import Parts
from roost.runtime.segments import Report
from roost.store.memory import GivenUp, MemoryStatus


class Remembering:
    def __init__(self, parts: Parts, user: UserId) -> None:
        self._user = user
        self._memory = parts.memory

    async def uncommitted(self, session: SessionId) -> bool:
        """Whether there are turns that memory has not taken yet."""
        return await self._memory.uncommitted(self._user, session)

    async def commit(self, session: SessionId) -> Report:
        """Send what was said to memory now, and say what came of it."""
        return await self._memory.commit(self._user, session)

    async def status(self) -> MemoryStatus:
        """What is on its way to memory, and what keeps it."""
        return await self._memory.status(self._user)

    async def retry(self) -> int:
        """Try again soon what memory could not take, also what failed too often; how much it is."""
        return await self._memory.retry(self._user)

    async def drop(self) -> Sequence[GivenUp]:
        """Let go of what failed too often: memory will not have it."""
        return await self._memory.give_up(self._user)
