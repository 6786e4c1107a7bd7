"""The way to Roost: its server if there is one, and the folder if not."""

import asyncio
from pathlib import Path

import pytest

from roost.cli.app import invoke
from roost.cli.reach import attachable
from roost.client.place import left_in
from roost.core.clock import SystemClock
from roost.core.keys import Key
from roost.store.folder import OwnerLock, this_process

TOKEN = Key("roost_something")
DEADLINE = 60


async def test_folder_without_a_server_is_opened_at_once(tmp_path: Path) -> None:
    assert await attachable(tmp_path) is None
    assert await attachable(tmp_path / "nothing") is None


async def test_server_that_is_just_starting_is_waited_for(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, this_process("1", SystemClock().now()))
    try:
        finding = asyncio.create_task(attachable(tmp_path))
        done, _ = await asyncio.wait([finding], timeout=0.2)
        assert not done
        with left_in(tmp_path, TOKEN):
            lock.announce("http://127.0.0.1:7667")
            place = await asyncio.wait_for(finding, DEADLINE)
            assert place is not None
            assert place.token == TOKEN
    finally:
        lock.release()


async def test_process_that_serves_nobody_is_not_waited_for(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, this_process("1", SystemClock().now() - 60_000))
    try:
        assert await asyncio.wait_for(attachable(tmp_path), DEADLINE) is None
    finally:
        lock.release()


async def test_server_that_is_about_to_be_gone_is_waited_for(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, this_process("1", SystemClock().now() - 60_000))
    lock.announce("http://127.0.0.1:7667")
    finding = asyncio.create_task(attachable(tmp_path))
    done, _ = await asyncio.wait([finding], timeout=0.2)
    lock.release()
    assert not done
    assert await asyncio.wait_for(finding, DEADLINE) is None


@pytest.mark.parametrize(
    "line",
    [
        "sessions list",
        "sessions search heron",
        "sessions export ses_1",
        "memory list",
        "memory show fct_1",
        "schedule list",
        "channels",
        "pair list",
        "user list",
        "token list",
        "usage",
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_command_that_looks_begins_no_roost(
    line: str, there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "typo"
    if there:
        folder.mkdir()
    assert invoke([*line.split(), "--data", str(folder)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith(f"There is no Roost in {folder}. Start one there with ")
    assert [*tmp_path.rglob("*")] == ([folder] if there else [])


@pytest.mark.parametrize("line", ["user link", "token create ci", "schedule add a b --every 1h"])
def test_command_that_begins_something_may_be_the_first(line: str, tmp_path: Path) -> None:
    assert invoke([*line.split(), "--data", str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "roost.db").exists()
