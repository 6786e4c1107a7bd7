"""The writer: one commit for all who wait, an answer for each, and nobody answered wrongly."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path

import apsw
import pytest
from structlog.testing import capture_logs

from roost.core.errors import Conflict, StoreClosed, StoreContradicted, StoreError, StoreUnavailable
from roost.store import statements
from roost.store.folder import DATABASE
from roost.store.migrations import load
from roost.store.operations import Operation, query
from roost.store.sqlite.connect import connect_reader, connect_writer
from roost.store.sqlite.runner import Runner
from roost.store.sqlite.schema import migrate
from roost.store.sqlite.writer import GROUP, LOG_LIMIT, LOG_STEP, Batch, Outcome, Pace, Writer
from roost.testing.clock import FakeClock
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


async def test_very_many_writes_are_several_commits(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        before = commits_in(tmp_path)
        keys = [f"key {number}" for number in range(2 * GROUP + 1)]
        assert await together(engine, *[put(key) for key in keys]) == keys
        assert commits_in(tmp_path) - before == 3


async def test_what_a_round_of_the_loop_asks_for_is_one_commit(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        before = commits_in(tmp_path)
        for _ in range(10):
            await asyncio.gather(*[engine.write(put(key)) for key in KEYS])
        # Twice as many, where the system stops the loop while it hands them over.
        assert commits_in(tmp_path) - before <= 10 * 2


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


async def test_bug_in_an_operation_is_logged_once(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        with capture_logs() as logs:
            await together(engine, put("first"), raising("second", ValueError("a bug")))
            await together(engine, raising("alone", ValueError("a bug")))
        assert [entry["event"] for entry in logs] == ["a store operation failed"] * 2


async def test_operation_sees_what_those_before_it_in_the_group_did(tmp_path: Path) -> None:
    """Also where the group had to be run again, because one of them failed."""

    def count() -> Operation[int]:
        rows = yield query("get_setting", user="", key="count")
        value = int(str(rows[0][0])) + 1 if rows else 1
        yield query("put_setting", user="", key="count", value=str(value))
        return value

    async with engine_in(tmp_path) as engine:
        assert await together(engine, count, count, count) == [1, 2, 3]
        *counted, failed = await together(engine, count, count, raising("x", Conflict("no")))
        assert counted == [4, 5]
        assert isinstance(failed, Conflict)
        assert await engine.write(count) == 6


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
        assert isinstance(third, StoreContradicted)
        assert await engine.write(put("later")) == "later"
    keys = ["first", "malformed", "orphaned", "fourth", "later"]
    assert await reopened(tmp_path, keys) == ["first", "fourth", "later"]


async def test_broken_constraint_is_told_in_words_and_logged_as_it_is(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        with (
            capture_logs() as logs,
            pytest.raises(StoreContradicted, match=r"^This does not go with what is stored"),
        ):
            await engine.write(orphaned)
    assert "FOREIGN KEY" in str(logs[0]["exc_info"])


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


async def test_caller_who_left_is_not_refused_in_place_of_others(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        await engine.close()
        leaving = asyncio.create_task(engine.write(put("leaving")))
        waiting = asyncio.create_task(engine.write(put("waiting")))
        await asyncio.sleep(0)  # asked for, and not handed over
        leaving.cancel()
        async with asyncio.timeout(DEADLINE):
            with pytest.raises(StoreClosed):
                await waiting


async def test_what_was_asked_for_just_before_closing_is_done(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        asking = asyncio.create_task(engine.write(put("last")))
        closing = asyncio.create_task(engine.close())  # in the same round of the loop
        asyncio.get_running_loop().call_soon(until_the_writer_has_gone)  # and there is no other
        assert await asking == "last"
        await closing
    assert await reopened(tmp_path, ["last"]) == ["last"]


def until_the_writer_has_gone() -> None:
    for thread in threading.enumerate():
        if thread.name == "roost-writer":
            thread.join(DEADLINE)


async def test_what_waits_beside_the_end_is_done_before_it(tmp_path: Path) -> None:
    writer, loop = writer_in(tmp_path), asyncio.get_running_loop()
    closing = threading.Thread(target=writer.close)
    answered: asyncio.Future[list[Outcome]] = loop.create_future()

    def closed_meanwhile() -> Operation[None]:
        yield query("index_progress")
        writer.submit(Batch([put("last")], loop, answered.set_result))
        closing.start()
        with suppress(StoreClosed):
            while True:
                writer.submit(Batch([], loop, lambda outcomes: None))

    writer.submit(Batch([closed_meanwhile], loop, lambda outcomes: None))
    async with asyncio.timeout(DEADLINE):
        assert await answered == [Outcome("last")]
    closing.join()
    assert await reopened(tmp_path, ["last"]) == ["last"]


async def test_background_work_gets_its_share_while_somebody_always_waits(tmp_path: Path) -> None:
    slices = 0

    def idle() -> Operation[bool]:
        nonlocal slices
        slices += 1
        yield query("index_progress")
        return True

    async with engine_in(tmp_path, idle=(idle,)) as engine:
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


async def test_background_work_gets_no_more_than_its_share_where_somebody_always_waits(
    tmp_path: Path,
) -> None:
    spans: list[tuple[float, float]] = []

    def idle() -> Operation[bool]:
        began = time.monotonic()
        while time.monotonic() < began + 0.002:
            yield query("index_progress")
        spans.append((began, time.monotonic()))
        return True

    never_quiet = Pace(quiet=DEADLINE, patience=0)
    writer, loop = writer_in(tmp_path, idle=[idle], pace=never_quiet), asyncio.get_running_loop()
    while len(spans) < 4:
        answered: asyncio.Future[list[Outcome]] = loop.create_future()
        writer.submit(Batch([put("key")], loop, answered.set_result))
        await answered
    writer.close()
    for (began, ended), (next_began, _) in pairwise(spans):
        assert next_began - ended > 15 * (ended - began)


async def test_background_work_that_fails_is_logged_and_stops_no_other(tmp_path: Path) -> None:
    done: list[str] = []

    def working() -> Operation[bool]:
        yield query("put_setting", user="", key="worked", value="1")
        done.append("worked")
        return len(done) < 5

    broken = [raised_by(Conflict("refused")), raised_by(ValueError("a bug")), poisoned]
    with capture_logs() as logs:
        async with engine_in(tmp_path, idle=[*broken, working]) as engine:
            deadline = time.monotonic() + DEADLINE
            while len(done) < 5:
                assert time.monotonic() < deadline
                await engine.write(put("another"))
    failed = [entry for entry in logs if entry["event"] == "background work on the store failed"]
    assert len(failed) == 3, "each once, and then left alone for a while"
    assert await reopened(tmp_path, ["worked", "failed"]) == ["worked"]


def raised_by(error: Exception) -> Callable[[], Operation[bool]]:
    def failing() -> Operation[bool]:
        yield query("put_setting", user="", key="failed", value="1")
        raise error

    return failing


def poisoned() -> Operation[bool]:
    yield from malformed()
    return True


async def test_background_work_is_looked_at_again_where_nobody_writes(tmp_path: Path) -> None:
    looked = threading.Semaphore(0)

    def idle() -> Operation[bool]:
        yield query("index_progress")
        looked.release()
        return False

    writer = writer_in(tmp_path, idle=[idle], pace=Pace(rest=0.001))
    for _ in range(3):
        assert await asyncio.to_thread(looked.acquire, timeout=DEADLINE)
    writer.close()


async def test_background_work_does_not_begin_right_after_an_answer(tmp_path: Path) -> None:
    begun: list[str] = []

    def idle() -> Operation[bool]:
        yield query("index_progress")
        begun.append("begun")
        return False

    never = Pace(quiet=DEADLINE, patience=DEADLINE)
    writer, loop = writer_in(tmp_path, idle=[idle], pace=never), asyncio.get_running_loop()
    for key in KEYS[:3]:
        answered: asyncio.Future[list[Outcome]] = loop.create_future()
        writer.submit(Batch([put(key)], loop, answered.set_result))
        assert await answered == [Outcome(key)]
    writer.close()
    assert begun == []


def writer_in(
    folder: Path,
    *,
    idle: Sequence[Callable[[], Operation[bool]]] = (),
    pace: Pace = Pace(),  # noqa: B008 (it is frozen)
) -> Writer:
    """By itself: nobody empties the log beside it."""
    path = folder / DATABASE
    connection, clock = connect_writer(path), FakeClock()
    migrate(connection, load("sqlite"), clock)
    runner = Runner(connection, statements.load("sqlite"), clock)
    return Writer(connection, runner, path, idle=idle, committed=lambda pages: False, pace=pace)


async def test_writer_empties_a_long_log_itself(tmp_path: Path) -> None:
    """That is another's work, who may not get to it."""
    writer = writer_in(tmp_path)
    for _ in range(2):  # emptied once, it may grow as long again, and no longer
        longest = await longest_log(writer)
        assert LOG_LIMIT // 2 < longest < LOG_LIMIT + LOG_STEP, "that early it is not its work"
    await asyncio.to_thread(writer.close)


async def test_writer_tries_again_soon_where_a_long_read_held_on_to_the_log(
    tmp_path: Path,
) -> None:
    writer = writer_in(tmp_path)
    reader = connect_reader(tmp_path / DATABASE)
    reader.rows("BEGIN")
    reader.rows("SELECT count(*) FROM settings")
    while writer.figures.log_pages < LOG_LIMIT + LOG_STEP:
        await write_much(writer)
    reader.close()
    assert await longest_log(writer) < LOG_LIMIT + 3 * LOG_STEP
    await asyncio.to_thread(writer.close)


async def test_writer_empties_the_log_beside_background_work_too(tmp_path: Path) -> None:
    """Deleting much would fill the disk otherwise, where nobody writes."""
    done, slices = threading.Event(), count(1)

    def idle() -> Operation[bool]:
        number = next(slices)
        for key in KEYS:
            yield query("put_setting", user="", key=key, value=f"{number:06}" * 10_000)
        if number == 25:
            done.set()
        return number < 25

    writer = writer_in(tmp_path, idle=[idle])
    assert await asyncio.to_thread(done.wait, DEADLINE)
    log_bytes = (tmp_path / f"{DATABASE}-wal").stat().st_size
    await asyncio.to_thread(writer.close)
    assert log_bytes < 1.2 * LOG_LIMIT * 4096


async def test_writer_empties_the_log_as_early_as_ever_once_a_long_read_has_ended(
    tmp_path: Path,
) -> None:
    """While that held on to the log, it was left to grow; then it began anew by itself."""
    writer, path = writer_in(tmp_path), tmp_path / DATABASE
    reader = connect_reader(path)
    reader.rows("BEGIN")
    reader.rows("SELECT count(*) FROM settings")
    while writer.figures.log_pages < LOG_LIMIT + LOG_STEP:
        await write_much(writer)
    reader.rows("ROLLBACK")
    reader.close()
    checkpointer = connect_writer(path)
    checkpointer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    checkpointer.close()
    await write_much(writer)
    assert writer.figures.log_pages < LOG_LIMIT
    assert await longest_log(writer) < LOG_LIMIT + LOG_STEP
    await asyncio.to_thread(writer.close)


async def longest_log(writer: Writer) -> int:
    """How many pages it has when it is emptied next."""
    lengths = [0]
    while lengths[-1] >= max(lengths):
        await write_much(writer)
        lengths.append(writer.figures.log_pages)
    return max(lengths)


async def write_much(writer: Writer) -> None:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[list[Outcome]] = loop.create_future()
    value = f"{writer.figures.commits:06}" * 10_000
    writer.submit(Batch([put(key, value) for key in KEYS], loop, answered.set_result))
    await answered


async def test_nobody_waits_for_a_writer_that_died(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        async with asyncio.timeout(DEADLINE):
            answers = await together(
                engine, put("before"), raising("deadly", SystemExit()), put("after")
            )
        assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
        with pytest.raises(StoreClosed):
            await engine.write(put("late"))
    assert await reopened(tmp_path, ["before", "deadly", "after", "late"]) == []


async def test_commits_are_counted_with_what_they_hold(tmp_path: Path) -> None:
    async with engine_in(tmp_path) as engine:
        assert (engine.figures.commits, engine.figures.operations) == (0, 0)
        await together(engine, put("a"), put("b"), put("c"))
        figures = engine.figures
        # What keeps the writer busy until all are there is one of its own.
        assert (figures.commits, figures.operations, figures.waiting) == (2, 4, 0)
        assert figures.seconds > 0
        assert figures.log_pages > 0
