"""The PostgreSQL that is measured, which keeps what it is told, and what it takes for that."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.server.process import used_by
from roost.core.keys import StoreAddress
from roost.store.postgres.connect import connect, fetch
from tests.postgres import Server, running

# As it is set up for use, unlike in tests.
_DURABLE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "shared_buffers": "256MB",
}


class Database:
    """`url` is of an empty one on it, `folder` has its socket."""

    def __init__(self, server: Server, url: str) -> None:
        self.url = url
        self.folder = server.folder
        self._pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])

    def used(self) -> float:
        """Seconds of processor, of all its processes."""
        return used_by(self._pid, ended=True) + sum(map(_used_if_there, _children(self._pid)))

    async def logged(self) -> int:
        """Bytes of its log of writes so far."""
        connection = await connect(StoreAddress(self.url), cached=False)
        try:
            sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
            ((count,),) = await fetch(connection, sql)
        finally:
            await connection.close(timeout=5)
        return int(str(count))


@contextmanager
def durable() -> Generator[Server]:
    with running(**_DURABLE) as server:
        yield server


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _used_if_there(pid: int) -> float:
    try:
        return used_by(pid)
    except OSError:  # it ended meanwhile
        return 0.0
