"""Migrations on PostgreSQL: once, whoever comes first, and never back."""

import asyncio
import contextlib
from pathlib import Path

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

from roost.core.errors import StoreError, StoreTooNew, StoreUnavailable
from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.store.migrations import SCHEMA_VERSION, Schema, load
from roost.store.postgres import schema
from roost.store.postgres.connect import connect, fetch
from roost.store.postgres.schema import look, migrate, read_schema
from roost.testing.clock import FakeClock
from roost.testing.faults import FaultError, failing
from tests.engine import SECONDS
from tests.postgres import Server
from tests.store_driver import Driver, databases, opened

DIGESTS = {
    7: "34cbfd0fde1bc6e0153b0c0e008e50e957d1bb06e0819691360aa448ab2003ca",
    8: "e97452acc7d594825761112edfcb94a0e27db5ac4a36e02d404441903e39d600",
    9: "07e86152625745e96f328fc11d1f6731b6e9860254bd096056dc8164de35ff77",
    10: "3e0a9378a041c9ae5b21fdc6f6cbc4c3a965e41836bd60a0e66c9af0ab3632bc",
    11: "6f32f0ecc5278a0023afcb2cf4b10bc5b38476c2e90587688c5fe01453953f7b",
    12: "b0addef06a5b17a65208efd60e2dae266a5b6a7ed963a7dff44d89d2c93b2b38",
}
"""Of the migrations that have landed. One that has is never edited; a new one gets a new line."""


def test_landed_migrations_are_never_edited() -> None:
    assert {migration.version: migration.digest for migration in load("postgres")} == DIGESTS


async def schema_of(url: str) -> Schema:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        return await read_schema(connection)
    finally:
        await connection.close(timeout=60)


async def test_servers_that_start_at_once_migrate_once(postgres_server: Server) -> None:
    url = await postgres_server.empty()
    await asyncio.gather(*[migrate(StoreAddress(url)) for _ in range(4)])
    assert (await schema_of(url)).version == SCHEMA_VERSION


async def test_migration_that_fails_leaves_nothing(postgres_server: Server) -> None:
    url = await postgres_server.empty()
    with failing("store.migrate.before"), pytest.raises(FaultError):
        await migrate(StoreAddress(url))
    await migrate(StoreAddress(url))
    assert (await schema_of(url)).version == SCHEMA_VERSION


async def test_blobs_of_before_the_totals_are_counted(postgres_server: Server) -> None:
    url = await postgres_server.empty()
    with failing("store.migrate.after", nth=12 - 7), pytest.raises(FaultError):
        await migrate(StoreAddress(url))
    assert (await schema_of(url)).version == 11
    connection = await connect(StoreAddress(url), cached=False)
    await connection.execute(BLOBS)
    await migrate(StoreAddress(url))
    totals = await fetch(connection, "SELECT user_id, bytes FROM blob_totals ORDER BY user_id")
    assert totals == [("usr_1", 7), ("usr_2", 4)]
    await connection.close(timeout=60)


BLOBS = """
INSERT INTO users VALUES ('usr_1', 'Ada', 'admin', NULL, 'UTC', 'en', 0),
    ('usr_2', 'Bob', 'member', NULL, 'UTC', 'en', 0);
INSERT INTO blobs VALUES ('usr_1', 'a', 'text/plain', 3, 0), ('usr_1', 'b', 'text/plain', 4, 0),
    ('usr_2', 'b', 'text/plain', 4, 0)
"""


async def test_store_of_a_newer_roost_is_refused(postgres_server: Server) -> None:
    url = await postgres_server.empty()
    await migrate(StoreAddress(url))
    connection = await connect(StoreAddress(url), cached=False)
    newer = SCHEMA_VERSION + 1
    await connection.execute(f"INSERT INTO schema VALUES ({newer}, {newer}, '', 0)")
    await connection.close(timeout=60)
    with pytest.raises(StoreTooNew, match="needs a newer Roost"):
        await migrate(StoreAddress(url))


async def test_database_that_can_not_be_made_sense_of_is_said_to_be_so(
    postgres_server: Server,
) -> None:
    url = await postgres_server.empty()
    connection = await connect(StoreAddress(url), cached=False)
    await connection.execute("CREATE TABLE schema (of_another TEXT)")
    await connection.close(timeout=60)
    with pytest.raises(StoreError, match=r"The store failed: .*servers"):
        await look(StoreAddress(url))


async def test_database_of_another_encoding_is_refused(postgres_server: Server) -> None:
    """It would fail at the first letter that it does not have."""
    create = "CREATE DATABASE {} ENCODING '{}' LOCALE 'C' TEMPLATE template0"
    for encoding in ("LATIN1", "SQL_ASCII"):
        name = f"in_{encoding.lower()}"
        await postgres_server.run(create.format(name, encoding))
        with pytest.raises(StoreError, match=f"{encoding}; Roost needs UTF8: createdb"):
            await migrate(StoreAddress(postgres_server.url(name)))
        await postgres_server.run(f"DROP DATABASE {name}")


async def test_migration_that_waits_for_a_backup_holds_nobody_up(
    postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "WAIT", "500ms")
    monkeypatch.setattr(schema, "PAUSE", 0.01)
    url = await postgres_server.empty()
    with failing("store.migrate.after"), pytest.raises(FaultError):
        await migrate(StoreAddress(url))
    backup = await connect(StoreAddress(url), cached=False)
    user = await connect(StoreAddress(url), cached=False)
    await backup.execute("BEGIN; LOCK TABLE sessions IN ACCESS SHARE MODE")
    migrating = asyncio.create_task(migrate(StoreAddress(url)))
    async with asyncio.timeout(SECONDS):
        while not await fetch(user, WAITING):  # noqa: ASYNC110 (the server's)
            await asyncio.sleep(0.01)
        await user.execute("SELECT 1 FROM sessions")
    assert not migrating.done()
    await backup.execute("ROLLBACK")
    await migrating
    assert (await schema_of(url)).version == SCHEMA_VERSION
    for each in (backup, user):
        await each.close(timeout=60)


WAITING = "SELECT 1 FROM pg_locks WHERE relation = 'sessions'::regclass AND NOT granted"


ADD_TO_EVERYTHING = f"""
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'schema' LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN later BIGINT NOT NULL DEFAULT 0', name);
    END LOOP;
END $$;
CREATE TABLE inventions (id TEXT PRIMARY KEY);
INSERT INTO schema VALUES ({SCHEMA_VERSION + 1}, {SCHEMA_VERSION}, '', 0)
"""
"""As a migration does that older servers can live with: it says so by its `min_version`."""


@pytest.mark.contract("D17")
async def test_server_works_on_while_a_newer_one_adds_to_the_schema(
    postgres_server: Server, tmp_path: Path, clock: FakeClock
) -> None:
    """As in a rolling upgrade; and it can be started again, should one go back."""
    url, folder = await postgres_server.empty(), tmp_path / "data"
    databases[folder] = url
    async with opened(folder, clock) as store:
        ada = await Driver.of(store, "ada")
        session = await ada.session()
        await whole_turn(ada, session)
        await add_to_everything(url)
        await whole_turn(ada, session)
    async with opened(folder, clock) as store:
        await whole_turn(Driver(store, ada.user), session)
        assert await Driver(store, ada.user).texts(session) == ["Hello", "Good day"] * 3
    assert await schema_of(url) == Schema(SCHEMA_VERSION + 1, SCHEMA_VERSION)
    del databases[folder]


async def add_to_everything(url: str) -> None:
    """Again, as a migration would be, if it meets with what the server does in the background."""
    connection = await connect(StoreAddress(url), cached=False)
    try:
        for _ in range(20):
            with contextlib.suppress(asyncpg.DeadlockDetectedError):
                await connection.execute(ADD_TO_EVERYTHING)
                return
        raise AssertionError("it was in the way each time")
    finally:
        await connection.close(timeout=60)


async def whole_turn(user: Driver, session: SessionId) -> None:
    run = await user.run(session)
    await user.stream(run, "Good")
    await user.end(run, "Good day")
    assert (await user.history.snapshot(session)).session.id == session


async def test_address_with_a_setting_that_is_none_is_refused_in_words(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="Correct ROOST_STORE"):
        await look(StoreAddress(f"{url}&sslmode=banana"))
