"""Moves a store from SQLite to PostgreSQL, and compares the two."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Protocol

import msgspec

from roost.core.errors import Conflict
from roost.core.keys import StoreAddress
from roost.store.facts import index_facts
from roost.store.moving.book import Entry
from roost.store.moving.source import Source
from roost.store.moving.tables import TABLES, Table
from roost.store.moving.tally import Tally
from roost.store.moving.target import Target
from roost.store.operations import Row
from roost.store.postgres.connect import is_pooled
from roost.store.postgres.engine import PostgresEngine
from roost.store.postgres.schema import migrate
from roost.store.postgres.store import check_key
from roost.store.search import index_slice

SLICE_ROWS = 1000
SLICE_BYTES = 4 << 20
"""What is brought in one transaction, and held in memory, at most; but always a row."""


LOOK = 0.5
"""Seconds after which it is looked how much is left to index, which takes longer than a slice."""


class Watch(Protocol):
    """Somebody who wants to know how far it is."""

    def begin(self, what: str, total: int) -> None: ...

    def advance(self, detail: str, by: int) -> None: ...


class Compared(msgspec.Struct, frozen=True):
    """A table on both sides. Of what was made anew there is no checksum."""

    name: str
    rows: tuple[int, int]
    checksums: tuple[str, str]

    @property
    def equal(self) -> bool:
        return self.rows[0] == self.rows[1] and self.checksums[0] == self.checksums[1]


async def move(source: Source, target: Target, watch: Watch) -> list[Compared]:
    """Bring over all that is not there yet, and compare. It may be broken off at any moment, and
    goes on where it was. What can be refused is refused before anything is changed."""
    begun = await target.check(source.identity)
    if begun is not None and begun.done_at is not None:
        raise Conflict(
            f"This store was moved to {target.address} already. `roost migrate --verify` compares "
            "the two, before a server has worked on it."
        )
    await migrate(target.address)
    async with _engine(target.address) as engine:
        await engine.write(lambda: check_key(source.cipher, source.folder))
        if begun is None:
            await target.begin(source.identity)
        await _copy_all(source, target, watch)
        await target.measure()
        await _index_all(engine, target, watch)
    compared = await verify(source, target, watch)
    if all(each.equal for each in compared):
        await target.finish()
    return compared


async def verify(source: Source, target: Target, watch: Watch) -> list[Compared]:
    if await target.check(source.identity) is None:
        raise Conflict(f"This store was not moved to {target.address}. Run `roost migrate` first.")
    watch.begin("Comparing", 2 * sum([source.count(table) for table in TABLES]))
    compared = [await _compare(source, target, table, watch) for table in TABLES]
    found = await target.number("SELECT count(*) FROM search")
    facts = await target.number("SELECT count(*) FROM search_facts")
    messages = next(each.rows[0] for each in compared if each.name == "messages")
    return [
        *compared,
        Compared("search", (messages, found), ("", "")),
        Compared("search_facts", (source.count_live_facts(), facts), ("", "")),
    ]


async def _copy_all(source: Source, target: Target, watch: Watch) -> None:
    book = await target.book()
    watch.begin("Copying", sum([source.count(table) for table in TABLES]))
    for table in TABLES:
        await _copy(source, target, table, book[table.name], watch)


async def _copy(source: Source, target: Target, table: Table, there: Entry, watch: Watch) -> None:
    columns = await target.columns(table)
    rows, tally = source.rows(table, columns), Tally()
    for row in islice(rows, there.rows):
        tally.add(row)
    watch.advance(table.name, tally.rows)
    if (tally.rows, tally.checksum) != (there.rows, there.checksum):
        raise Conflict(
            f"The store in {source.folder} was changed since its move began (its {table.name}). "
            f"Empty {target.address}, and begin again."
        )
    while some := _slice(rows, tally):
        await target.put(table, columns, some, tally)
        watch.advance(table.name, len(some))


def _slice(rows: Iterator[Row], tally: Tally) -> list[Row]:
    some: list[Row] = []
    room = SLICE_BYTES
    while room > 0 and len(some) < SLICE_ROWS and (row := next(rows, None)) is not None:
        some.append(row)
        room -= tally.add(row)
    return some


async def _index_all(engine: PostgresEngine, target: Target, watch: Watch) -> None:
    """What is found by words: the messages wait in a queue that a trigger filled as they came."""
    if not await target.number("SELECT count(*) FROM search_facts"):
        await engine.write(index_facts)
    left = await target.number("SELECT count(*) FROM search_queue")
    watch.begin("Indexing", left)
    looked_at = time.monotonic()
    while await engine.write(index_slice):
        if time.monotonic() < looked_at + LOOK:
            continue
        before, left = left, await target.number("SELECT count(*) FROM search_queue")
        watch.advance("search", before - left)
        looked_at = time.monotonic()


async def _compare(source: Source, target: Target, table: Table, watch: Watch) -> Compared:
    columns = await target.columns(table)
    here, there = Tally(), Tally()
    for row in source.rows(table, columns):
        here.add(row)
        watch.advance(table.name, 1)
        if here.rows % SLICE_ROWS == 0:
            await asyncio.sleep(0)  # Ctrl-C is heard here
    async for row in target.rows(table, columns):
        there.add(row)
        watch.advance(table.name, 1)
    return Compared(table.name, (here.rows, there.rows), (here.checksum, there.checksum))


@asynccontextmanager
async def _engine(address: StoreAddress) -> AsyncGenerator[PostgresEngine]:
    engine = PostgresEngine(address, pooled=await is_pooled(address), connections=1)
    try:
        yield engine
    finally:
        await engine.close()
