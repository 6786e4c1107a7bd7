"""The engine on PostgreSQL: a transaction for each operation, tried again where that is safe."""

import asyncio
import contextlib
import itertools
import random
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import msgspec
import structlog

from roost.core.clock import Clock
from roost.core.errors import RoostError, StoreClosed, StoreUnavailable
from roost.core.keys import StoreAddress
from roost.core.structs import learn_structs
from roost.store.figures import CommitFigures
from roost.store.operations import Operation, SqlValue
from roost.store.postgres import dialect
from roost.store.postgres.chores import Chores, Round, Slice
from roost.store.postgres.connect import (
    CONNECT_TIMEOUT,
    Connection,
    connect,
    explain,
    fetch,
    is_lost,
    is_repeatable,
)
from roost.store.postgres.order import Order
from roost.store.postgres.pool import Pool
from roost.store.postgres.transaction import Longer, Transaction, Unsettled
from roost.store.statements import Statement
from roost.testing import faults

log = structlog.get_logger()

T = TypeVar("T")

CONNECTIONS = 16
"""To one server. They wait for the disk and for one another more than they work."""

_LIFE = "SELECT stats_reset::text FROM pg_stat_bgwriter"
"""Another after every crash, and on a server that takes over: they begin to count anew."""

_NOTIFY = """SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, word)
FROM json_array_elements_text($2::json) word"""

SILENCE = 40.0
"""Seconds after which a server that says nothing is gone: it ends every statement before that. A
network that went away would be waited for for a quarter of an hour."""

SOON = 5.0
"""The same for what is vital, at its first try: others would take this server for gone while it
waits. A second one, on a new connection, has all the time: it may be a lock that it waits for."""

PATIENCE = 15.0
"""Seconds for which an operation waits for a server that is gone: a restart or a fail-over."""


class PostgresEngine:
    """`idle` are pieces of background work, in slices. Without a `clock` the time is the
    server's."""

    def __init__(
        self,
        address: StoreAddress,
        *,
        pooled: bool,
        clock: Clock | None = None,
        idle: Sequence[Slice] = (),
        connections: int = CONNECTIONS,
    ) -> None:
        learn_structs()
        self._path = address
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._statements: Mapping[str, Statement] = dialect.load(server_clock=clock is None)
        self._pool = Pool(partial(self._connect, cached=not pooled), connections)
        self._lives: WeakKeyDictionary[Connection, SqlValue] = WeakKeyDictionary()
        self._order = Order()
        self._longer: set[str] = set()
        """Reads that asked for more than one statement: they begin with a transaction."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._closed = False
        self._commits = 0
        self._seconds = 0.0
        self._chores = Chores(idle, self._do_chores)
        self._background = asyncio.create_task(self._chores.go_on(), name="roost-chores")

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        return await self._at_home(partial(self._write_for, operation, vital))

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        return await self._at_home(partial(self._read, operation))

    async def _at_home(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Connections belong to the loop that opened them, callers may be on another."""
        if asyncio.get_running_loop() is self._loop:
            return await work()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    async def _write_for(self, operation: Callable[[], Operation[T]], vital: bool) -> T:
        began = time.monotonic()
        result = await self._to_its_end(self._write_in_order(operation, vital))
        self._commits += 1
        self._seconds += time.monotonic() - began
        self._chores.wake()
        return result

    async def _read(self, operation: Callable[[], Operation[T]]) -> T:
        if self._closed:
            raise StoreClosed
        return await self._again(partial(self._read_once, operation))

    @property
    def figures(self) -> CommitFigures:
        return CommitFigures(
            commits=self._commits,
            operations=self._commits,
            seconds=self._seconds,
            waiting=len(self._tasks),
        )

    async def notify(self, channel: str, words: Sequence[str]) -> None:
        """All in one commit: it takes a lock of the whole server. Not a word is worth a wait for
        the disk; the statement says so for that commit."""
        async with self._pool.taken() as connection:
            await fetch(connection, _NOTIFY, channel, msgspec.json.encode(words).decode())

    async def close(self) -> None:
        """Finish what was asked for, then close."""
        self._closed = True
        self._background.cancel()
        await asyncio.gather(*self._tasks, self._background, return_exceptions=True)
        await self._pool.close()

    async def _connect(self, *, cached: bool) -> Connection:
        connection = await connect(self._path, cached=cached, limit=SILENCE)
        try:
            ((self._lives[connection],),) = await fetch(connection, _LIFE)
        except BaseException:  # as when whoever asked for it has left
            with contextlib.suppress(Exception):
                await connection.close(timeout=CONNECT_TIMEOUT)
            raise
        return connection

    async def _to_its_end(self, work: Coroutine[None, None, T]) -> T:
        """Whatever becomes of the caller."""
        if self._closed:
            work.close()
            raise StoreClosed
        task = asyncio.create_task(work)
        self._tasks.add(cast(asyncio.Task[object], task))
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_take_note)
        return await asyncio.shield(task)

    async def _do_chores(self, round: Round) -> list[Slice]:
        return await self._to_its_end(self._write(round, "idle"))

    async def _write_in_order(self, operation: Callable[[], Operation[T]], vital: bool) -> T:
        # Here, and not only at the session's row: who waits there takes up a connection.
        async with self._order.turn("" if vital else _session_of(operation)):
            return await self._write(operation, "store", vital)

    async def _write(
        self, operation: Callable[[], Operation[T]], place: str, vital: bool = False
    ) -> T:
        limits = itertools.chain([SOON] if vital else [], itertools.repeat(None))
        while True:
            try:
                attempt = partial(self._write_once, operation, place, vital, limits)
                return await self._again(attempt)
            except Unsettled as unsettled:
                self._pool.drop_idle()
                if await self._was_committed(unsettled, vital):
                    return cast(T, unsettled.result)

    async def _write_once(
        self,
        operation: Callable[[], Operation[T]],
        place: str,
        vital: bool,
        limits: Iterator[float | None],
    ) -> T:
        async with self._pool.taken(vital=vital) as connection:
            try:
                return await self._transaction(connection).write(operation, place, next(limits))
            except Unsettled as unsettled:
                unsettled.life = self._lives[connection]
                raise
            except faults.FaultError as fault:
                raise StoreUnavailable(str(fault), path=self._path) from fault

    async def _read_once(self, operation: Callable[[], Operation[T]]) -> T:
        kind = _kind(operation)
        async with self._pool.taken() as connection:
            if kind not in self._longer:
                try:
                    return await self._transaction(connection).read_alone(operation)
                except Longer:
                    self._longer.add(kind)
            try:
                return await self._transaction(connection).read(operation)
            except asyncpg.ReadOnlySQLTransactionError as error:
                raise explain(error, self._path) from error  # of our own making: it tries to write

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self._statements, self._clock)

    async def _was_committed(self, unsettled: Unsettled, vital: bool) -> bool:
        """How a transaction ended whose answer was lost. One that is still under way ends soon: its
        COMMIT arrives, or the server ends it for being idle."""
        if unsettled.transaction is None:
            return False  # it had written nothing
        log.warning("the answer to a commit was lost; the server is asked how it ended")
        ask = partial(self._status, unsettled.transaction, vital)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            status, life = await self._again(ask)
            if status == "committed" and life != unsettled.life:
                # A crash forgets what was not committed, and the numbers are given out again: this
                # may be said of another. Who asks again names what is to be written.
                break
            if status != "in progress":
                return status == "committed"
            await asyncio.sleep(0.05)
        raise StoreUnavailable("it does not say whether this was written", path=self._path)

    async def _status(self, transaction: str, vital: bool) -> tuple[SqlValue, SqlValue]:
        """In one statement: behind a pooler, the next may be answered by another life."""
        async with self._pool.taken(vital=vital) as connection:
            try:
                sql = f"SELECT pg_xact_status($1::text::xid8), ({_LIFE})"
                ((status, life),) = await fetch(connection, sql, transaction)
            except asyncpg.InvalidParameterValueError:
                return "aborted", None  # the server that took over has never heard of it
            return status, life

    async def _again(self, attempt: Callable[[], Coroutine[None, None, T]]) -> T:
        """Try until it is done, refused, or hopeless: nothing of a try that fails is written."""
        deadline = time.monotonic() + PATIENCE
        tries = 0
        while True:
            tries += 1
            try:
                return await attempt()
            except (RoostError, Unsettled):
                raise
            except Exception as error:
                lost = is_lost(error)
                if lost or isinstance(error, asyncpg.InvalidCachedStatementError):
                    self._pool.drop_idle()  # the others may be as dead, or as out of date
                if lost:
                    # Once more in any case: it may have stood still all the while.
                    over = self._closed or (tries > 1 and time.monotonic() > deadline)
                else:
                    over = not is_repeatable(error, tries)
                if over:
                    if not lost and not isinstance(error, asyncpg.PostgresError):
                        raise
                    raise explain(error, self._path) from error
            await asyncio.sleep(random.uniform(0.5, 1.5) * min(0.005 * 2**tries, 0.5))  # noqa: S311


def _take_note(task: asyncio.Task[object]) -> None:
    """Of how it ended, which nobody may have waited for."""
    if not task.cancelled():
        task.exception()


def _kind(operation: Callable[[], object]) -> str:
    """What it is, whatever it is given."""
    called = operation.func if isinstance(operation, partial) else operation
    return str(getattr(called, "__qualname__", ""))


def _session_of(operation: Callable[[], object]) -> str:
    """The session that it is on: the first that it is given; empty, if it is on none."""
    if not isinstance(operation, partial):
        return ""
    given = cast("tuple[object, ...]", (*operation.args, *operation.keywords.values()))
    return next((v for v in given if isinstance(v, str) and v.startswith("ses_")), "")
