"""Who is known by which secret, remembered for a moment: most requests come from the same few."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

import msgspec

from roost.core.identities import Principal

T = TypeVar("T")

KEPT = 5.0
"""Seconds. So long after a revocation on another server something may still be open here, if its
word is lost; of one on this server nothing is."""

LIMIT = 2000


class Known(msgspec.Struct, frozen=True, kw_only=True):
    principal: Principal
    expires_at: int | None


class _Kept(msgspec.Struct, frozen=True):
    known: Known
    at: float


class Principals:
    """`told` is called after each change that was made by way of this."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        limit: int = LIMIT,
        told: Callable[[], None] | None = None,
    ) -> None:
        self._clock = clock
        self._limit = limit
        self._told = told
        self._kept: dict[bytes, _Kept] = {}
        self._changes = 0
        self.changed = asyncio.Event()
        """Set, and replaced, when nothing counts any more that was known before."""
        self._writes: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, hash: bytes, find: Callable[[], Awaitable[Known | None]]) -> Known | None:
        kept = self._kept.get(hash)
        if kept is not None and self._clock() - kept.at < KEPT:
            return kept.known
        changes, at = self._changes, self._clock()
        known = await find()
        self._kept.pop(hash, None)
        # What was read before a change that has been made meanwhile may not outlast it.
        if known is not None and changes == self._changes:
            self._kept[hash] = _Kept(known, at)
            if len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]
        return known

    async def changed_by(self, write: Coroutine[object, object, T]) -> T:
        """Await a write after which nothing counts that was known before. It is written to its
        end, and then forgotten, also if nobody waits for it any more."""
        task = asyncio.create_task(self._change(write))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)

    async def _change(self, write: Coroutine[object, object, T]) -> T:
        try:
            return await write
        finally:
            self.revoked()

    def revoked(self) -> None:
        """As `forget`, and so on other servers."""
        self.forget()
        if self._told is not None:
            self._told()

    def forget(self) -> None:
        """Nothing counts any more that was known before."""
        self._changes += 1
        self._kept.clear()
        self.changed.set()
        self.changed = asyncio.Event()
