"""A PostgreSQL that crashes in the middle of a commit: what became of it is not made up."""

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.keys import StoreAddress
from roost.store.operations import Operation, query
from roost.store.postgres.connect import connect, fetch
from roost.store.postgres.engine import PostgresEngine
from tests import postgres
from tests.cutting import cutting


@pytest.fixture
def database() -> Generator[postgres.Server]:
    """One that keeps what it has committed, even in a crash, and nothing else."""
    with postgres.running(synchronous_commit="on", wal_writer_delay="10s") as server:
        yield server


def put(key: str) -> Operation[None]:
    yield query("put_setting", user="", key=key, value="1")


def is_there(key: str) -> Operation[bool]:
    return bool((yield query("get_setting", user="", key=key)))


@pytest.mark.timeout(180)
async def test_number_of_a_lost_transaction_that_is_given_out_again_deceives_nobody(
    tmp_path: Path, database: postgres.Server
) -> None:
    """A crash forgets transactions that were about to commit. Their numbers are free again, and
    say of another one, soon, that it was committed."""
    url = await database.database()
    async with cutting(url, tmp_path) as cutter:
        engine = PostgresEngine(StoreAddress(cutter.address(url)), pooled=False)
        try:
            writing = asyncio.create_task(engine.write(lambda: put("lost")))
            await cutter.cut_at("never")
            cutter.shut = True
            await database.restart("immediate")
            await _write_other_things(url)
            cutter.shut = False
            with pytest.raises(StoreUnavailable):
                await writing
            assert not await engine.read(lambda: is_there("lost"))
        finally:
            await engine.close()


async def _write_other_things(url: str) -> None:
    connection = await connect(StoreAddress(url), cached=False)
    for _ in range(20):
        await fetch(connection, "SELECT pg_current_xact_id()")
    await connection.close(timeout=60)
