"""What a turn asks of PostgreSQL: counted on the way, in a run of its own, which that slows."""

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.cluster.counting import Relay, relay
from bench.cluster.database import Database
from bench.cluster.place import Place, servers, talked_to
from bench.cluster.streams import stream
from bench.cluster.talks import TURNS, talk

WARM = 20


class Cost(NamedTuple):
    """Of a turn, with all that is done in the background meanwhile. `written` are bytes of its log
    of writes."""

    statements: float
    trips: float
    commits: float
    written: float


class Costs(NamedTuple):
    """By how many sessions talk at once; and statements a second while so many stream."""

    turns: dict[int, Cost]
    streams: dict[int, float]


async def cost(database: Database, model: str, folder: Path, live: tuple[int, ...]) -> Costs:
    with tempfile.TemporaryDirectory(prefix="roost-") as socket, ExitStack() as stack:
        async with relay(Path(socket), database.folder) as between:
            store = between.address(database.url)
            running = servers(folder, model, store, 1)
            found = await asyncio.to_thread(stack.enter_context, running)
            async with talked_to("", found) as place:
                await talk(place, WARM)
                turns = {count: await _turn(place, count, between, database) for count in live}
                streams = await _seconds(place, (min(live), max(live)), between)
            return Costs(turns, streams)


async def _turn(place: Place, sessions: int, between: Relay, database: Database) -> Cost:
    before, written = between.counts(), await database.logged()
    await talk(place, sessions)
    turns = max(TURNS, sessions)
    asked = [now - then for now, then in zip(between.counts(), before, strict=True)]
    statements, trips, commits = [each / turns for each in asked]
    return Cost(statements, trips, commits, (await database.logged() - written) / turns)


async def _seconds(place: Place, live: tuple[int, ...], between: Relay) -> dict[int, float]:
    found = await stream(place, live, lambda: float(between.counts().statements))
    return {count: streams.beside for count, streams in found.items()}
