"""Finds damage in a SQLite store, without changing it."""

import time
from pathlib import Path

import apsw

from roost.core.errors import StoreDamaged
from roost.store.migrations import Schema
from roost.store.sqlite.connect import Connection, connect_reader

START_SECONDS = 0.3
"""How long a start may look for damage. A large store is looked through by `roost doctor`."""


def check_at_start(path: Path, schema: Schema) -> None:
    if schema.version == 0:
        return
    if problems := problems_in(path, seconds=START_SECONDS):
        raise StoreDamaged(problems[0], path=path)


def problems_in(path: Path, *, seconds: float | None = None) -> list[str]:
    """What SQLite finds wrong; nothing, if it is fine or if time ran out first."""
    try:
        connection = connect_reader(path)
        try:
            return _look(connection, seconds)
        finally:
            connection.close()
    except apsw.InterruptError:
        return []
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]


def _look(connection: Connection, seconds: float | None) -> list[str]:
    if seconds is not None:
        deadline = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        return _complaints(connection, "quick_check(20)")
    if found := _complaints(connection, "integrity_check(20)"):
        return found
    broken = connection.rows("pragma foreign_key_check")
    return [f"a row of {row[0]} names a missing row of {row[2]}" for row in broken[:20]]


def _complaints(connection: Connection, pragma: str) -> list[str]:
    rows = connection.rows(f"pragma {pragma}")
    return [str(row[0]) for row in rows if row[0] != "ok"]
