"""Stops everything in the order in which nothing is lost."""

import asyncio
from collections.abc import Iterable

import structlog

from roost.core.errors import StoreError
from roost.runtime.heartbeat import Heartbeat
from roost.runtime.naming import Naming
from roost.runtime.parts import Parts

log = structlog.stdlib.get_logger("roost.shutdown")


async def shut_down(
    parts: Parts,
    naming: Naming,
    loops: Iterable[asyncio.Task[None]],
    *,
    grace: float,
    heartbeat: Heartbeat | None = None,
) -> None:
    """Turns under way may finish within `grace` seconds; the others are written down as far as
    they came, and go on at once on another server, or after the next start. Whoever is impatient
    kills the process: what was promised is durable at any moment."""
    await parts.compactions.stop()  # before turns, which may wait for what one holds
    await parts.turns.stop(grace)
    if heartbeat is not None:
        await heartbeat.leave()
    await naming.stop()
    loops = list(loops)
    for loop in loops:
        loop.cancel()
    await asyncio.wait(loops)
    try:
        await parts.checkpoints.flush()
    except StoreError:
        log.exception("the last words that streamed could not be stored")
    await parts.hub.close()
    await parts.agents.close()
