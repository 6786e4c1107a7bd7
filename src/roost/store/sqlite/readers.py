"""A few read-only connections, each used by one thread at a time."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from roost.core.clock import Clock
from roost.core.errors import StoreClosed
from roost.store.operations import Operation
from roost.store.sqlite.connect import Connection, connect_reader, explained
from roost.store.sqlite.runner import Runner
from roost.store.statements import Statement

T = TypeVar("T")

THREADS = 4


class Readers:
    def __init__(self, path: Path, statements: Mapping[str, Statement], clock: Clock) -> None:
        self._path = path
        self._statements = statements
        self._clock = clock
        self._local = threading.local()
        self._opened: list[Connection] = []
        self._threads = ThreadPoolExecutor(THREADS, "roost-reader", self._open)

    def _open(self) -> None:
        connection = connect_reader(self._path)
        self._opened.append(connection)
        self._local.connection = connection
        self._local.runner = Runner(connection, self._statements, self._clock)

    async def read(self, operation: Callable[[], Operation[T]]) -> T:
        try:
            waiting = asyncio.get_running_loop().run_in_executor(
                self._threads, self._transact, operation
            )
        except RuntimeError as error:
            raise StoreClosed from error
        return await waiting

    def _transact(self, operation: Callable[[], Operation[T]]) -> T:
        connection: Connection = self._local.connection
        runner: Runner = self._local.runner
        with explained(self._path):
            connection.rows("BEGIN")
            try:
                return runner.run(operation())
            finally:
                connection.rows("ROLLBACK")

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        for connection in self._opened:
            connection.close()
