"""What a channel puts its messages into, for the tests of channels alone: kept in memory, each id
once, with a switch for a store that is out of order."""

import asyncio
from collections.abc import Mapping, Sequence

from roost.channels.base import Inbound

DEADLINE = 60


class MemoryInlet:
    def __init__(self) -> None:
        self.kept: dict[str, Inbound] = {}
        self.seen: dict[str, str] = {}
        self.bots: list[str] = []
        self.losses: list[str] = []
        self.refusals = 0
        """How many of the next puts fail."""
        self.let_in = asyncio.Event()
        """Cleared to have puts wait."""
        self.let_in.set()
        self.up = asyncio.Event()
        self.changed = asyncio.Condition()

    async def put(
        self, inbounds: Sequence[Inbound], *, cursors: Mapping[str, str] | None = None
    ) -> None:
        await self.let_in.wait()
        async with self.changed:
            self.changed.notify_all()
            if self.refusals:
                self.refusals -= 1
                raise OSError("no room is left")
            for inbound in inbounds:
                self.kept.setdefault(inbound.id, inbound)
            self.seen |= cursors or {}

    async def cursors(self) -> Mapping[str, str]:
        return self.seen

    def connected(self, bot: str) -> None:
        self.bots.append(bot)
        self.up.set()

    def disconnected(self, why: str) -> None:
        self.losses.append(why)

    @property
    def all(self) -> list[Inbound]:
        return [*self.kept.values()]

    async def until_kept(self, count: int) -> list[Inbound]:
        async with self.changed:
            await asyncio.wait_for(
                self.changed.wait_for(lambda: len(self.kept) >= count), timeout=DEADLINE
            )
        return self.all
