"""Asking the store again when it could not be reached, or when its answer was lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from roost.core.errors import StoreFull, StoreUnavailable

log = structlog.stdlib.get_logger("roost.runtime")

T = TypeVar("T")

WAITS = (0.0, 0.1, 0.3, 1.0, 3.0)
LONG_WAITS = (*WAITS, 5.0, 10.0, 20.0, 20.0)
"""For the end of a turn: what it said would be lost, and somebody may yet make room on the disk."""


async def persisted(call: Callable[[], Awaitable[T]], waits: Sequence[float] = WAITS) -> T:
    """Repeat a store call while a passing failure stands in its way. Every write names what it
    writes, so one whose answer was lost is not done twice."""
    for wait in waits:
        try:
            return await call()
        except (StoreUnavailable, StoreFull) as error:
            log.warning("the store failed; asking again", error=str(error), wait=wait)
        await asyncio.sleep(wait)
    return await call()
