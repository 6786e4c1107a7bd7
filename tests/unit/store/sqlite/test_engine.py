"""The engine: opened as a whole or not at all, and closed to the end."""

import asyncio
import threading
from pathlib import Path

import pytest

from roost.store.folder import DATABASE
from roost.store.migrations import load
from roost.store.sqlite.engine import SqliteEngine
from roost.testing.clock import FakeClock
from tests.faults.engines import DEADLINE, engine_in, nothing, put, reopened


def engine_at(folder: Path) -> SqliteEngine:
    path = folder / DATABASE
    return SqliteEngine(path, FakeClock(), migrations=load("sqlite"), takeover=nothing, idle=())


async def test_close_that_is_cancelled_is_done_all_the_same(tmp_path: Path) -> None:
    others, freed = store_threads(), threading.Event()
    engine = engine_at(tmp_path)
    asking = asyncio.create_task(engine.write(put("last")))
    closing = asyncio.create_task(engine.close(then=freed.set))
    await asyncio.sleep(0)  # both have begun
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert await asking == "last"
    assert await asyncio.to_thread(freed.wait, DEADLINE)
    assert store_threads() <= others
    assert await reopened(tmp_path, ["last"]) == ["last"]


async def test_open_that_fails_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, start = store_threads(), threading.Thread.start

    def start_but_no_writer(thread: threading.Thread) -> None:
        if thread.name == "roost-writer":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_but_no_writer)
    with pytest.raises(RuntimeError):
        engine_at(tmp_path)
    monkeypatch.undo()
    assert store_threads() <= others
    async with engine_in(tmp_path) as engine:
        assert await engine.write(put("later")) == "later"


def store_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("roost-")}
