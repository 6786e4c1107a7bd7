"""Finds damage in a SQLite store, without changing it."""

import time
from pathlib import Path

import apsw

from roost.core.errors import StoreDamaged
from roost.store.migrations import Schema
from roost.store.sqlite.connect import connect_reader

START_SECONDS = 1.0
"""How long a start may look for damage. A large store is looked through by `roost doctor`."""


def check_at_start(path: Path, schema: Schema) -> None:
    if schema.version == 0:
        return
    if problems := problems_in(path, seconds=START_SECONDS):
        raise StoreDamaged(problems[0], path=path)


def problems_in(path: Path, *, seconds: float | None = None) -> list[str]:
    """What SQLite finds wrong; nothing, if it is fine or if time ran out first."""
    connection = connect_reader(path)
    try:
        if seconds is not None:
            deadline = time.monotonic() + seconds
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        pragma = "integrity_check" if seconds is None else "quick_check"
        found = connection.rows(f"pragma {pragma}(20)")
        rows = [str(row[0]) for row in found if row[0] != "ok"]
        if seconds is None and not rows:
            broken = connection.rows("pragma foreign_key_check")
            rows = [f"a row of {row[0]} names a missing row of {row[2]}" for row in broken[:20]]
        return rows
    except apsw.InterruptError:
        return []
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    finally:
        connection.close()
