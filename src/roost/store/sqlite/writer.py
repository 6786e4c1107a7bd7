"""The one thread that writes: it takes all pending operations, commits once, then answers."""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import apsw
import msgspec
import structlog

from roost.core.errors import RoostError, StoreClosed, StoreUnavailable
from roost.store.figures import CommitFigures
from roost.store.operations import Operation
from roost.store.sqlite.checkpointer import move
from roost.store.sqlite.connect import BUSY_TIMEOUT, Connection, explain
from roost.store.sqlite.runner import Runner
from roost.testing import faults

log = structlog.get_logger()

GROUP = 256
"""The most operations in a batch, and those after which a commit takes no more: bounds how long the
first of them waits for the last."""

IDLE_SHARE = 0.05
"""How much of the time background work gets even if somebody always waits: search follows a steady
stream of messages too."""

RETRY = 5.0
"""Seconds for which a piece of background work that failed is left alone."""

LOG_LIMIT = 16_000
"""Pages of write-ahead log at which the writer itself stops to empty it."""

LOG_STEP = 2_000
"""Pages after which it tries again, where a long read held on to the log."""

LOG_PATIENCE = 20
"""Milliseconds for which it waits for short reads to let go."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """When background work begins, in seconds: after `quiet` without an operation, or, where no
    moment is quiet, after `patience`. Whoever writes now and then is not held up by it: right after
    an answer it would keep the interpreter from those who are answered. It is looked at again after
    `rest` where nobody writes: some becomes due by the clock."""

    quiet: float = 0.005
    patience: float = 0.02
    rest: float = 60.0


class Outcome(msgspec.Struct, frozen=True):
    result: object = None
    error: Exception | None = None


class Batch(msgspec.Struct, frozen=True, eq=False):
    """Operations that an event loop asked for together. It is told by `answer` what became of each:
    one wake-up, however many of its tasks are waiting."""

    operations: list[Callable[[], Operation[object]]]
    loop: asyncio.AbstractEventLoop
    answer: Callable[[list[Outcome]], None]


class _Chore(msgspec.Struct, eq=False):
    """A piece of background work, and when it may run."""

    slice: Callable[[], Operation[bool]]
    more: bool = True
    not_before: float = 0.0


class _TransactionEnded(Exception):
    """The transaction is gone, and with it every operation of the group."""

    def __init__(self, cause: RoostError) -> None:
        self.cause = cause


class Writer:
    """`idle` are pieces of background work, run in slices when nobody waits, each slice in its own
    transaction; they say whether more is left. `committed` is told after every commit how many
    pages the write-ahead log holds, and says whether the last of them are to be moved now."""

    def __init__(
        self,
        connection: Connection,
        runner: Runner,
        path: Path,
        *,
        idle: Sequence[Callable[[], Operation[bool]]],
        committed: Callable[[int], bool],
        pace: Pace = Pace(),  # noqa: B008 (it is frozen)
    ) -> None:
        self._connection = connection
        self._runner = runner
        self._path = path
        self._idle = [_Chore(slice) for slice in idle]
        self._committed = committed
        self._pace = pace
        self._taken: list[Batch] = []
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._submitted = self._begun = 0
        self._door = threading.Lock()
        self._closed = False
        self._log_pages = 0
        self._log_is_moved = False
        self._log_limit = LOG_LIMIT
        self._commits = self._operations = 0
        self._seconds = 0.0
        connection.set_wal_hook(self._on_commit)
        self._thread = threading.Thread(target=self._run, name="roost-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> None:
        with self._door:
            if self._closed:
                raise StoreClosed
            self._submitted += len(batch.operations)
            self._batches.put(batch)

    @property
    def figures(self) -> CommitFigures:
        """Taken while the thread works: they may be a commit apart from one another."""
        return CommitFigures(
            commits=self._commits,
            operations=self._operations,
            seconds=self._seconds,
            waiting=self._submitted - self._begun,
            log_pages=self._log_pages,
        )

    def close(self) -> None:
        """Finish what was submitted, then stop. Blocks until that is done."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._batches.put(None)
        self._thread.join()

    # Everything below runs on the writer's thread.

    def _run(self) -> None:
        try:
            self._work()
        except BaseException:
            log.critical("the store's writer died; restart Roost", exc_info=True)
            self._abandon()
        finally:
            self._connection.close()

    def _work(self) -> None:
        pace, more, quiet, due = self._pace, True, True, 0.0
        while True:
            batches, closing = self._take(pace.quiet if more else pace.rest)
            if batches:
                self._taken = batches
                began = time.monotonic()
                if quiet:
                    due = max(due, began + pace.patience)
                operations = [each for batch in batches for each in batch.operations]
                self._begun += len(operations)
                outcomes = self._commit(operations)
                self._count(len(operations), time.monotonic() - began)
                # Those who are answered want the interpreter: little is left to do after it.
                self._answer(batches, outcomes)
                self._taken = []
                self._tidy_log()
            if closing:
                break
            if batches or not more:
                self._wake_chores()
                more = True
            quiet = not batches
            if quiet or time.monotonic() >= due:
                began = time.monotonic()
                more = self._run_idle()
                self._tidy_log()
                ended = time.monotonic()
                due = ended + (ended - began) * (1 / IDLE_SHARE - 1)

    def _count(self, operations: int, seconds: float) -> None:
        self._commits += 1
        self._operations += operations
        self._seconds += seconds

    def _abandon(self) -> None:
        """Nobody may wait for an answer that never comes."""
        with self._door:
            self._closed = True
        batches = self._taken
        with contextlib.suppress(queue.Empty):
            while True:
                batch = self._batches.get_nowait()
                if batch is not None:
                    batches.append(batch)
        error = StoreUnavailable("its writer died; restart Roost", path=self._path)
        self._answer(batches, [Outcome(error=error) for batch in batches for _ in batch.operations])

    def _take(self, timeout: float | None) -> tuple[list[Batch], bool]:
        """What is there, after waiting for the first; and whether this is the end."""
        batches: list[Batch] = []
        operations = 0
        try:
            batch = self._batches.get(timeout=timeout)
            while batch is not None:
                batches.append(batch)
                operations += len(batch.operations)
                if operations >= GROUP or self._batches.empty():
                    return batches, False
                batch = self._batches.get_nowait()
        except queue.Empty:
            return batches, False
        return batches, True

    def _commit(self, operations: list[Callable[[], Operation[object]]]) -> list[Outcome]:
        try:
            return self._transact(operations, "store")
        except _TransactionEnded as ended:
            if len(operations) == 1:
                return [Outcome(error=ended.cause)]
        # Nobody has been answered. One of them may be what broke it, so each gets its own try.
        return [outcome for operation in operations for outcome in self._commit([operation])]

    def _transact(
        self, operations: list[Callable[[], Operation[object]]], place: Literal["store", "idle"]
    ) -> list[Outcome]:
        try:
            self._connection.rows("BEGIN IMMEDIATE")
            outcomes = self._run_all(operations)
            faults.reach(f"{place}.commit.before")
            self._connection.rows("COMMIT")
        except apsw.Error as error:
            self._roll_back()
            raise _TransactionEnded(explain(error, self._path)) from error
        except faults.FaultError as fault:
            self._roll_back()
            raise _TransactionEnded(StoreUnavailable(str(fault), path=self._path)) from fault
        try:
            faults.reach(f"{place}.commit.after")
        except faults.FaultError as fault:
            return [Outcome(error=StoreUnavailable(str(fault), path=self._path))] * len(outcomes)
        return outcomes

    def _run_all(self, operations: list[Callable[[], Operation[object]]]) -> list[Outcome]:
        """At first without savepoints, which cost a tenth of the time: few operations ever fail,
        and if one does, the whole group is run again, each guarded."""
        run = self._runner.run
        try:
            return [Outcome(run(operation())) for operation in operations]
        except Exception as error:
            if _ends_transaction(error):
                raise
        self._connection.rows("ROLLBACK")
        self._connection.rows("BEGIN IMMEDIATE")
        return [self._run_guarded(operation) for operation in operations]

    def _run_guarded(self, operation: Callable[[], Operation[object]]) -> Outcome:
        """In a savepoint, so that one that fails leaves nothing behind and takes nobody along."""
        self._connection.rows("SAVEPOINT operation")
        try:
            outcome = Outcome(self._runner.run(operation()))
        except Exception as error:
            if _ends_transaction(error):
                raise
            self._connection.rows("ROLLBACK TO operation")
            outcome = Outcome(error=self._told(error))
        self._connection.rows("RELEASE operation")
        return outcome

    def _told(self, error: Exception) -> Exception:
        """What its caller is told; the log hears of what nobody expected."""
        if isinstance(error, apsw.Error):
            return explain(error, self._path)
        if not isinstance(error, RoostError):
            log.error("a store operation failed", exc_info=error)
        return error

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.rows("ROLLBACK")
        except apsw.Error:
            log.exception("the store could not roll back; it is tried again")

    def _wake_chores(self) -> None:
        now = time.monotonic()
        for chore in self._idle:
            chore.more = now >= chore.not_before

    def _run_idle(self) -> bool:
        """A slice of each; whether any has more."""
        for chore in self._idle:
            if chore.more:
                self._run_chore(chore)
        return any(chore.more for chore in self._idle)

    def _run_chore(self, chore: _Chore) -> None:
        try:
            (outcome,) = self._transact([chore.slice], "idle")
        except _TransactionEnded as ended:
            outcome = Outcome(error=ended.cause)
        chore.more = outcome.result is True
        if outcome.error is not None:
            chore.not_before = time.monotonic() + RETRY
            log.error("background work on the store failed", exc_info=outcome.error)

    def _on_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._log_pages:  # it began anew by itself
            self._log_limit = LOG_LIMIT
        self._log_pages = pages
        self._log_is_moved |= self._committed(pages)
        return apsw.SQLITE_OK

    def _tidy_log(self) -> None:
        try:
            if self._log_is_moved:
                self._log_is_moved = False
                move(self._connection)
            if self._log_pages >= self._log_limit:
                self._empty_log()
        except apsw.BusyError:
            pass  # it is being moved already, or read
        except apsw.Error:
            log.warning("the write-ahead log is long and can't be emptied", exc_info=True)

    def _empty_log(self) -> None:
        self._connection.set_busy_timeout(LOG_PATIENCE)
        self._log_limit = self._log_pages + LOG_STEP
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            self._log_pages, self._log_limit = 0, LOG_LIMIT
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT)

    def _answer(self, batches: list[Batch], outcomes: list[Outcome]) -> None:
        left = iter(outcomes)
        for batch in batches:
            answers = list(islice(left, len(batch.operations)))
            try:
                batch.loop.call_soon_threadsafe(batch.answer, answers)
            except RuntimeError:
                log.warning("a caller's event loop closed before its answer", answers=len(answers))


def _ends_transaction(error: Exception) -> bool:
    """Most of SQLite's errors (a full disk, a failing read) end the whole transaction there; the
    rest are treated alike, but for a constraint that an operation broke."""
    return isinstance(error, apsw.Error) and not isinstance(error, apsw.ConstraintError)
