"""The write-ahead log is emptied beside the writer, whoever reads."""

import asyncio
import itertools
import sys
import threading
from pathlib import Path

from roost.store.folder import DATABASE
from roost.store.operations import Operation, query
from roost.store.sqlite.checkpointer import EVERY, FEW, Checkpointer
from roost.store.sqlite.connect import connect_writer
from roost.store.sqlite.writer import LOG_LIMIT
from tests.faults.engines import DEADLINE, engine_in, put
from tests.store_driver import eventually

MB = 1 << 20


async def write_much(folder: Path, megabytes: int) -> int:
    """Under readers that come and go; the size of the log at its longest."""
    longest = 0
    async with engine_in(folder) as engine:
        stop = asyncio.Event()

        def look() -> Operation[None]:
            for _ in range(20):
                yield query("secret_names", user="")

        async def read_on() -> None:
            while not stop.is_set():
                await engine.read(look)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(read_on())
            for number in range(megabytes):
                writes = [put(f"{n}", f"{number:06}" * 10_000) for n in range(16)]
                await asyncio.gather(*[engine.write(write) for write in writes])
                longest = max(longest, (folder / f"{DATABASE}-wal").stat().st_size)
            stop.set()
    return longest


async def test_log_stays_short_under_steady_writes_and_reads(tmp_path: Path) -> None:
    assert await write_much(tmp_path, 150) < 100 * MB


async def test_log_begins_anew_beside_those_who_always_write(tmp_path: Path) -> None:
    """It does not grow until the writer has to stop for it."""
    longest: list[int] = []
    async with engine_in(tmp_path) as engine:
        length = 0

        async def write_on(key: str) -> None:
            nonlocal length
            for number in itertools.count():
                await engine.write(put(key, f"{number:06}" * 1000))
                before, length = length, engine.figures.log_pages
                if length < before:
                    longest.append(before)
                if len(longest) == 10:
                    break

        await asyncio.gather(*[write_on(f"{n}") for n in range(32)])
    assert max(longest) < LOG_LIMIT


async def test_log_that_grew_much_while_it_was_moved_is_moved_on(tmp_path: Path) -> None:
    """At once, not when it has grown by as much again: what is left for the writer is little."""
    path = tmp_path / DATABASE
    connection = connect_writer(path)
    connection.set_wal_hook(None)
    connection.rows("CREATE TABLE words (word TEXT)")
    checkpointer = Checkpointer(path)

    def write(pages: int) -> int:
        connection.rows("INSERT INTO words VALUES (zeroblob(?))", (pages * 4096,))
        return frames_in(tmp_path)

    async def is_moved(length: int) -> bool:
        return moved_in(tmp_path) == length

    async def is_moved_on(length: int) -> bool:
        checkpointer.committed(length)
        return moved_in(tmp_path) == length

    length = write(100)
    checkpointer.committed(EVERY)
    await eventually(lambda: is_moved(length))
    longer = write(2 * FEW + 100)
    assert length + FEW < longer < length + EVERY
    await eventually(lambda: is_moved_on(longer))
    checkpointer.close()
    connection.close()


def frames_in(folder: Path) -> int:
    """The pages of a log that has not begun anew."""
    return ((folder / f"{DATABASE}-wal").stat().st_size - 32) // (4096 + 24)


def moved_in(folder: Path) -> int:
    """How many of them have been moved, as SQLite notes it beside the log."""
    with (folder / f"{DATABASE}-shm").open("rb") as file:
        file.seek(96)
        return int.from_bytes(file.read(4), sys.byteorder)


async def test_log_shrinks_again_once_a_long_read_has_ended(tmp_path: Path) -> None:
    entered, until = threading.Event(), threading.Event()

    def hold() -> Operation[None]:
        yield query("secret_names", user="")
        entered.set()
        assert until.wait(DEADLINE)

    log = tmp_path / f"{DATABASE}-wal"
    async with engine_in(tmp_path) as engine:
        reading = asyncio.create_task(engine.read(hold))
        assert await asyncio.to_thread(entered.wait, DEADLINE)
        for number in range(80):
            writes = [put(f"{n}", f"{number:06}" * 10_000) for n in range(16)]
            await asyncio.gather(*[engine.write(write) for write in writes])
        grown = log.stat().st_size
        assert grown > 70 * MB
        until.set()
        await reading
        async with asyncio.timeout(DEADLINE):
            for number in itertools.count():
                await engine.write(put("key", f"{number:06}" * 10_000))
                if log.stat().st_size < grown:
                    break
        assert log.stat().st_size <= 64 * MB


async def test_log_is_gone_after_closing(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.write(put("key"))
    assert [file.name for file in tmp_path.iterdir()] == [DATABASE]
