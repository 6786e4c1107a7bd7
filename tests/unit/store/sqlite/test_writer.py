"""The writer: one commit for all who wait, an answer for each, and nobody answered wrongly."""

import asyncio
import logging
import time
from pathlib import Path

import pytest

from roost.core.errors import Conflict, StoreClosed, StoreError
from roost.store.operations import Operation, query
from tests.faults.engines import (
    DEADLINE,
    Gate,
    asked,
    commits_in,
    engine_in,
    put,
    raising,
    reopened,
    stored,
    together,
)

KEYS = [f"key {number}" for number in range(64)]


async def test_concurrent_writes_become_one_commit(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        before = commits_in(tmp_path)
        answers = await together(engine, *[put(key) for key in KEYS])
        assert answers == KEYS
        # The gate's own transaction wrote nothing, and so leaves no commit.
        assert commits_in(tmp_path) - before == 1


async def test_writes_without_a_gate_share_commits_too(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        before = commits_in(tmp_path)
        for _ in range(10):
            await asyncio.gather(*[engine.write(put(key)) for key in KEYS])
        assert commits_in(tmp_path) - before <= 10 * 8


async def test_operation_that_raises_takes_back_its_own_writes_only(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        before = commits_in(tmp_path)
        first, second, third, fourth = await together(
            engine,
            put("first"),
            raising("second", Conflict("no")),
            raising("third", ValueError("a bug")),
            put("fourth"),
        )
        assert (first, fourth) == ("first", "fourth")
        assert isinstance(second, Conflict)
        assert isinstance(third, ValueError)
        assert commits_in(tmp_path) - before == 1
    keys = ["first", "second", "third", "fourth"]
    assert await reopened(tmp_path, keys) == ["first", "fourth"]


def malformed() -> Operation[str]:
    """SQLite refuses the statement, not a row: nobody says what became of the transaction."""
    yield query("put_setting", user="", key="malformed", value="1")
    yield query("index_messages", batch="{")
    return "malformed"


def orphaned() -> Operation[str]:
    """Breaks a constraint."""
    yield query("put_setting", user="", key="orphaned", value="1")
    yield query("open_epoch", session="ses_none", epoch=1, kind="undo", revision=1, detail="{}")
    return "orphaned"


async def test_poisoned_operation_fails_alone(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        first, second, third, fourth = await together(
            engine, put("first"), malformed, orphaned, put("fourth")
        )
        assert (first, fourth) == ("first", "fourth")
        assert isinstance(second, StoreError)
        assert isinstance(third, StoreError)
        assert await engine.write(put("later")) == "later"
    keys = ["first", "malformed", "orphaned", "fourth", "later"]
    assert await reopened(tmp_path, keys) == ["first", "fourth", "later"]


async def test_cancelled_callers_operation_still_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with engine_in(tmp_path) as engine:
        gate = Gate()
        holding = await gate.close(engine)
        cancelled, failing, waiting = await asked(
            [
                engine.write(put("cancelled")),
                engine.write(raising("failing", Conflict("no"))),
                engine.write(put("waiting")),
            ]
        )
        cancelled.cancel()
        failing.cancel()
        gate.open()
        await holding
        assert await waiting == "waiting"
        for task in (cancelled, failing):
            with pytest.raises(asyncio.CancelledError):
                await task
        keys = ["cancelled", "failing", "waiting"]
        assert await stored(engine, keys) == ["cancelled", "waiting"]
    assert complaints == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_caller_whose_loop_has_closed_holds_up_nobody(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        gate = Gate()
        holding = await gate.close(engine)

        def ask_and_leave() -> None:
            async def ask() -> None:
                (task,) = await asked([engine.write(put("gone"))])
                task.cancel()
                await asyncio.wait([task])

            asyncio.run(ask())

        await asyncio.to_thread(ask_and_leave)
        (waiting,) = await asked([engine.write(put("waiting"))])
        gate.open()
        await holding
        assert await waiting == "waiting"
    assert await reopened(tmp_path, ["gone", "waiting"]) == ["gone", "waiting"]


async def test_closing_finishes_what_was_asked_for_and_refuses_what_comes_after(
    tmp_path: Path,
) -> None:
    async with engine_in(tmp_path) as engine:
        gate = Gate()
        holding = await gate.close(engine)
        waiting = await asked([engine.write(put(key)) for key in KEYS])
        closing = asyncio.create_task(engine.close())
        gate.open()
        await holding
        assert await asyncio.gather(*waiting) == KEYS
        await closing
        with pytest.raises(StoreClosed):
            await engine.write(put("late"))
        with pytest.raises(StoreClosed):
            await stored(engine, KEYS)
    assert await reopened(tmp_path, [*KEYS, "late"]) == KEYS


async def test_background_work_gets_its_share_while_somebody_always_waits(tmp_path: Path) -> None:
    slices = 0

    def idle() -> Operation[bool]:
        nonlocal slices
        slices += 1
        yield query("index_progress")
        return True

    async with engine_in(tmp_path, idle=idle) as engine:
        stop = asyncio.Event()

        async def write_on(key: str) -> None:
            while not stop.is_set():
                await engine.write(put(key))

        async with asyncio.TaskGroup() as tasks:
            for key in KEYS[:8]:
                tasks.create_task(write_on(key))
            deadline = time.monotonic() + DEADLINE
            while slices < 50:
                assert time.monotonic() < deadline, "background work starves"
                await engine.write(put("another"))
            stop.set()
