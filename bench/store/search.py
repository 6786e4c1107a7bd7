"""Full-text search over the whole library, kind by kind."""

import random
from collections.abc import Sequence

import msgspec

from bench.report import Figure, at_most
from bench.store.corpus import MESSAGES, Library
from bench.store.rig import CLOCK, Recorder
from bench.timing import Samples
from roost.store.folder import DATABASE
from roost.store.search import Search, SearchFilter
from roost.store.sqlite.connect import Connection, connect_reader
from roost.store.sqlite.store import open_store

QUERIES = 120
"""Different ones of each kind."""

_BARE = """
SELECT rowid FROM search WHERE search MATCH :match AND rowid < :before
ORDER BY rowid DESC LIMIT :limit
"""


class Kind(msgspec.Struct, frozen=True):
    name: str
    queries: Sequence[str]
    where: SearchFilter = SearchFilter()
    peer: str = ""


async def measure(library: Library) -> list[Figure]:
    store = open_store(library.folder, clock=CLOCK, version="bench")
    reader = connect_reader(library.folder / DATABASE)
    try:
        search = store.of(library.user).search
        found: list[Figure] = []
        for kind in _kinds(library):
            found += await _measure(kind, search, library, reader)
        return found
    finally:
        reader.close()
        await store.close()


def _kinds(library: Library) -> list[Kind]:
    rng = random.Random(11)  # noqa: S311
    words, characters = library.words, library.characters
    common = words[:QUERIES]
    rare = words[-QUERIES:]
    middle = words[200 : 200 + QUERIES * 10]
    pairs = [f"{rng.choice(common)} {rng.choice(middle)}" for _ in range(QUERIES)]
    in_one = SearchFilter(session=library.long)
    recent = SearchFilter(role="assistant", since=library.middle, project=library.project)
    return [
        Kind("a common word", common, peer="10.7 ms"),
        Kind("a rare word", rare),
        Kind("two words", pairs),
        Kind("a phrase", library.phrases[:QUERIES]),
        Kind("a prefix of 2 letters", [f"{word[:2]}*" for word in rare], peer="145 ms"),
        Kind("a prefix of 3 letters", [f"{word[:3]}*" for word in rare], peer="145 ms"),
        Kind("a prefix of 4 letters", [f"{word[:4]}*" for word in common], peer="145 ms"),
        Kind("a prefix of 6 letters", [f"{word[:6]}*" for word in middle[:QUERIES]]),
        Kind("two CJK characters", [rng.choice(characters) for _ in range(QUERIES)]),
        Kind("one CJK character", [rng.choice(characters)[0] for _ in range(QUERIES)]),
        Kind("a common word in one session", common, in_one),
        Kind("a word by role, project and time", middle[:QUERIES], recent),
        Kind("a common word long ago", common[:40], SearchFilter(until=library.early)),
        Kind("a common word in an empty project", common[:40], SearchFilter(project="none")),
        Kind("a word that nobody wrote", [f"zz{word}zz" for word in rare]),
    ]


async def _measure(
    kind: Kind, search: Search, library: Library, reader: Connection
) -> list[Figure]:
    """The match alone, by the same expression, is the limit."""
    recorder = Recorder(search.engine)
    listening = Search(recorder, library.user)
    searches, matches = Samples(), Samples()
    for text in kind.queries:
        await listening(text, kind.where)
        asked = recorder.operations.pop()[-1]
        await searches.wait(search(text, kind.where))
        if asked.name == "search":  # else no session was left to search in
            names = ("match", "before", "limit")
            parameters = {name: asked.parameters[name] for name in names}
            matches.time(lambda parameters=parameters: reader.rows(_BARE, parameters))
    name, against = f"search of {MESSAGES:,} messages: {kind.name}", "the match alone"
    return [
        Figure(
            name=f"{name}, p50",
            value=searches.p50,
            unit="ms",
            limit=matches.p50 if matches.seconds else None,
            against=against,
            peer=kind.peer,
        ),
        Figure(
            name=f"{name}, p99",
            value=searches.p99,
            unit="ms",
            limit=matches.p99 if matches.seconds else None,
            against=against,
            target=at_most(30),
        ),
    ]
