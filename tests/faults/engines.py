"""An engine with operations of the tests' own, and a gate that makes a group of those that wait."""

import asyncio
import struct
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from roost.store.folder import DATABASE
from roost.store.migrations import load
from roost.store.operations import Operation, maybe, query
from roost.store.sqlite.engine import SqliteEngine
from roost.testing.clock import FakeClock

DEADLINE = 60.0

T = TypeVar("T")


def nothing() -> Operation[None]:
    yield query("index_progress")


def rested() -> Operation[bool]:
    yield query("index_progress")
    return False


@asynccontextmanager
async def engine_in(
    folder: Path, *, idle: Sequence[Callable[[], Operation[bool]]] = (rested,)
) -> AsyncGenerator[SqliteEngine]:
    path = folder / DATABASE
    migrations = [] if path.exists() else load("sqlite")
    engine = SqliteEngine(path, FakeClock(), migrations=migrations, takeover=nothing, idle=idle)
    try:
        yield engine
    finally:
        await engine.close()


def put(key: str, value: str = "1") -> Callable[[], Operation[str]]:
    def operation() -> Operation[str]:
        yield query("put_setting", user="", key=key, value=value)
        return key

    return operation


def raising(key: str, error: BaseException) -> Callable[[], Operation[str]]:
    """Writes, and then fails."""

    def operation() -> Operation[str]:
        yield query("put_setting", user="", key=key, value="1")
        raise error

    return operation


async def stored(engine: SqliteEngine, keys: Sequence[str]) -> list[str]:
    def operation() -> Operation[list[str]]:
        found: set[str] = set()
        for key in keys:
            if maybe((yield query("get_setting", user="", key=key)), str) is not None:
                found.add(key)
        return [key for key in keys if key in found]

    return await engine.read(operation)


async def reopened(folder: Path, keys: Sequence[str]) -> list[str]:
    """Which of the keys are there for the next owner."""
    async with engine_in(folder) as engine:
        return await stored(engine, keys)


class Gate:
    """Holds the writer's thread, so that what is asked for meanwhile becomes one group."""

    def __init__(self) -> None:
        self._entered = threading.Event()
        self._opened = threading.Event()

    def operation(self) -> Operation[None]:
        yield query("index_progress")
        self._entered.set()
        assert self._opened.wait(DEADLINE)

    async def close(self, engine: SqliteEngine) -> "asyncio.Task[None]":
        holding = asyncio.create_task(engine.write(self.operation))
        assert await asyncio.to_thread(self._entered.wait, DEADLINE)
        return holding

    def open(self) -> None:
        self._opened.set()


async def together(
    engine: SqliteEngine, *operations: Callable[[], Operation[T]]
) -> list[T | BaseException]:
    """Run them as one group; what each of them was answered."""
    gate = Gate()
    holding = await gate.close(engine)
    waiting = await asked([engine.write(operation) for operation in operations])
    gate.open()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)


async def asked(calls: "Sequence[Coroutine[None, None, T]]") -> "list[asyncio.Task[T]]":
    """Start the calls, up to where each has its operation in the writer's queue."""
    tasks = [asyncio.create_task(call) for call in calls]
    for _ in ("asked for", "handed over"):
        await asyncio.sleep(0)
    return tasks


def commits_in(folder: Path) -> int:
    """How many commits the write-ahead log holds, read from its bytes."""
    log = (folder / f"{DATABASE}-wal").read_bytes()
    if len(log) < 32:
        return 0
    page_size = int.from_bytes(log[8:12])
    salts = log[16:24]
    count = 0
    for start in range(32, len(log) - 24, 24 + page_size):
        (size_after,) = struct.unpack_from(">I", log, start + 4)
        if log[start + 8 : start + 16] != salts:
            break
        count += size_after != 0
    return count
