"""Opening the store in a data folder, as its sole owner."""

import os
from pathlib import Path

import apsw

from roost.core.clock import Clock
from roost.store.cipher import Cipher, load_key
from roost.store.figures import Database
from roost.store.folder import BLOBS, DATABASE, OwnerLock, prepare, this_process
from roost.store.marks import refuse_if_tied
from roost.store.migrations import load, pending
from roost.store.operations import Operation, query
from roost.store.sqlite.blobs import BlobFiles
from roost.store.sqlite.connect import explained
from roost.store.sqlite.damage import check_at_start
from roost.store.sqlite.engine import SqliteEngine
from roost.store.sqlite.schema import check_before_opening
from roost.store.sqlite.swap import finish
from roost.store.store import Store
from roost.store.upkeep import Retention, idle_work


class SqliteStore(Store):
    def __init__(
        self,
        engine: SqliteEngine,
        files: BlobFiles,
        cipher: Cipher,
        lock: OwnerLock,
        path: Path,
        *,
        lease_ttl: float,
        retention: Retention,
    ) -> None:
        super().__init__(engine, files, cipher, lease_ttl=lease_ttl, retention=retention)
        self._sqlite = engine
        self._lock = lock
        self._path = path

    def announce(self, address: str) -> None:
        """Tell clients on this machine where the owner listens."""
        self._lock.announce(address)

    async def database(self) -> Database:
        """With its write-ahead log, and without attachments."""
        files = [self._path.with_name(f"{DATABASE}{ending}") for ending in ("", "-wal")]
        size = sum([file.stat().st_size for file in files if file.exists()])
        return Database(kind="sqlite", version=apsw.sqlite_lib_version(), bytes=size)

    async def close(self) -> None:
        await self._sqlite.close(then=self._lock.release)


def open_store(
    folder: Path,
    *,
    clock: Clock,
    version: str,
    lease_ttl: float = 30.0,
    retention: Retention = Retention(),  # noqa: B008 (frozen)
) -> SqliteStore:
    """Take the folder, bring its store up to date, and open it. Blocks; meant for the start.

    Whatever can be refused is refused before anything is changed.
    """
    prepare(folder)
    refuse_if_tied(folder)
    lock = OwnerLock(folder, this_process(version, clock.now()))
    path = folder / DATABASE
    try:
        finish(folder)
        known = load("sqlite")
        with explained(path):
            schema = check_before_opening(path, known)
            check_at_start(path, schema)
        cipher = Cipher(load_key(folder, os.environ))
        files = BlobFiles(folder / BLOBS)
        engine = SqliteEngine(
            path,
            clock,
            migrations=pending(schema, known, path),
            takeover=_void_predecessor,
            idle=idle_work(),
        )
    except BaseException:
        lock.release()
        raise
    return SqliteStore(engine, files, cipher, lock, path, lease_ttl=lease_ttl, retention=retention)


def _void_predecessor() -> Operation[None]:
    """The lock says that whoever held leases is gone: they are free at once (B9)."""
    yield query("void_session_tokens")
    yield query("void_leases")
