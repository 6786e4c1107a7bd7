"""Reads: on one snapshot each, and in nobody's way."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.core.errors import Conflict
from roost.store.operations import Operation, maybe, query
from roost.store.sqlite.readers import THREADS
from tests.faults.engines import DEADLINE, engine_in, put, stored


def slow(entered: threading.Semaphore, until: threading.Event) -> Callable[[], Operation[str]]:
    """A read that takes as long as a test wants, inside its transaction."""

    def operation() -> Operation[str]:
        first = maybe((yield query("get_setting", user="", key="key")), str)
        entered.release()
        assert until.wait(DEADLINE)
        again = maybe((yield query("get_setting", user="", key="key")), str)
        return f"{first} {again}"

    return operation


async def test_slow_reads_delay_no_write(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.write(put("key", "before"))
        entered, until = threading.Semaphore(0), threading.Event()
        reading = [
            asyncio.create_task(engine.read(slow(entered, until))) for _ in range(THREADS - 1)
        ]
        for _ in reading:
            assert await asyncio.to_thread(entered.acquire, timeout=DEADLINE)
        async with asyncio.timeout(DEADLINE / 2):
            for number in range(100):
                await engine.write(put("key", f"after {number}"))
            assert await stored(engine, ["key"]) == ["key"]
        assert not any(task.done() for task in reading)
        until.set()
        # Each saw one moment throughout.
        assert await asyncio.gather(*reading) == ["before before"] * len(reading)


async def test_read_sees_every_write_that_was_answered_before(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        for number in range(50):
            key = await engine.write(put(f"key {number}"))
            assert await stored(engine, [key]) == [key]


async def test_read_that_fails_leaves_its_connection_usable(tmp_path: Path) -> None:
    def failing() -> Operation[None]:
        yield query("index_progress")
        raise Conflict("no")

    async with engine_in(tmp_path) as engine:
        for _ in range(THREADS * 2):
            with pytest.raises(Conflict):
                await engine.read(failing)
        await engine.write(put("key"))
        assert await stored(engine, ["key"]) == ["key"]


async def test_reads_cannot_write(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        with pytest.raises(Exception, match="readonly"):
            await engine.read(put("key"))
        assert await stored(engine, ["key"]) == []
