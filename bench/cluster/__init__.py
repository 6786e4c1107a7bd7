"""Several real servers on one PostgreSQL, beside one on SQLite: turns, delays, their cost."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import uvloop

from bench.cluster.bare import bare
from bench.cluster.cost import cost
from bench.cluster.database import Database, durable
from bench.cluster.figures import Seen, figures
from bench.cluster.place import Place, servers, talked_to
from bench.cluster.streams import PACE, stream
from bench.cluster.talks import talk
from bench.report import RESULTS, Figure
from bench.serving import launched
from tests.postgres import Server

LIVE = (10, 100, 1000)
"""Sessions at once."""
SOME = LIVE[1:2]
_GROWN = {1: (LIVE, LIVE), 2: (SOME, SOME), 3: (SOME, LIVE)}
"""How many talk, and stream, on so many servers: all of it would take too long."""
WARM = 20

Tell = Callable[[str], None]


def measure(tell: Tell) -> Sequence[Figure]:
    RESULTS.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder,
        launched("bench.engine.pacer", str(PACE)) as (model, _),
        durable() as postgres,
    ):
        return uvloop.run(_measure(Path(folder), model, postgres, tell))


async def _measure(folder: Path, model: str, postgres: Server, tell: Tell) -> Sequence[Figure]:
    limits = await bare(await postgres.empty())
    tell("SQLite")
    with servers(folder / "sqlite", model, None, 1) as found:
        async with talked_to("SQLite", found) as place:
            seen = [await _look(place, LIVE, LIVE, lambda: 0.0)]
    for count in (1, 2, 3):
        tell(name := "1 server" if count == 1 else f"{count} servers")
        database = Database(postgres, await postgres.empty())
        with servers(folder / name, model, database.url, count) as found:
            async with talked_to(name, found) as place:
                talking, streaming = _GROWN[count]
                seen.append(await _look(place, talking, streaming, database.used))
    tell("the cost of a turn")
    database = Database(postgres, await postgres.empty())
    costs = await cost(database, model, folder / "cost", LIVE)
    return figures(limits, seen, costs)


async def _look(
    place: Place,
    talking: Sequence[int],
    streaming: Sequence[int],
    database: Callable[[], float],
) -> Seen:
    await talk(place, WARM)
    talks = {count: await talk(place, count, database) for count in talking}
    return Seen(place.name, talks, await stream(place, streaming, database))
