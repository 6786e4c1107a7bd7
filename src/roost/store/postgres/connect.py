"""Connections to PostgreSQL, and the words for what it refuses."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import structlog
from asyncpg.exceptions import ClientConfigurationError  # pyright: ignore[reportMissingTypeStubs]

from roost.core.errors import (
    InvalidInput,
    RoostError,
    StoreContradicted,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from roost.core.keys import StoreAddress
from roost.store.operations import Row, Rows, SqlValue

log = structlog.get_logger()

CONNECT_TIMEOUT = 5

_ALIVE = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 35_000}
"""In seconds, but for the last, which is in milliseconds, and for what was sent."""


class Version(Protocol):
    @property
    def major(self) -> int: ...


class Connection(Protocol):
    """asyncpg's, with the types that it does not have itself."""

    async def execute(
        self,
        query: str,
        *args: SqlValue,
        timeout: float | None = None,  # noqa: ASYNC109 (asyncpg's)
    ) -> str: ...
    async def fetch(self, query: str, *args: SqlValue) -> Sequence[Iterable[SqlValue]]: ...
    async def copy_records_to_table(
        self, table_name: str, *, records: Iterable[Row], columns: Sequence[str]
    ) -> str: ...
    def cursor(self, query: str, *, prefetch: int) -> AsyncIterable[Iterable[SqlValue]]: ...
    def is_closed(self) -> bool: ...
    def is_in_transaction(self) -> bool: ...
    def terminate(self) -> None: ...
    async def close(self, *, timeout: float) -> None: ...  # noqa: ASYNC109 (asyncpg's)
    def get_server_pid(self) -> int: ...
    def get_server_version(self) -> Version: ...
    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...


_LOST = (
    OSError,  # TimeoutError and what the network says are among them
    asyncpg.InterfaceError,  # the connection was closed under way
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TransactionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # after a fail-over, at one that is no longer the first
    asyncpg.TooManyConnectionsError,
)
_REPEATABLE: dict[type[Exception], int] = {
    asyncpg.SerializationError: 12,
    asyncpg.DeadlockDetectedError: 12,
    asyncpg.InvalidCachedStatementError: 12,  # each connection has its own
    asyncpg.UniqueViolationError: 3,  # another came first with the same, which can be seen now
}
"""How often each is worth a try."""


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more."""
    # One that is a ValueError too says that a value does not fit its parameter.
    return isinstance(error, _LOST) and not isinstance(error, ValueError)


def is_repeatable(error: Exception, tries: int) -> bool:
    """Whether nothing was written, and another try may go well at once."""
    return tries < _REPEATABLE.get(type(error), 1)


async def connect(address: StoreAddress, *, cached: bool, limit: float | None = None) -> Connection:
    """`cached` keeps prepared statements from one transaction to the next. Behind a pooler each may
    run on another connection, which does not know them. `limit` is for an answer, in seconds."""
    made = await asyncpg.connect(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        address.reveal(),
        timeout=CONNECT_TIMEOUT,
        command_timeout=limit,
        statement_cache_size=1024 if cached else 0,
        max_cached_statement_lifetime=0,
        server_settings={"application_name": "roost"},
    )
    # asyncpg does not show its socket otherwise.
    transport = cast(asyncio.BaseTransport, made._transport)  # noqa: SLF001  # pyright: ignore[reportUnknownMemberType]
    _keep_alive(transport.get_extra_info("socket"))
    return cast(Connection, made)


def _keep_alive(line: socket.socket | None) -> None:
    """A server that is gone without a word is noticed, and what stands between does not forget a
    connection that nobody uses."""
    if line is None or line.family not in (socket.AF_INET, socket.AF_INET6):
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has all of them
            line.setsockopt(socket.IPPROTO_TCP, option, value)


async def is_pooled(address: StoreAddress) -> bool:
    """Whether something stands between: it can't know the number of the process that will serve."""
    connection = await connect(address, cached=False)
    try:
        ((serving,),) = await fetch(connection, "SELECT pg_backend_pid()")
        return serving != connection.get_server_pid()
    finally:
        await connection.close(timeout=CONNECT_TIMEOUT)


async def fetch(connection: Connection, sql: str, *values: SqlValue) -> Rows:
    return [tuple(row) for row in await connection.fetch(sql, *values)]


def explain(error: BaseException, path: object) -> RoostError:
    """PostgreSQL's error as ours."""
    match error:
        case (
            asyncpg.InvalidAuthorizationSpecificationError()
            | asyncpg.InvalidCatalogNameError()
            | ClientConfigurationError()
        ):
            return StoreUnavailable(f"{error}. Correct ROOST_STORE", path=path)
        case asyncpg.DiskFullError():
            return StoreFull(path=path)
        case asyncpg.QueryCanceledError() | asyncpg.LockNotAvailableError():
            return StoreUnavailable("it took too long", path=path)
        case asyncpg.CharacterNotInRepertoireError() | asyncpg.UntranslatableCharacterError():
            return InvalidInput("There is a character in it that can't be stored.")
        case asyncpg.IntegrityConstraintViolationError():
            log.error("a write broke a constraint of the store", exc_info=error)
            return StoreContradicted()
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreUnavailable("it can only be read now", path=path)
        case asyncio.TimeoutError():
            return StoreUnavailable("it does not answer", path=path)
        case socket.gaierror():
            return StoreUnavailable("its host can't be found", path=path)
        case OSError(errno=int(number)) if not isinstance(error, ssl.SSLError):
            return StoreUnavailable(os.strerror(number).lower(), path=path)
        case _ if is_lost(error):
            return StoreUnavailable(str(error) or type(error).__name__, path=path)
        case _:
            return StoreError(str(error))


@contextmanager
def explained(path: object) -> Generator[None]:
    try:
        yield
    except Exception as error:
        if is_lost(error) or isinstance(error, asyncpg.PostgresError | ClientConfigurationError):
            raise explain(error, path) from error
        raise
