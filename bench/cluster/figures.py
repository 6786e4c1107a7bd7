"""What is said of a store that servers share."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.cluster.bare import Bare
from bench.cluster.cost import Costs
from bench.cluster.streams import PACE, Streams
from bench.cluster.talks import Talk
from bench.report import Figure
from bench.timing import Samples

_SQLITE = "the same on SQLite"


class Seen(NamedTuple):
    """What one place does, by how many sessions there are at once."""

    name: str
    talks: dict[int, Talk]
    streams: dict[int, Streams]


def figures(limits: Bare, seen: Sequence[Seen], costs: Costs) -> list[Figure]:
    return [
        Figure(name="bare round trip, p50", value=limits.trip, unit="ms"),
        Figure(name="the same, processor of the client", value=limits.asking, unit="ms"),
        Figure(name="bare commit of a row of 1 KB, p50", value=limits.commit, unit="ms"),
        *[each for place in seen for each in _talks(place, seen[0])],
        *[each for place in seen for each in _streams(place, seen[0])],
        *_costs(costs),
    ]


def _talks(place: Seen, sqlite: Seen) -> Iterator[Figure]:
    beside = None if place is sqlite else sqlite
    for count, talk in place.talks.items():
        name = f"{place.name}, {count:,} sessions talk"
        limit = None if beside is None else beside.talks[count]
        against = "" if limit is None else _SQLITE
        rate = None if limit is None else limit.rate
        yield Figure(name=name, value=talk.rate, unit="turns/s", limit=rate, against=against)
        used = None if limit is None else limit.server
        yield Figure(
            name=f"{name}: processor of Roost, a turn",
            value=talk.server,
            unit="ms",
            limit=used,
            against=against,
        )
        if limit is not None:
            yield Figure(
                name=f"{name}: processor of PostgreSQL, a turn", value=talk.database, unit="ms"
            )


def _streams(place: Seen, sqlite: Seen) -> Iterator[Figure]:
    for count, streams in place.streams.items():
        name = f"{place.name}, {count:,} sessions, {1 / PACE:g} tokens/s each"
        limit = None if place is sqlite else sqlite.streams[count].here
        yield from _delays(f"{name}: token delay", streams.here, limit)
        if streams.elsewhere.seconds:
            yield from _delays(f"{name}: seen on another server", streams.elsewhere, limit)
        yield Figure(name=f"{name}: share of a core, Roost", value=streams.server * 100, unit="%")
        if limit is not None:
            yield Figure(
                name=f"{name}: share of a core, PostgreSQL", value=streams.beside * 100, unit="%"
            )


def _delays(name: str, late: Samples, limit: Samples | None) -> Iterator[Figure]:
    for share, value, beside in (
        ("p50", late.p50, None if limit is None else limit.p50),
        ("p95", late.p95, None if limit is None else limit.p95),
    ):
        yield Figure(
            name=f"{name}, {share}",
            value=value,
            unit="ms",
            limit=beside,
            against="" if beside is None else _SQLITE,
        )


def _costs(costs: Costs) -> Iterator[Figure]:
    for count, cost in costs.turns.items():
        name = f"a turn of {count:,} sessions"
        yield Figure(name=f"{name}: statements", value=cost.statements, unit="")
        yield Figure(name=f"{name}: round trips", value=cost.trips, unit="")
        yield Figure(name=f"{name}: transactions that write", value=cost.commits, unit="")
        yield Figure(name=f"{name}: log of writes", value=cost.written / 1000, unit="KB")
    for count, statements in costs.streams.items():
        name = f"{count:,} sessions stream: statements"
        yield Figure(name=name, value=statements, unit="/s")
