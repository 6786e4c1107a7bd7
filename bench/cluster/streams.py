"""Sessions that stream at once, watched on the server that runs them and on another one."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import NamedTuple

from bench.cluster.place import Place
from bench.engine.pacer import now
from bench.server.client import Client
from bench.timing import Samples
from roost.core.ids import SessionId

PACE = 0.5
"""Seconds between two tokens of a stream: 1,000 of them fit on two cores with all they need."""
SETTLE = 5.0
"""Seconds in which is made up for what came late because all began at once."""
SECONDS = 4.0
MODEL = "paced-10000"
"""Whose answers outlive what is measured."""
DEADLINE = 300.0


class Streams(NamedTuple):
    """How late tokens were, the share of a core that servers used, and what `beside` grew by in a
    second."""

    here: Samples
    elsewhere: Samples
    server: float
    beside: float


class _Watch:
    def __init__(self) -> None:
        self.noting = False
        self.late: list[float] = []

    def seen(self, text: str) -> None:
        if self.noting:
            arrived = now()
            self.late += [(arrived - int(each)) / 1e6 for each in text.split()]

    def noted(self) -> Samples:
        noted, self.late = Samples(self.late), []
        return noted


Way = tuple[Client, Client, _Watch]
"""Who sends, who watches, and who notes it."""


async def stream(
    place: Place, live: Sequence[int], beside: Callable[[], float] = lambda: 0.0
) -> dict[int, Streams]:
    """By how many there are: they grow in number, and none ends. With several servers, half of
    those who watch do so on another one."""
    here, elsewhere = _Watch(), _Watch()
    ways: list[Way] = [(each, each, here) for each in place.clients]
    if len(ways) > 1:
        ways += [(each, place.clients[n - 1], elsewhere) for n, each in enumerate(place.clients)]
    tasks: list[asyncio.Task[None]] = []
    found: dict[int, Streams] = {}
    try:
        for count in live:
            async with asyncio.timeout(DEADLINE):
                tasks += await _begin(count - len(tasks), ways)
            await asyncio.sleep(SETTLE)
            used, grown = place.used(), beside()
            here.noting = elsewhere.noting = True
            await asyncio.sleep(SECONDS)
            here.noting = elsewhere.noting = False
            used, grown = (place.used() - used) / SECONDS, (beside() - grown) / SECONDS
            found[count] = Streams(here.noted(), elsewhere.noted(), used, grown)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return found


async def _begin(count: int, ways: Sequence[Way]) -> list[asyncio.Task[None]]:
    """So many more, until each of them has been heard."""
    chosen = [way for _, way in zip(range(count), cycle(ways), strict=False)]
    sessions = await asyncio.gather(*[runs.session(MODEL) for runs, _, _ in chosen])
    heard = [asyncio.Event() for _ in chosen]
    tasks = [
        asyncio.create_task(_watch(way, session, event))
        for way, session, event in zip(chosen, sessions, heard, strict=True)
    ]
    for event in heard:
        await event.wait()
    return tasks


async def _watch(way: Way, session: SessionId, heard: asyncio.Event) -> None:
    runs, watches, watch = way
    async with watches.watch(session) as events:
        await runs.send(session, "Speak.")
        async for each in events:
            if each.text:
                heard.set()
                watch.seen(each.text)
            assert not each.over, "it outlives what is measured"
