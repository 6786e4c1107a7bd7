"""The data folder: private, owned by one, and clear about who owns it."""

import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.core.errors import DataFolderError, StoreOwned
from roost.store.folder import Owner, OwnerLock, holder, prepare, this_process
from roost.store.sqlite.store import SqliteStore, open_store
from roost.testing.clock import FakeClock

OWNER = Owner(pid=os.getpid(), host="nest", version="1", started_at=1_800_000_000_000)


def test_folder_is_made_private(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "a" / "b").chmod(0o755)
    prepare(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_link_that_leads_nowhere_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(tmp_path / "not mounted")
    with pytest.raises(DataFolderError, match="it is a link to a folder that is not there"):
        prepare(tmp_path / "data")
    (tmp_path / "not mounted").mkdir()
    prepare(tmp_path / "data")


def test_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(DataFolderError, match="not empty, and not Roost's"):
        prepare(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    (tmp_path / "roost.db").touch()
    prepare(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_somebody_who_only_looks_does_not_stop_a_start(tmp_path: Path) -> None:
    OwnerLock(tmp_path, OWNER).release()
    looking = os.open(tmp_path / "owner.lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    with ThreadPoolExecutor(1) as threads:
        starting = threads.submit(OwnerLock, tmp_path, OWNER)
        os.close(looking)
        starting.result().release()


def test_holder_that_has_not_said_its_name_is_not_given_one(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, OWNER)
    (tmp_path / "owner.lock").write_text("")
    with pytest.raises(StoreOwned, match="in use by a process that has not said its name"):
        OwnerLock(tmp_path, OWNER)
    lock.release()


def test_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    for path in (tmp_path / "data", tmp_path / "data" / "below"):
        with pytest.raises(DataFolderError, match="--data"):
            prepare(path)
    assert (tmp_path / "data").read_text() == "not a folder"


def test_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, OWNER)
    with pytest.raises(StoreOwned, match=rf"process {os.getpid()} on nest, started 2027-01-15 "):
        OwnerLock(tmp_path, this_process("1", 0))
    assert holder(tmp_path) == OWNER
    lock.release()
    assert holder(tmp_path) is None
    OwnerLock(tmp_path, OWNER).release()


def test_owner_says_where_it_listens(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, OWNER)
    for address in ("http://127.0.0.1:8000", "http://[::1]:80"):
        lock.announce(address)
        found = holder(tmp_path)
        assert found is not None
        assert (found.pid, found.address) == (OWNER.pid, address)
    lock.release()


def test_lock_file_of_the_dead_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "owner.lock").write_text('{"pid": 1, "half a rec')
    assert holder(tmp_path) is None
    lock = OwnerLock(tmp_path, OWNER)
    assert holder(tmp_path) == OWNER
    lock.release()


def test_folder_that_was_never_used_has_no_holder(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


async def test_second_store_on_a_folder_is_refused_and_the_first_goes_on(
    store: SqliteStore, folder: Path, clock: FakeClock
) -> None:
    with pytest.raises(StoreOwned, match=f"process {os.getpid()}"):
        open_store(folder, clock=clock, version="test")
    await store.settings.put("theme", '"dark"')
    assert await store.settings.get("theme") == '"dark"'
