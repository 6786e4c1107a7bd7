"""The store's part: appends, ticks, opening, listing, searching."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import uvloop

from bench.report import RESULTS, Figure
from bench.store import appends, corpus, opening, reads, search, ticks


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as scratch:
        return uvloop.run(_measure(Path(scratch), tell))


async def _measure(scratch: Path, tell: Callable[[str], None]) -> list[Figure]:
    tell("memory")
    figures = await opening.memory(scratch / "memory")
    tell("single appends")
    figures += await appends.single(scratch / "single")
    tell("many appenders")
    figures += await appends.together(scratch / "together")
    tell("ticks")
    figures += await ticks.measure(scratch / "ticks")
    tell(f"writing {corpus.MESSAGES:,} messages")
    library = await corpus.write(scratch / "corpus")
    tell("indexing them")
    figures += await opening.catch_up(library)
    tell("opening that store")
    figures += await opening.ready(library)
    tell("reading")
    figures += await reads.measure(library)
    tell("searching")
    return figures + await search.measure(library)
