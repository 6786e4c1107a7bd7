"""Lets one after the other: those who ask for the same go in the order in which they came."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator


class Order:
    def __init__(self) -> None:
        self._last: dict[str, asyncio.Future[None]] = {}

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncGenerator[None]:
        """Nobody waits for anybody where the name is empty."""
        if not name:
            yield
            return
        before = self._last.get(name)
        done = self._last[name] = asyncio.get_running_loop().create_future()
        try:
            if before is not None:
                await before
            yield
        finally:
            done.set_result(None)
            if self._last[name] is done:
                del self._last[name]
