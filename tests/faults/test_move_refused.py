"""A store that can't be moved, to where it can't be: nothing is changed on either side."""

import shutil
from pathlib import Path

import pytest

from roost.core.errors import ConfigError, Conflict, DataFolderError, StoreError, StoreOwned
from roost.core.ids import UserId
from roost.core.keys import StoreAddress
from roost.core.users import User
from roost.store.folder import DATABASE, KEY
from roost.store.postgres.schema import migrate
from roost.store.sqlite.connect import connect_writer
from roost.testing import faults
from tests.faults.moving import moved, on_postgres, rows_in, run_sql, verified
from tests.faults.scene import opened, rows_of
from tests.postgres import Server


async def refused(data: Path, url: str, error: type[Exception], words: str) -> None:
    """And nothing was changed on either side."""
    rows, before = rows_of(data), await rows_in(url)
    for work in (moved, verified):
        with pytest.raises(error, match=words):
            await work(data, url)
    assert rows_of(data) == rows
    assert await rows_in(url) == before


async def test_folder_of_a_server_that_runs_is_refused(data: Path, url: str) -> None:
    async with opened(data):
        await refused(data, url, StoreOwned, "Stop that one first")


async def test_database_with_users_is_refused(data: Path, url: str, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "other", ignore=shutil.ignore_patterns(DATABASE + "*"))
    async with on_postgres(tmp_path / "other", url) as store:
        await store.users.create(User(id=UserId("usr_eve"), name="eve", role="admin"))
    await refused(data, url, Conflict, "it has users")


async def test_database_with_another_store_is_refused(data: Path, url: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    async with opened(other):
        pass
    await moved(other, url)
    await refused(data, url, Conflict, "Another store was moved")


async def test_store_is_moved_once(data: Path, url: str) -> None:
    await moved(data, url)
    before = await rows_in(url)
    with pytest.raises(Conflict, match="already"):
        await moved(data, url)
    assert await rows_in(url) == before


async def test_database_of_another_schema_is_refused(data: Path, postgres_server: Server) -> None:
    url = await postgres_server.empty()
    await migrate(StoreAddress(url))
    await run_sql(url, "INSERT INTO schema (version, minimum, digest) VALUES (99, 1, '')")
    await refused(data, url, Conflict, "has the schema 99")


async def test_database_of_servers_of_an_older_roost_is_refused(
    data: Path, postgres_server: Server
) -> None:
    url = await postgres_server.empty()
    with faults.failing("store.migrate.after"), pytest.raises(faults.FaultError):
        await migrate(StoreAddress(url))
    await run_sql(url, "INSERT INTO servers VALUES ('old-1', 'old', 1, '0.1', NULL, 0, 0, 0)")
    await refused(data, url, Conflict, "in use by an older Roost, old-1")


async def test_store_of_an_older_schema_is_refused(data: Path, url: str) -> None:
    connection = connect_writer(data / DATABASE)
    connection.rows("DELETE FROM schema WHERE version = (SELECT max(version) FROM schema)")
    connection.close()
    await refused(data, url, Conflict, "Start this Roost on it once")


async def test_another_key_is_refused(data: Path, url: str, tmp_path: Path) -> None:
    async with on_postgres(tmp_path / "other", url):
        pass
    before = await rows_in(url)
    with pytest.raises(ConfigError, match="not that of the others"):
        await moved(data, url)
    assert await rows_in(url) == before
    shutil.copy(tmp_path / "other" / KEY, data / KEY)
    await refused(data, url, StoreError, "sealed with another key")
    (data / KEY).unlink()
    await refused(data, url, DataFolderError, "is missing")
    assert not (data / KEY).exists()
