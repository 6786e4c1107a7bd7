"""Connections that fall silent, are left in the middle of something, or are out of date."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from roost.core.keys import StoreAddress
from roost.store.operations import Operation, query
from roost.store.postgres import dialect
from roost.store.postgres import engine as engines
from roost.store.postgres.connect import Connection, connect, fetch
from roost.store.postgres.engine import PostgresEngine
from roost.store.postgres.schema import migrate
from roost.store.postgres.transaction import Transaction
from tests.cutting import cutting
from tests.engine import SECONDS
from tests.postgres import Server


@asynccontextmanager
async def opened(url: str, connections: int = 4) -> AsyncGenerator[PostgresEngine]:
    engine = PostgresEngine(StoreAddress(url), pooled=False, connections=connections)
    try:
        yield engine
    finally:
        await engine.close()


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[Connection]:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        yield connection
    finally:
        await connection.close(timeout=60)


def value_of(key: str) -> Operation[str | None]:
    rows = yield query("get_setting", user="", key=key)
    return str(rows[0][0]) if rows else None


def put(key: str, value: str) -> Operation[None]:
    yield query("put_setting", user="", key=key, value=value)


def count_up(key: str) -> Operation[int]:
    """Not to be done twice: each time counts."""
    number = int((yield from value_of(key)) or 0) + 1
    yield from put(key, str(number))
    return number


async def test_vital_write_does_not_wait_long_for_a_connection_that_fell_silent(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SOON", 0.5)
    monkeypatch.setattr(engines, "SILENCE", 10 * SECONDS)
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        await asyncio.gather(*[engine.write(lambda n=n: count_up(f"{n}")) for n in range(4)])
        cutter.silence_all()
        async with asyncio.timeout(SECONDS):
            assert await engine.write(lambda: count_up("0"), vital=True) == 2
            assert await engine.write(lambda: count_up("0")) == 3, "the others were let go too"


async def test_vital_write_whose_commit_is_not_answered_soon_is_done_once(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SOON", 0.5)
    monkeypatch.setattr(engines, "SILENCE", 10 * SECONDS)
    async with cutting(url, tmp_path) as cutter, opened(cutter.address(url)) as engine:
        for number in range(1, 4):
            cutter.cut = "silent"
            async with asyncio.timeout(SECONDS):
                assert await engine.write(lambda: count_up("n"), vital=True) == number
        assert cutter.cuts == 3


async def test_vital_write_that_waits_for_a_lock_is_done_once_it_is_free(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SOON", 0.2)
    async with opened(url) as engine, connected(url) as holder:
        await engine.write(lambda: count_up("n"))
        await holder.execute("BEGIN; UPDATE settings SET value = value")
        tries: asyncio.Queue[None] = asyncio.Queue()

        def told() -> Operation[int]:
            tries.put_nowait(None)
            return (yield from count_up("n"))

        writing = asyncio.create_task(engine.write(told, vital=True))
        async with asyncio.timeout(SECONDS):
            for _ in range(2):
                await tries.get()
        await holder.execute("COMMIT")
        assert await writing == 2


async def test_read_that_is_given_up_at_any_moment_leaves_no_transaction_behind(url: str) -> None:
    """The connection can be used again, or is closed."""

    def twice() -> Operation[None]:
        yield from value_of("n")
        yield from value_of("n")

    statements = dialect.load(server_clock=True)
    for steps in range(30):
        async with connected(url) as connection:
            reading = asyncio.create_task(Transaction(connection, statements, None).read(twice))
            for _ in range(steps):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.wait([reading])
            if not connection.is_closed() and not connection.is_in_transaction():
                sql = "SELECT current_setting('transaction_read_only')"
                assert await fetch(connection, sql) == [("off",)]


async def test_connections_that_are_out_of_date_one_after_the_other_fail_nobody(
    postgres_server: Server,
) -> None:
    """As while a newer server changes the schema: each knows statements of its own."""
    url = await postgres_server.empty()
    await migrate(StoreAddress(url))
    async with opened(url, 2) as engine, connected(url) as one, connected(url) as other:
        await engine.write(lambda: put("a", "1"))
        await engine.write(lambda: put("b", "1"))
        await asyncio.gather(*[engine.write(lambda: value_of("a")) for _ in range(2)])
        await one.execute("ALTER TABLE settings ALTER COLUMN value TYPE varchar")
        await one.execute("BEGIN; UPDATE settings SET value = value WHERE key = 'a'")
        await other.execute("BEGIN; UPDATE settings SET value = value WHERE key = 'b'")
        first = asyncio.create_task(engine.write(lambda: put("a", "2")))
        await blocked(url, 1)
        # The third takes up the connection that the second meets first, and holds it.
        second = asyncio.create_task(engine.write(lambda: value_of("a")))
        third = asyncio.create_task(engine.write(lambda: put("b", "2")))
        await blocked(url, 2)
        await one.execute("COMMIT")
        assert await second == "2"
        await other.execute("COMMIT")
        await asyncio.gather(first, third)


async def blocked(url: str, count: int) -> None:
    """Until so many wait for a lock."""
    sql = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with connected(url) as connection, asyncio.timeout(SECONDS):
        while (await fetch(connection, sql))[0][0] != count:  # noqa: ASYNC110 (the server's)
            await asyncio.sleep(0.01)
