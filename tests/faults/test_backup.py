"""Backups of a store at work: whole, of one moment, private; and nothing left of one that fails."""

import asyncio
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.core.errors import (
    BackupFailed,
    ConfigError,
    DataFolderError,
    InvalidInput,
    StoreDamaged,
)
from roost.core.ids import BlobId
from roost.core.messages import FilePart
from roost.store.folder import BLOBS, DATABASE, KEY
from roost.store.marks import tie
from roost.store.sqlite.backup import backup
from roost.store.sqlite.connect import Connection
from roost.store.sqlite.repair import check
from tests.faults.ledger import Ledger
from tests.faults.moving import leave_rows_without_files
from tests.faults.recount import recount
from tests.faults.scene import ATTACHMENT, TALK, USER, opened, populate, rows_of
from tests.faults.victim import REPOSITORY, nursery

DEADLINE = 60.0


def test_backup_of_a_busy_store_is_whole_and_of_one_moment(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        nursery(data, Ledger()) as writers,
        ThreadPoolExecutor(1) as threads,
        writers.busy(seed=1),
    ):
        for number in range(10):
            copying = threads.submit(backup, data, tmp_path / f"copy {number}")
            writers.hear_while(lambda copying=copying: not copying.done())
            assert copying.result().sessions > 0
    for number in range(10):
        copy = tmp_path / f"copy {number}"
        assert check(copy) == []
        assert recount(copy) == []


async def test_backup_has_everything_that_was_answered_before_it(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    async with opened(data) as store:
        await populate(store)
        made = await asyncio.to_thread(backup, data, copy)
        rows = rows_of(data)
    assert (made.path, made.sessions, made.missing) == (copy, 2, 0)
    assert made.bytes == sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
    assert rows_of(copy) == rows
    async with opened(copy) as store:
        me = store.of(USER)
        assert await store.secrets.get("provider") == "sk-secret"
        part = (await me.history.load(TALK)).messages[0].parts[1]
        assert isinstance(part, FilePart)
        assert await me.blobs.read_bytes(BlobId(part.blob)) == ATTACHMENT
        async with asyncio.timeout(DEADLINE):
            while not await me.search("quick fox"):
                await store.settings.put("poll", "1")


async def test_backup_is_private(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    before = os.umask(0)
    try:
        async with opened(data) as store:
            await populate(store)
        backup(data, copy)
    finally:
        os.umask(before)
    for path in (copy, *copy.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert {path.name for path in copy.iterdir()} == {DATABASE, BLOBS, KEY}


async def test_backup_never_replaces_anything(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as store:
        await populate(store)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "precious").write_text("mine")
    with pytest.raises(InvalidInput, match="exists"):
        backup(tmp_path / "data", tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "copy"}
    assert (tmp_path / "copy" / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("sql", "said"),
    [("CREATE TABLE notes (text)", "not one of Roost's"), ("SELECT 1", "Nothing to back up")],
)
def test_backup_of_what_is_no_store_says_so_and_leaves_nothing(
    tmp_path: Path, sql: str, said: str
) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    data.mkdir()
    connection = Connection(str(data / DATABASE))
    connection.rows(sql)
    connection.close()
    with pytest.raises(DataFolderError, match=said):
        backup(data, copy)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


async def test_backup_under_an_impossible_name_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path / "data"):
        pass
    with pytest.raises(BackupFailed, match=r"was not made: .*: file name too long"):
        backup(tmp_path / "data", tmp_path / ("x" * 300))


async def test_file_that_can_not_be_copied_is_named(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    async with opened(data):
        pass
    (data / KEY).unlink()
    (data / KEY).mkdir()
    with pytest.raises(BackupFailed, match=f"The backup {copy} was not made: {data / KEY}: is a"):
        backup(data, copy)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


async def test_store_of_before_a_move_is_not_backed_up_as_if_it_were_the_newest(
    tmp_path: Path,
) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    async with opened(data) as store:
        await populate(store)
    tie(data, "another")
    with pytest.raises(ConfigError, match="belongs to a store in PostgreSQL"):
        backup(data, copy)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


async def test_backup_of_a_damaged_store_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as store:
        await populate(store)
    path = tmp_path / "data" / DATABASE
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreDamaged):
        backup(tmp_path / "data", tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


@pytest.mark.parametrize("full_after", ["database", "blobs"])
async def test_backup_to_a_full_disk_leaves_nothing(
    tmp_path: Path, small_disk: Path, full_after: str
) -> None:
    async with opened(tmp_path / "data") as store:
        await populate(store)
        if full_after == "database":
            await store.settings.put("large", "x" * (2 << 20))
        else:
            await store.of(USER).blobs.put_bytes(b"x" * (2 << 20), "text/plain")
    with pytest.raises(BackupFailed, match=r"was not made: .*no space left .* Nothing is left"):
        backup(tmp_path / "data", small_disk / "copy")
    assert list(small_disk.iterdir()) == []


_SCRIPT = """
import os, pathlib, signal, sys
from roost.store.sqlite.backup import backup

copied = 0

def look(event, arguments):
    global copied
    copied += event == "shutil.copyfile"
    if copied == 100 and event == "shutil.copyfile":
        os.kill(os.getpid(), signal.Signals[sys.argv[3]])

sys.addaudithook(look)
backup(*map(pathlib.Path, sys.argv[1:3]))
"""


def begin_a_backup(data: Path, copy: Path, met: signal.Signals) -> "subprocess.Popen[bytes]":
    """Back up in a process of its own, which meets a signal in the middle of its files."""
    command = [sys.executable, "-c", _SCRIPT, str(data), str(copy), met.name]
    return subprocess.Popen(command, cwd=REPOSITORY)


async def populate_with_many_files(data: Path) -> None:
    async with opened(data) as store:
        await populate(store)
        me = store.of(USER)
        for number in range(300):
            await me.blobs.put_bytes(b"%d" % number, "text/plain")


def is_whole(copy: Path) -> bool:
    files = [path for path in (copy / BLOBS).rglob("*") if path.is_file()]
    return recount(copy) == [] and len(files) == 301


async def test_killed_backup_never_looks_like_one_and_the_next_tidies_up(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    await populate_with_many_files(data)
    draft = tmp_path / ".copy.unfinished"
    killed = begin_a_backup(data, copy, signal.SIGKILL)
    assert await asyncio.to_thread(killed.wait, DEADLINE) == -signal.SIGKILL
    assert not copy.exists()
    assert draft.exists()
    backup(data, copy)
    assert {path.name for path in tmp_path.iterdir()} == {"data", "copy"}
    assert is_whole(copy)


async def test_backup_takes_nothing_from_another_of_its_name_that_is_under_way(
    tmp_path: Path,
) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    await populate_with_many_files(data)
    first = begin_a_backup(data, copy, signal.SIGSTOP)
    await asyncio.to_thread(os.waitid, os.P_PID, first.pid, os.WSTOPPED)
    try:
        with pytest.raises(InvalidInput, match=f"Another backup to {copy} is being made"):
            backup(data, copy)
        backup(data, tmp_path / "other")
    finally:
        first.send_signal(signal.SIGCONT)
        assert await asyncio.to_thread(first.wait, DEADLINE) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"data", "copy", "other"}
    assert is_whole(copy)
    assert is_whole(tmp_path / "other")


async def test_blob_that_is_being_forgotten_is_not_missed_by_a_backup(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with opened(data) as store:
        await populate(store)
        await store.of(USER).blobs.put_bytes(b"soon gone", "text/plain")
    assert await leave_rows_without_files(data)
    assert backup(data, tmp_path / "copy").missing == 0


async def test_blob_that_is_being_stored_does_not_fail_a_backup(tmp_path: Path) -> None:
    """Its row may be there before its bytes are."""
    data = tmp_path / "data"
    async with opened(data) as store:
        await populate(store)
        blob = await store.of(USER).blobs.put_bytes(b"soon", "text/plain")
    assert blob.id == hashlib.sha256(b"soon").hexdigest()
    shutil.rmtree(data / BLOBS / blob.id[:2])
    made = backup(data, tmp_path / "copy")
    assert (made.sessions, made.missing) == (2, 1)
    assert recount(tmp_path / "copy") == []
