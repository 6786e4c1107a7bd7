"""Finds damage in a SQLite store, without changing it."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import structlog

from roost.core.amounts import amount
from roost.core.errors import StoreDamaged
from roost.store.migrations import Schema
from roost.store.sqlite.connect import UNREADABLE, Connection, connect_reader

log = structlog.get_logger()

START_SECONDS = 0.3
"""How long a start may look for damage. A large store is looked through by `roost doctor`."""

_MOST = 100
"""Complaints after which SQLite stops looking."""

# "Page 7: never used" is no page that can't be read: what named it is.
_PAGE = re.compile(r"\bpage (\d+)")
_INDEX = re.compile(r"\b(from|in) index\b|\binverted index\b")
_ORPHAN = "names a missing row"


def check_at_start(path: Path, schema: Schema) -> None:
    if schema.version == 0:
        return
    if problems := problems_in(path, seconds=START_SECONDS):
        raise StoreDamaged(problems[0], path=path)


def problems_in(path: Path, *, seconds: float | None = None) -> list[str]:
    """What is wrong, in words; nothing, if it is fine or if time ran out first."""
    complaints = list(_complaints(path, seconds))
    if not complaints:
        return []
    log.debug("the store is damaged", path=str(path), found=complaints)
    return [_in_words(complaints)]


def _complaints(path: Path, seconds: float | None) -> Iterator[str]:
    try:
        connection = connect_reader(path)
        try:
            yield from _look(connection, seconds)
        finally:
            connection.close()
    except apsw.InterruptError:
        return
    except (apsw.CorruptError, apsw.NotADBError) as error:
        yield str(error)


def _look(connection: Connection, seconds: float | None) -> Iterator[str]:
    if seconds is not None:
        deadline = time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
        yield from _lines(connection, f"quick_check({_MOST})")
        return
    whole = True
    for line in _lines(connection, f"integrity_check({_MOST})"):
        whole = False
        yield line
    if whole:
        for row in connection.each("pragma foreign_key_check"):
            yield f"a row of {row[0]} {_ORPHAN} of {row[2]}"


def _lines(connection: Connection, pragma: str) -> Iterator[str]:
    """A row of an answer can have many, below a heading."""
    for (report,) in connection.each(f"pragma {pragma}"):
        for line in str(report).splitlines():
            if line != "ok" and not line.startswith("***"):
                yield line


def _in_words(complaints: Sequence[str]) -> str:
    """The worst of it: the rest mostly follows from that."""
    pages = {found[1] for line in complaints if (found := _PAGE.search(line))}
    orphans = sum(_ORPHAN in line for line in complaints)
    if pages and len(complaints) >= _MOST:
        return f"{len(pages)} pages or more can't be read"
    if pages:
        return f"{amount(len(pages), 'page')} can't be read"
    if orphans:
        return f"{amount(orphans, 'row')} cut off from the rest"
    if any(_INDEX.search(line) for line in complaints):
        return "an index does not fit its table"
    return UNREADABLE
