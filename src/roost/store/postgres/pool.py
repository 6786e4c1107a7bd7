"""A few connections, each used by one transaction at a time."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from roost.store.postgres.connect import CONNECT_TIMEOUT, Connection

VITAL = 2
"""Connections besides, for those who may not wait behind all others."""

STALE = 60.0
"""Seconds after which one that nobody used is let go: what stands between may have forgotten it,
without a word, and whoever takes it up would wait for an answer in vain."""


class Pool:
    """asyncpg's own clears a connection of session state after every use, which takes a round trip,
    and behind a pooler does it to somebody else's: here no transaction leaves any behind."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._places = asyncio.Semaphore(size)
        self._vital = asyncio.Semaphore(VITAL)
        self._idle: list[tuple[float, Connection]] = []
        """Each with when it was given back: the last is the one that was used last."""
        self._closed = False

    @contextlib.asynccontextmanager
    async def taken(self, *, vital: bool = False) -> AsyncGenerator[Connection]:
        """One that is in no transaction. Whoever leaves it in one, by whatever error, has used it
        up."""
        async with self._vital if vital else self._places:
            connection = self._warm() or await self._connect()
            try:
                yield connection
            except TimeoutError:
                connection.terminate()  # it may never be done with that
                raise
            finally:
                if self._closed or connection.is_closed() or connection.is_in_transaction():
                    connection.terminate()
                else:
                    self._idle.append((time.monotonic(), connection))
                    self._drop_stale()

    def _warm(self) -> Connection | None:
        """The one that was used last: the server has its pages and plans at hand."""
        self._drop_stale()
        while self._idle:
            _, connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _drop_stale(self) -> None:
        before = time.monotonic() - STALE
        while self._idle and self._idle[0][0] <= before:
            self._idle.pop(0)[1].terminate()

    def drop_idle(self) -> None:
        """After one was lost: the others may be as dead, and do not know it."""
        while self._idle:
            self._idle.pop()[1].terminate()

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            with contextlib.suppress(OSError, TimeoutError):
                await self._idle.pop()[1].close(timeout=CONNECT_TIMEOUT)
