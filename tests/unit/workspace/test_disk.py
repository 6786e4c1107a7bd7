"""A floor of free disk: nothing new below it, and whoever fills the disk is stopped."""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from roost.workspace.base import Folder, Ground
from roost.workspace.disk import DiskFloor, free, size_of
from tests.boxes import DEADLINE, HOME, OWNER, begin, own, sandbox_of

MB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A real file system of 32 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


@asynccontextmanager
async def watching(floor: DiskFloor) -> AsyncGenerator[None]:
    task = asyncio.create_task(floor.run())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def grow(folder: Path, size: int) -> None:
    with (folder / "file").open("ab") as file:
        file.write(os.urandom(size))
        os.fsync(file.fileno())


async def grow_until(folder: Path, stopped: asyncio.Event) -> None:
    """When the watch took its first look is not known, so write on."""
    async with asyncio.timeout(DEADLINE):
        while not stopped.is_set():
            grow(folder, 4096)
            await asyncio.sleep(0.001)


async def test_room_is_what_is_left_above_the_floor(tmp_path: Path) -> None:
    room = free(tmp_path)
    assert await DiskFloor(tmp_path, 0).has_room()
    assert not await DiskFloor(tmp_path, 0).has_room(room * 2)
    assert not await DiskFloor(tmp_path, room * 2).has_room()


def test_size_is_what_lies_in_a_folder_and_not_behind_links(tmp_path: Path) -> None:
    inner = tmp_path / "inner" / "deeper"
    inner.mkdir(parents=True)
    before = size_of(tmp_path / "inner")
    (inner / "file").write_bytes(os.urandom(MB))
    (inner / "link").symlink_to("/usr")
    (tmp_path / "outside").write_bytes(os.urandom(4 * MB))
    (inner / "to a file").symlink_to("../../outside")
    assert before + MB <= size_of(tmp_path / "inner") < before + 2 * MB
    assert size_of(tmp_path / "nowhere") == 0


async def test_whoever_has_grown_most_is_stopped(tmp_path: Path) -> None:
    stopped: list[str] = []
    first, second = asyncio.Event(), asyncio.Event()
    floor = DiskFloor(tmp_path, free(tmp_path) * 2)

    async def stop(name: str, reason: str) -> None:
        assert "of disk is free" in reason
        stopped.append(name)
        if not first.is_set():
            # The watch waits for this to return, and looks again then.
            grow(tmp_path / "fast", MB)
            grow(tmp_path / "slow", MB // 4)
            first.set()
        else:
            second.set()

    with ExitStack() as stack:
        for name in ("still", "slow", "fast", "other"):
            folder = tmp_path / name
            folder.mkdir()
            stack.enter_context(floor.let((folder,), lambda why, name=name: stop(name, why)))
        async with watching(floor):
            await grow_until(tmp_path / "other", first)
            async with asyncio.timeout(DEADLINE):
                await second.wait()
    assert stopped == ["other", "fast"]


async def test_those_who_share_what_fills_the_disk_are_stopped_together(tmp_path: Path) -> None:
    stopped: list[str] = []
    shared, own = tmp_path / "shared", tmp_path / "own"
    both = asyncio.Event()

    async def stop(name: str, reason: str) -> None:
        stopped.append(name)
        if len(stopped) == 2:
            both.set()

    floor = DiskFloor(tmp_path, free(tmp_path) * 2)
    with ExitStack() as stack:
        for folder in (shared, own):
            folder.mkdir()
        for name, folders in (("caller", (shared,)), ("subagent", (own, shared))):
            stack.enter_context(floor.let(folders, lambda why, name=name: stop(name, why)))
        async with watching(floor):
            await grow_until(shared, both)
    assert sorted(stopped[:2]) == ["caller", "subagent"]


async def test_nobody_is_stopped_while_there_is_room(tmp_path: Path) -> None:
    stopped: list[str] = []

    async def stop(reason: str) -> None:
        stopped.append(reason)

    floor = DiskFloor(tmp_path, 0)
    with floor.let((tmp_path,), stop):
        async with watching(floor):
            grow(tmp_path, MB)
            assert await floor.has_room()
    assert stopped == []


async def test_failure_to_stop_one_does_not_end_the_watch(tmp_path: Path) -> None:
    floor = DiskFloor(tmp_path, free(tmp_path) * 2)
    first, second = asyncio.Event(), asyncio.Event()

    async def fail(reason: str) -> None:
        (second if first.is_set() else first).set()
        raise RuntimeError(reason)

    with floor.let((tmp_path,), fail):
        async with watching(floor):
            await grow_until(tmp_path, second)


def test_size_is_known_though_files_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(MB))
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            for name in range(50):
                (tmp_path / f"{name}").touch()
            for name in range(50):
                (tmp_path / f"{name}").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert all(size_of(tmp_path) >= MB for _ in range(200))
    finally:
        over.set()
        thread.join()


async def test_box_that_fills_a_disk_is_closed_before_it_is_full(small_disk: Path) -> None:
    home = small_disk / "home"
    own(home)
    floor = DiskFloor(small_disk, 8 * MB)
    reasons: list[str] = []
    async with sandbox_of("bubblewrap") as sandbox, watching(floor):
        ground = Ground((Folder(home, HOME, writable=True),), small_disk / "scratch", OWNER)
        box = await sandbox.open(ground, network=False)

        async def stop(reason: str) -> None:
            reasons.append(reason)
            await box.close()

        with floor.let((home,), stop):
            much = "head -c 24000000 /dev/zero > file"
            # A megabyte in a second at most: it takes four to what must still be free at the end.
            script = f"{much}; while :; do head -c 20000 /dev/zero >> file; sleep 0.02; done"
            child = await begin(box, "/bin/sh", "-c", script)
            async with asyncio.timeout(DEADLINE):
                await box.wait()
            child.close()
        assert "has just written" in reasons[0]
        assert free(small_disk) > 4 * MB
        assert not await floor.has_room()
