"""Opening connections to the SQLite file, and the words for what it refuses."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import structlog

from roost.core.errors import (
    RoostError,
    StoreContradicted,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from roost.store.operations import Row, Rows, SqlValue

log = structlog.get_logger()

BUSY_TIMEOUT = 5000
"""Milliseconds. Nobody but the writer writes: only recovering and closing are ever waited for."""

UNREADABLE = "a part of it can't be read"

Parameters = Mapping[str, SqlValue] | Sequence[SqlValue] | None


class Connection(apsw.Connection):
    """apsw's, with the types that its stubs lose before Python 3.12 (they name `Buffer`)."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # pyright: ignore[reportArgumentType]
        # Otherwise SQLite looks at the values it is given, and prepares a statement anew for each.
        self.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._cursor = self.cursor()

    def rows(self, sql: str, parameters: Parameters = None) -> Rows:
        return self._cursor.execute(sql, parameters).fetchall()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def each(self, sql: str, parameters: Parameters = None) -> Iterator[Row]:
        """The rows one by one: those before an unreadable one are had before it raises."""
        yield from self.execute(sql, parameters)  # pyright: ignore[reportUnknownMemberType]


def connect_writer(path: Path) -> Connection:
    connection = Connection(str(path), statementcachesize=256)
    connection.set_busy_timeout(BUSY_TIMEOUT)
    for pragma in (
        "auto_vacuum = incremental",  # of a new file only, and only before its first page
        "journal_mode = wal",
        "synchronous = full",
        "foreign_keys = on",
        "secure_delete = fast",
        "cache_size = -16000",
        "journal_size_limit = 67108864",
    ):
        connection.rows(f"pragma {pragma}")
    return connection


def connect_reader(path: Path) -> Connection:
    flags = apsw.SQLITE_OPEN_READONLY
    connection = Connection(str(path), flags=flags, statementcachesize=128)
    connection.set_busy_timeout(BUSY_TIMEOUT)
    connection.rows("pragma cache_size = -8000")
    # SQLite's own lower() knows ASCII only.
    connection.create_scalar_function("fold", _fold, 1, deterministic=True)  # pyright: ignore[reportUnknownMemberType]
    return connection


def _fold(*values: SqlValue) -> SqlValue:
    (text,) = values
    return text.casefold() if isinstance(text, str) else text


def explain(error: apsw.Error, path: object) -> RoostError:
    """SQLite's error as ours."""
    match error:
        # The shared memory beside the log is a file too, and grows by zeros only.
        case apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):
            return StoreFull(path=path)
        case apsw.FullError():
            return StoreFull(path=path)
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreDamaged(UNREADABLE, path=path)
        case apsw.ConstraintError():
            log.error("a write broke a constraint of the store", exc_info=error)
            return StoreContradicted()
        case apsw.IOError() | apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.BusyError():
            return StoreUnavailable(str(error), path=path)
        case _:
            return StoreError(str(error))


@contextmanager
def explained(path: object) -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        raise explain(error, path) from error
