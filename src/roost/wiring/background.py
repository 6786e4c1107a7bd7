"""What goes on beside everything else."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine

import structlog

from roost.store.upkeep import Upkeep

log = structlog.stdlib.get_logger("roost.upkeep")

_UPKEEP_SECONDS = 3600


@contextlib.asynccontextmanager
async def going_on(work: Coroutine[None, None, None]) -> AsyncGenerator[None]:
    """Beside the block, until that ends."""
    # Not a task group: that would wrap whatever error ends the block.
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def keep_up(upkeep: Upkeep) -> None:
    while True:
        try:
            swept = await upkeep.run()
            log.debug("upkeep done", keys=swept.keys, inbox=swept.inbox, events=swept.events)
        except Exception:
            log.exception("upkeep failed; it is tried again in an hour")
        await asyncio.sleep(_UPKEEP_SECONDS)
