"""A few read-only connections, each used by one thread at a time."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from roost.core.clock import Clock
from roost.core.errors import StoreClosed
from roost.core.structs import learn_structs
from roost.store.operations import Operation
from roost.store.sqlite.connect import Connection, connect_reader, explained
from roost.store.sqlite.runner import Runner
from roost.store.statements import Statement

T = TypeVar("T")

THREADS = 4


class _Local(threading.local):
    connection: Connection | None = None


class Readers:
    def __init__(self, path: Path, statements: Mapping[str, Statement], clock: Clock) -> None:
        learn_structs()
        self._path = path
        self._statements = statements
        self._clock = clock
        self._local = _Local()
        self._opened: list[Connection] = []
        self._threads = ThreadPoolExecutor(THREADS, "roost-reader")

    def _connect(self) -> Connection:
        """This thread's connection. One that can't be opened now may be at the next read."""
        if self._local.connection is None:
            self._local.connection = connect_reader(self._path)
            self._opened.append(self._local.connection)
        return self._local.connection

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        try:
            waiting = asyncio.get_running_loop().run_in_executor(
                self._threads, self._transact, operation
            )
        except RuntimeError as error:
            raise StoreClosed from error
        return await waiting

    def _transact(self, operation: Callable[[], Operation[T]]) -> T:
        with explained(self._path):
            connection = self._connect()
            connection.rows("BEGIN")
            try:
                return Runner(connection, self._statements, self._clock).run(operation())
            finally:
                # Some errors end the transaction by themselves.
                if connection.in_transaction:
                    connection.rows("ROLLBACK")

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        for connection in self._opened:
            connection.close()
