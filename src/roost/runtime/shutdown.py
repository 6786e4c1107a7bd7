"""Stops everything in the order in which nothing is lost."""

import asyncio
from collections.abc import Iterable

from roost.runtime.account import Parts
from roost.runtime.naming import Naming


async def shut_down(
    parts: Parts,
    naming: Naming,
    loops: Iterable[asyncio.Task[None]],
    *,
    grace: float,
) -> None:
    """Turns under way may finish within `grace` seconds; the others are written down as far as
    they came, and go on after the next start. Whoever is impatient kills the process: what was
    promised is durable at any moment."""
    await parts.turns.stop(grace)
    await parts.compactions.stop()
    await naming.stop()
    loops = list(loops)
    for loop in loops:
        loop.cancel()
    await asyncio.wait(loops)
    await parts.checkpoints.flush()
    await parts.hub.close()
    await parts.agents.close()
