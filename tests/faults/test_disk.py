"""A disk that is full, fails or goes away: clear errors, true answers, and on again afterwards."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import apsw
import pytest
from structlog.testing import capture_logs

from roost.client.place import find, left_in
from roost.core.clock import SystemClock
from roost.core.config import Config
from roost.core.errors import DataFolderError, StoreError, StoreFull, StoreUnavailable
from roost.core.ids import TurnId
from roost.core.keys import Key
from roost.core.messages import TextPart
from roost.core.turns import NewTurn
from roost.runtime import checks
from roost.store.folder import DATABASE, OwnerLock, this_process
from roost.store.sqlite.engine import SqliteEngine
from roost.store.sqlite.readers import THREADS
from roost.store.sqlite.repair import check
from roost.wiring import known_channels
from tests.faults.disk import Call, failing_disk
from tests.faults.engines import (
    Gate,
    asked,
    engine_in,
    put,
    reopened,
    stored,
    together,
)
from tests.faults.recount import recount
from tests.faults.scene import TALK, USER, opened, populate

TOKEN = Key("roost_something")
KEYS = [f"key {number}" for number in range(8)]
LARGE = "x" * (32 << 20)
"""More than SQLite keeps in memory: written to the log in the middle of its statement."""


async def group_meets(
    engine: SqliteEngine, failing: Callable[[], None]
) -> list[str | BaseException]:
    """A group of writes, and a disk that fails while it is being committed."""
    gate = Gate()
    holding = await gate.close(engine)
    waiting = await asked([engine.write(put(key, "x" * 5_000)) for key in KEYS])
    failing()
    gate.open()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("times", [1, 4, 1 << 30])
@pytest.mark.parametrize(
    ("error", "call", "after", "meaning"),
    [
        (apsw.FullError, "write", 0, StoreFull),
        (apsw.FullError, "write", 1, StoreFull),
        (apsw.FullError, "write", 15, StoreFull),
        (apsw.IOError, "write", 0, StoreUnavailable),
        (apsw.IOError, "write", 15, StoreUnavailable),
        (apsw.IOError, "sync", 0, StoreUnavailable),
    ],
)
async def test_disk_that_fails_in_the_middle_of_a_group_answers_nobody_wrongly(
    tmp_path: Path,
    error: type[apsw.Error],
    call: Call,
    after: int,
    meaning: type[StoreError],
    times: int,
) -> None:
    with failing_disk() as disk:
        async with engine_in(tmp_path) as engine:
            answers = await group_meets(
                engine, lambda: disk.fail(error, call, after=after, times=times)
            )
            disk.mend()
            refused = [answer for answer in answers if isinstance(answer, BaseException)]
            # The group fails first, then each by itself, while the disk does.
            assert disk.failed == min(times, len(KEYS) + 1)
            assert [type(answer) for answer in refused] == [meaning] * (disk.failed - 1)
            answered = [answer for answer in answers if isinstance(answer, str)]
            assert await stored(engine, KEYS) == answered
            # What was refused can be asked for again.
            assert await together(engine, *[put(key) for key in KEYS]) == KEYS
    assert await reopened(tmp_path, KEYS) == KEYS
    assert check(tmp_path) == []


async def test_operation_too_large_for_the_disk_fails_alone(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with engine_in(tmp_path) as engine:
            disk.fail(apsw.FullError, "write", beyond=16 << 20)
            first, large, last = await together(
                engine, put("first"), put("large", LARGE), put("last")
            )
            assert (first, last) == ("first", "last")
            assert isinstance(large, StoreFull)
            assert await stored(engine, ["first", "large", "last"]) == ["first", "last"]
            disk.mend()
            assert await engine.write(put("large", "small")) == "large"
    keys = ["first", "large", "last"]
    assert await reopened(tmp_path, keys) == keys
    assert check(tmp_path) == []


async def test_disk_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with opened(tmp_path, SystemClock()) as store:
            await populate(store)
            disk.fail(apsw.IOError, "read", "write", "sync")
            for _ in range(3):
                with pytest.raises(StoreUnavailable, match="safe to try again"):
                    await store.settings.put("key", "1")
            disk.mend()
            await store.settings.put("key", "2")
            assert await store.settings.get("key") == "2"
            assert (await store.of(USER).history.load(TALK)).messages
    assert check(tmp_path) == []
    assert recount(tmp_path) == []


async def test_read_that_fails_says_so_and_the_next_succeeds(tmp_path: Path) -> None:
    with failing_disk() as disk:
        async with opened(tmp_path) as store:
            await populate(store)
            disk.fail(apsw.IOError, "read")
            for _ in range(THREADS):
                with pytest.raises(StoreUnavailable):
                    await store.of(USER).history.load(TALK)
            disk.mend()
            for _ in range(THREADS):
                assert (await store.of(USER).history.load(TALK)).messages


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A real file system of 4 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607


async def test_full_file_system_takes_messages_again_once_there_is_room(small_disk: Path) -> None:
    accepted: list[TurnId] = []
    text = (TextPart("x" * 20_000),)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (2 << 20))
    async with opened(small_disk / "data", SystemClock()) as store:
        await populate(store)
        me = store.of(USER)
        numbers = iter(range(10_000))

        async def submit() -> TurnId:
            new = NewTurn(id=TurnId(f"trn_{next(numbers):05}"), parts=text)
            return (await me.queue.submit(TALK, new)).id

        refused: list[BaseException] = []
        while not refused:
            answers = await asyncio.gather(*[submit() for _ in range(8)], return_exceptions=True)
            accepted += [answer for answer in answers if isinstance(answer, str)]
            refused = [answer for answer in answers if isinstance(answer, BaseException)]
        assert {type(answer) for answer in refused} <= {StoreFull, StoreUnavailable}
        assert accepted
        assert [turn.id for turn in await me.queue.of(TALK)] == accepted
        with pytest.raises(StoreFull):
            await me.blobs.put_bytes(b"x" * (4 << 20), "text/plain")
        assert list((small_disk / "data" / "blobs" / "new").iterdir()) == []
        filler.unlink()
        accepted.append(await submit())
        assert [turn.id for turn in await me.queue.of(TALK)] == accepted
    async with opened(small_disk / "data", SystemClock()) as store:
        assert [turn.id for turn in await store.of(USER).queue.of(TALK)] == accepted
    assert check(small_disk / "data") == []
    assert recount(small_disk / "data") == []


def fill(disk: Path, *, leaving: int) -> Path:
    """So many pages stay free. The file that can be removed to make room."""
    filler = disk / "filler"
    status = os.statvfs(disk)
    filler.write_bytes(bytes((status.f_bfree - leaving) * status.f_frsize))
    return filler


@pytest.mark.parametrize("pages", [*range(12), 16])
async def test_new_store_on_a_full_disk_says_so(small_disk: Path, pages: int) -> None:
    filler = fill(small_disk, leaving=pages)
    for _ in range(2):  # what failed holds the folder no longer, in the same process too
        with pytest.raises((DataFolderError, StoreFull), match="Free some disk space"):
            async with opened(small_disk / "data"):
                pass
    filler.unlink()
    async with opened(small_disk / "data") as store:
        await populate(store)
    assert (small_disk / "data" / DATABASE).exists()
    assert recount(small_disk / "data") == []


@pytest.mark.parametrize("pages", range(9))
async def test_store_of_before_on_a_full_disk_says_so(small_disk: Path, pages: int) -> None:
    async with opened(small_disk / "data") as store:
        await populate(store)
    filler = fill(small_disk, leaving=pages)
    with pytest.raises((DataFolderError, StoreFull), match="Free some disk space"):
        async with opened(small_disk / "data"):
            pass
    filler.unlink()
    async with opened(small_disk / "data") as store:
        assert (await store.of(USER).history.load(TALK)).messages
    assert recount(small_disk / "data") == []


async def test_look_at_the_store_on_a_full_disk_is_not_repeated(small_disk: Path) -> None:
    config = Config(data=small_disk / "data")
    async with opened(config.data) as store:
        await populate(store)
    fill(small_disk, leaving=0)
    assert list(checks.store(config)) == [
        ("bad", "Store", "can't be opened: its disk is full", "Free some disk space.")
    ]
    with capture_logs() as logs:
        assert await known_channels(config, {}) == {}
    assert [each["event"] for each in logs] == ["channels that were added can't be read"]


def test_server_that_can_not_leave_its_credential_says_so(small_disk: Path) -> None:
    lock = OwnerLock(small_disk, this_process("1", 1000))
    filler = fill(small_disk, leaving=0)
    with (
        pytest.raises(DataFolderError, match=r"its server.token: .* Free some disk space"),
        left_in(small_disk, TOKEN),
    ):
        pass
    filler.unlink()
    with left_in(small_disk, TOKEN):
        lock.announce("http://127.0.0.1:1")
        assert find(small_disk) is not None
    lock.release()
