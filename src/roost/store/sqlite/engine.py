"""The engine on SQLite: one writer, a few readers, and a thread that tidies the log."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from roost.core.clock import Clock
from roost.core.errors import StoreClosed
from roost.store import statements
from roost.store.figures import CommitFigures
from roost.store.migrations import Migration
from roost.store.operations import Operation
from roost.store.sqlite.checkpointer import Checkpointer
from roost.store.sqlite.connect import connect_writer, explained
from roost.store.sqlite.pauses import Pauses
from roost.store.sqlite.readers import Readers
from roost.store.sqlite.runner import Runner
from roost.store.sqlite.schema import migrate
from roost.store.sqlite.writer import GROUP, Batch, Outcome, Writer

T = TypeVar("T")


class _Asked(msgspec.Struct, eq=False):
    """What a round of an event loop asks for, and who waits for it."""

    operations: list[Callable[[], Operation[object]]] = []
    futures: list[asyncio.Future[object]] = []


class SqliteEngine:
    """`takeover` runs once, before anything else: what a new owner does to its predecessor's rows.
    `idle` are pieces of background work, in slices, for when nobody waits."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        migrations: Sequence[Migration],
        takeover: Callable[[], Operation[None]],
        idle: Sequence[Callable[[], Operation[bool]]],
    ) -> None:
        loaded = statements.load("sqlite")
        with ExitStack() as opened:
            with explained(path):
                connection = opened.enter_context(closing(connect_writer(path)))
                migrate(connection, migrations, clock)
                runner = Runner(connection, loaded, clock)
                with connection:
                    runner.run(takeover())
                self._checkpointer = opened.enter_context(closing(Checkpointer(path)))
            self._readers = opened.enter_context(closing(Readers(path, loaded, clock)))
            self._writer = Writer(
                connection, runner, path, idle=idle, committed=self._checkpointer.committed
            )
            opened.pop_all()
        self._asked: dict[asyncio.AbstractEventLoop, _Asked] = {}
        self._pauses = Pauses()

    async def write(self, operation: Callable[[], Operation[T]], *, vital: bool = False) -> T:
        # The one writer runs all of them in order, and all that wait in one commit. It hears at
        # once of all that a round of the loop asks for: after the first, it would begin without
        # the others, and wait for the interpreter.
        loop = asyncio.get_running_loop()
        asked = self._asked.get(loop)
        if asked is None:
            asked = self._asked[loop] = _Asked()
            loop.call_soon(self._hand_over, loop)
        future: asyncio.Future[object] = loop.create_future()
        asked.operations.append(operation)
        asked.futures.append(future)
        return cast(T, await future)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = self._asked.pop(loop, None)
        if asked is None:
            return
        for begin in range(0, len(asked.operations), GROUP):
            operations = asked.operations[begin : begin + GROUP]
            settle = partial(self._settle, loop, asked.futures[begin : begin + GROUP])
            self._pauses.begin(loop)
            try:
                self._writer.submit(Batch(operations, loop, settle))
            except StoreClosed:
                settle([Outcome(error=StoreClosed()) for _ in operations])

    def _settle(
        self,
        loop: asyncio.AbstractEventLoop,
        futures: list[asyncio.Future[object]],
        outcomes: list[Outcome],
    ) -> None:
        self._pauses.end(loop)
        for future, outcome in zip(futures, outcomes, strict=True):
            if future.done():
                continue  # its caller was cancelled
            if outcome.error is not None:
                future.set_exception(outcome.error)
            else:
                future.set_result(outcome.result)

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        loop = asyncio.get_running_loop()
        self._pauses.begin(loop)
        try:
            return await self._readers.read(operation)
        finally:
            self._pauses.end(loop)

    @property
    def figures(self) -> CommitFigures:
        return self._writer.figures

    async def close(self, then: Callable[[], None] = lambda: None) -> None:
        """Finish what was asked for, then close. The last connection empties the log. All of it is
        done, with what is to be done `then`, also where the caller is cancelled."""
        self._hand_over(asyncio.get_running_loop())
        await asyncio.to_thread(self._close, then)

    def _close(self, then: Callable[[], None]) -> None:
        with ExitStack() as left:
            left.callback(then)
            left.callback(self._writer.close)
            left.callback(self._checkpointer.close)
            left.callback(self._readers.close)
