"""Stores of every version: opened with nothing lost, or refused untouched."""

import asyncio
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import DataFolderError, StoreTooNew
from roost.core.ids import TurnId, new_session_id
from roost.runtime import checks
from roost.store.folder import BLOBS, DATABASE, KEY, WORKSPACES
from roost.store.leases import session_lease
from roost.store.migrations import SCHEMA_VERSION, Schema, load, pending
from roost.store.operations import Row
from roost.store.sqlite.backup import backup
from roost.store.sqlite.connect import Connection, connect_reader, connect_writer
from roost.store.sqlite.repair import check, repair
from roost.store.sqlite.schema import check_before_opening, migrate, read_schema
from roost.testing import faults
from tests.faults.migrator import NEXT, apply, made_up
from tests.faults.recount import recount
from tests.faults.scene import LIVE, TALK, USER, new_turn, opened, populate, rows_of
from tests.faults.victim import REPOSITORY
from tests.fixtures.stores.dump import SECRET_KEY

STORES = REPOSITORY / "tests" / "fixtures" / "stores"
DEADLINE = 60.0

DIGESTS = {
    1: "b5ad3b4dc021d70c158051e2f1061e028a0781f2ce77595859f6e3733bd1b5f5",
    2: "c82d8061ec86963afa5e5cced3b73705fcde79016618a38fcfea13420e6a0f83",
    3: "fadd9744b53ab1c03011facf955a3bb7f33ddce726368494077649354859fdef",
    4: "f7f9154584d7572a39c9f6473984d200fd5d24f02682ec0d031887eda3359c06",
    5: "5e70de8c64ed04c861006dff2fdd86130de16dddff22dc00f45bbd70f3bf299f",
    6: "d29fb65bb8481b66aeb1e461abe11a63f8f82557af6cfcf37d31bf73c249421b",
    7: "eb92b5f48684b232bd2011c32b53bd8183f71b035896045cfc6553dcefa3f378",
    8: "ad76c550dbde69de2856d06b7fa4a38708a4bb1e1f06e8139f057ee52f14b445",
    9: "d61abf36229e3f3120819f3e8f15f4923a5fb1803cf6250639baa50badc00d59",
    10: "a60b117a99b3c8769f206613fe372238ebacc1af12c1459af090586873692159",
    11: "eb4797231b997612041501e60de2d3b28c01050ae749b1a67c338d0b452102f0",
    12: "8741082af9fbffeaff4464c0dbcfa80c527ab84adc896bb7b71eb4f72a3881df",
}
"""Of the migrations that have landed. One that has is never edited; a new one gets a new line."""


def test_landed_migrations_are_never_edited() -> None:
    assert {migration.version: migration.digest for migration in load("sqlite")} == DIGESTS


def test_every_version_has_a_store_to_open() -> None:
    """Made by `python -m tests.fixtures.stores.dump`, when the migration lands."""
    assert {path.stem for path in STORES.glob("v*.sql")} == {f"v{version}" for version in DIGESTS}


def restore(version: int, folder: Path) -> None:
    """The store of an earlier version: what the migrations made of it then, and its rows."""
    (folder / KEY).write_bytes(SECRET_KEY)
    made = [migration.sql for migration in load("sqlite")[:version]]
    connection = Connection(str(folder / DATABASE))
    for sql in (text_of("before_migrations"), *made, text_of(f"v{version}")):
        connection.rows(sql)
    connection.close()


def text_of(name: str) -> str:
    return (STORES / f"{name}.sql").read_text(encoding="utf-8")


def columns_of(folder: Path) -> dict[str, list[str]]:
    connection = connect_reader(folder / DATABASE)
    try:
        return {
            table: [
                str(name)
                for (name,) in connection.rows("SELECT name FROM pragma_table_info(?)", (table,))
            ]
            for table in rows_of(folder)
        }
    finally:
        connection.close()


def select(folder: Path, columns: dict[str, list[str]]) -> dict[str, list[Row]]:
    """Those columns of every row. What a new owner does to leases is left out."""
    connection = connect_reader(folder / DATABASE)
    try:
        # Since version 11 the id of a message's session stands there.
        view = connection.rows(
            "SELECT 'messages', name FROM sqlite_schema WHERE name = 'message_rows'"
        )
        views = {str(table): str(name) for table, name in view}
        return {
            table: sorted(
                connection.rows(
                    f"SELECT {', '.join(name for name in names if name != 'token')} "
                    f"FROM {views.get(table, table) if 'session_id' in names else table}"
                ),
                key=repr,
            )
            for table, names in columns.items()
            if table not in ("leases", "schema")
        }
    finally:
        connection.close()


@pytest.mark.contract("D17")
@pytest.mark.parametrize("version", DIGESTS)
async def test_store_of_every_version_opens_with_nothing_lost(tmp_path: Path, version: int) -> None:
    restore(version, tmp_path)
    columns = columns_of(tmp_path)
    before = select(tmp_path, columns)
    assert [table for table, rows in rows_of(tmp_path).items() if not rows] == []

    async with opened(tmp_path) as store:
        assert select(tmp_path, columns) == before
        me = store.of(USER)
        assert await store.secrets.get("provider") == "sk-secret"
        assert [message.id for message in (await me.history.load(TALK)).messages] == [
            "msg_asked",
            "msg_calls",
            "msg_result",
            "msg_answer",
        ]
        assert await store.leases.holder(session_lease(LIVE)) is None
        assert [orphan.turn for orphan in await store.work.orphans()] == ["trn_live"]
        assert (await me.queue.submit(TALK, new_turn("new"))).state == "queued"
        async with asyncio.timeout(DEADLINE):
            while not (hits := await me.search("quick fox")):
                await store.settings.put("poll", "1")
        assert {hit.session for hit in hits} == {TALK, LIVE}
    assert check(tmp_path) == []
    assert recount(tmp_path, blobs=False) == []
    assert schema_of(tmp_path).version == SCHEMA_VERSION


@pytest.mark.parametrize("lost", [False, True], ids=["whole", "without its sessions"])
@pytest.mark.parametrize("version", DIGESTS)
async def test_store_of_every_version_can_be_rescued(
    tmp_path: Path, version: int, *, lost: bool
) -> None:
    restore(version, tmp_path)
    connection = Connection(str(tmp_path / DATABASE))
    if lost:
        connection.rows("DELETE FROM sessions")
    counts = "(SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)"
    (before,) = connection.rows(f"SELECT {counts}")
    connection.close()

    kept = repair(tmp_path, "test").kept
    assert (kept["sessions"], kept["messages"]) == before
    async with opened(tmp_path) as store:
        history = await store.of(USER).history.load(TALK)
        assert [message.id for message in history.messages] == [
            "msg_asked",
            "msg_calls",
            "msg_result",
            "msg_answer",
        ]
        assert (history.session.title == "Recovered session") == lost
        assert (await store.of(USER).history.load(LIVE)).messages
    assert check(tmp_path) == []
    assert recount(tmp_path, logs=False, blobs=False) == []


def schema_of(folder: Path) -> Schema:
    connection = connect_reader(folder / DATABASE)
    try:
        return read_schema(connection, folder / DATABASE)
    finally:
        connection.close()


@pytest.mark.contract("D17")
@pytest.mark.parametrize("version", DIGESTS)
async def test_migrated_store_has_the_schema_of_a_new_one(tmp_path: Path, version: int) -> None:
    def schema(folder: Path) -> set[Row]:
        connection = connect_reader(folder / DATABASE)
        try:
            return set(connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema"))
        finally:
            connection.close()

    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    restore(version, tmp_path / "old")
    for name in ("old", "new"):
        async with opened(tmp_path / name):
            pass
    assert schema(tmp_path / "old") == schema(tmp_path / "new")


async def test_new_store_gives_free_pages_back(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    connection = connect_reader(tmp_path / DATABASE)
    incremental = 2
    assert connection.rows("PRAGMA auto_vacuum") == [(incremental,)]
    assert connection.rows("PRAGMA journal_mode") == [("wal",)]
    connection.close()


def contents(folder: Path) -> dict[str, bytes]:
    """What is stored. Reading alone leaves an empty log, and an index of the log, behind."""
    paths = [folder / name for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-journal")]
    return {path.name: data for path in paths if path.exists() and (data := path.read_bytes())}


async def populated(folder: Path) -> None:
    async with opened(folder) as store:
        await populate(store)


@pytest.mark.contract("D17")
async def test_store_that_needs_a_newer_roost_is_refused_untouched(tmp_path: Path) -> None:
    await populated(tmp_path)
    apply(tmp_path / DATABASE, made_up(minimum=NEXT))
    before = contents(tmp_path)
    with pytest.raises(StoreTooNew, match=r"needs a newer Roost .* Nothing was changed"):
        async with opened(tmp_path):
            pass
    assert contents(tmp_path) == before


@pytest.mark.contract("D17")
async def test_store_of_a_newer_roost_that_crashed_is_refused_untouched(tmp_path: Path) -> None:
    await populated(tmp_path)
    await die("tests.faults.migrator", tmp_path / DATABASE, "store.migrate.after")
    before = contents(tmp_path)
    assert before[f"{DATABASE}-wal"]
    with pytest.raises(StoreTooNew):
        async with opened(tmp_path):
            pass
    assert contents(tmp_path) == before


@pytest.mark.contract("D17")
async def test_store_of_a_newer_roost_that_keeps_to_our_schema_opens(tmp_path: Path) -> None:
    await populated(tmp_path)
    apply(tmp_path / DATABASE, made_up(minimum=SCHEMA_VERSION))
    async with opened(tmp_path) as store:
        assert await store.settings.get("theme") == '"dark"'
        await store.settings.put("theme", '"light"')
        assert (await store.of(USER).queue.submit(TALK, new_turn("new"))).id == TurnId("trn_new")
    assert recount(tmp_path) == []
    assert schema_of(tmp_path).version == NEXT


async def test_downgrade_is_refused_at_the_highest_minimum_ever(tmp_path: Path) -> None:
    schema = Schema(version=NEXT + 1, minimum=NEXT)
    with pytest.raises(StoreTooNew):
        pending(schema, load("sqlite"), tmp_path)
    assert pending(Schema(NEXT, SCHEMA_VERSION), load("sqlite"), tmp_path) == []


async def die(module: str, path: Path, place: str) -> None:
    """Run a module that dies at a fault point."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        path,
        cwd=REPOSITORY,
        env={**os.environ, "ROOST_FAULTS": f"{place}=kill"},
    )
    async with asyncio.timeout(DEADLINE):
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("place", "version"),
    [("store.migrate.before", SCHEMA_VERSION), ("store.migrate.after", NEXT)],
)
async def test_crash_in_a_migration_leaves_the_store_before_or_after_it(
    tmp_path: Path, place: str, version: int
) -> None:
    await populated(tmp_path)
    before = rows_of(tmp_path)
    await die("tests.faults.migrator", tmp_path / DATABASE, place)
    assert schema_of(tmp_path).version == version
    after = rows_of(tmp_path)
    assert after["messages"] == before["messages"]
    assert ("invented" in after) == (version == NEXT)
    if version == NEXT:
        assert len(after["invented"]) == len(after["messages"])
    else:
        assert after == before
        apply(tmp_path / DATABASE, made_up(minimum=SCHEMA_VERSION))
    assert check(tmp_path) == []


@pytest.mark.parametrize("place", ["store.migrate.before", "store.migrate.after"])
async def test_crash_while_a_store_is_made_leaves_a_folder_that_opens(
    tmp_path: Path, place: str
) -> None:
    await die("tests.faults.opener", tmp_path, place)
    await populated(tmp_path)
    assert check(tmp_path) == []
    assert recount(tmp_path) == []


def test_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    connection = connect_writer(path)
    migrate(connection, load("sqlite"), SystemClock())
    with faults.failing("store.migrate.before"), pytest.raises(faults.FaultError):
        migrate(connection, [made_up(minimum=NEXT)], SystemClock())
    assert read_schema(connection, path).version == SCHEMA_VERSION
    migrate(connection, [made_up(minimum=NEXT)], SystemClock())
    assert read_schema(connection, path) == Schema(NEXT, NEXT)
    connection.close()


async def test_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    connection = Connection(str(tmp_path / DATABASE))
    connection.rows("CREATE TABLE notes (text)")
    connection.close()
    before = contents(tmp_path)
    with pytest.raises(DataFolderError, match="not one of Roost's"):
        async with opened(tmp_path):
            pass
    assert contents(tmp_path) == before


@pytest.mark.parametrize("left", ["attachments", "workspaces", "log"])
@pytest.mark.parametrize("what", ["empty", "missing"])
async def test_store_that_was_there_is_missed(tmp_path: Path, what: str, left: str) -> None:
    await populated(tmp_path)
    if left != "attachments":
        shutil.rmtree(tmp_path / BLOBS)
    if left == "workspaces":
        (tmp_path / WORKSPACES / new_session_id()).mkdir(parents=True)
    if left == "log":
        (tmp_path / f"{DATABASE}-wal").write_bytes(b"log")
    (tmp_path / DATABASE).unlink()
    if what == "empty":
        (tmp_path / DATABASE).touch()
    words = f"its {DATABASE} is {what}, but .* Restore a backup, or move .* away to begin anew"
    with pytest.raises(DataFolderError, match=words):
        await populated(tmp_path)
    with pytest.raises(DataFolderError, match=words):
        repair(tmp_path, "0")
    with pytest.raises(DataFolderError, match=words):
        backup(tmp_path, tmp_path / "backup")
    (found,) = checks.store(Config(data=tmp_path))
    assert found.state == "bad"
    assert re.search(words, found.found)


@pytest.mark.parametrize("moved", [True, False], ids=["born", "unborn"])
async def test_store_that_lost_its_log_while_it_was_young_is_missed(
    tmp_path: Path, moved: bool
) -> None:
    """Nearly all of it is in there; if nothing was moved yet, its tables too."""
    database = tmp_path / DATABASE
    async with opened(tmp_path) as store:
        await populate(store)
        alone = database.read_bytes()
    database.write_bytes(alone)
    if not moved:
        database.unlink()
        connect_writer(database).close()
    with pytest.raises(DataFolderError, match=r"is empty, but attachments are there"):
        await populated(tmp_path)
    (found,) = checks.store(Config(data=tmp_path))
    assert found.state == "bad"
    shutil.rmtree(tmp_path / BLOBS)
    await populated(tmp_path)


async def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As a crash at its birth leaves it."""
    (tmp_path / DATABASE).touch()
    (tmp_path / BLOBS / "new").mkdir(parents=True)
    assert check_before_opening(tmp_path / DATABASE, load("sqlite")) == Schema()
    (found,) = checks.store(Config(data=tmp_path))
    assert (found.state, found.found) == ("good", "none yet, made at the first start")
    await populated(tmp_path)
    assert recount(tmp_path) == []
