"""Who may open a data folder, and what those who may not are told."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from roost.core.errors import StoreOwned
from roost.store.folder import BLOBS, DATABASE, KEY, OwnerLock, this_process
from tests.faults.recount import recount
from tests.faults.scene import USER, opened, populate
from tests.faults.victim import REPOSITORY


@contextmanager
def opening(*arguments: str) -> "Generator[tuple[subprocess.Popen[str], str]]":
    """Another process that opens a store, and the first thing it says."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.opener", *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


async def test_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    with opening(str(tmp_path)) as (owner, said):
        assert said == "opened"
        with pytest.raises(StoreOwned) as refused:
            async with opened(tmp_path):
                pass
    found = re.search(r"process (\d+) on (\S+), started ([^.]+)\. Stop", str(refused.value))
    assert found is not None
    assert int(found[1]) == owner.pid
    assert found[2] == os.uname().nodename
    assert before <= datetime.fromisoformat(found[3]).astimezone() <= datetime.now(UTC)


async def test_folder_of_a_killed_owner_opens_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await populate(store)
    with opening(str(tmp_path)) as (owner, said):
        assert said == "opened"
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        async with opened(tmp_path) as store:
            assert await store.users.get(USER)


KILLED_WHILE_IT_STARTS_A_PROGRAM = """
import os, pathlib, signal, sys, time
from roost.store.folder import OwnerLock, this_process
lock = OwnerLock(pathlib.Path(sys.argv[1]), this_process("1", 0))
if os.fork():
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(0.1)
"""


def test_program_that_a_killed_owner_was_starting_holds_nobody_up(tmp_path: Path) -> None:
    """Between fork and exec it has the owner's files open, and so the lock."""
    command = [sys.executable, "-c", KILLED_WHILE_IT_STARTS_A_PROGRAM, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    OwnerLock(tmp_path, this_process("1", 0)).release()


async def test_folder_that_was_let_go_opens_at_once(tmp_path: Path) -> None:
    for _ in range(2):
        async with opened(tmp_path) as store:
            await store.settings.put("key", "1")
        with opening(str(tmp_path)) as (_, said):
            assert said == "opened"


async def test_store_closed_twice_lets_go_of_its_own_lock_only(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.close()
        with opening(str(tmp_path)) as (_, said):
            assert said == "opened"
            await store.close()
            with pytest.raises(StoreOwned):
                async with opened(tmp_path):
                    pass


async def test_store_that_fails_to_open_lets_go_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database" * 1000)
    for _ in range(2):
        with opening(str(tmp_path)) as (_, said):
            assert said.startswith("StoreDamaged: ")


@pytest.mark.parametrize("new", [True, False])
async def test_read_only_folder_is_refused_with_a_reason(tmp_path: Path, *, new: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    if not new:
        async with opened(folder) as store:
            await populate(store)
    folder.chmod(0o500)
    before = {path.name for path in folder.iterdir()}
    with opening("--ordinary", str(folder)) as (_, said):
        assert said.startswith(f"DataFolderError: The data folder {folder} can't be used: ")
        assert "--data" in said
    assert {path.name for path in folder.iterdir()} == before


async def test_folder_that_can_not_be_made_is_refused_with_a_reason(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with opening("--ordinary", str(tmp_path / "data")) as (_, said):
        assert said.startswith("DataFolderError: ")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("name", "mode", "refusal"),
    [
        (DATABASE, 0o400, "StoreUnavailable"),
        (DATABASE, 0, "StoreUnavailable"),
        (KEY, 0, "DataFolderError"),
        ("owner.lock", 0, "DataFolderError"),
        (BLOBS, 0, "DataFolderError"),
    ],
)
async def test_unusable_file_inside_is_refused_with_a_reason(
    tmp_path: Path, name: str, mode: int, refusal: str
) -> None:
    async with opened(tmp_path) as store:
        await populate(store)
    (tmp_path / name).chmod(mode)
    with opening("--ordinary", str(tmp_path)) as (_, said):
        assert said.startswith(f"{refusal}: ")
        assert str(tmp_path) in said
        assert name in said
    (tmp_path / name).chmod(0o700)
    assert recount(tmp_path) == []
