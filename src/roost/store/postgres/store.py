"""Opening the store in PostgreSQL, which other servers may have open too."""

import hashlib
import os
from functools import partial
from pathlib import Path

import msgspec

from roost.core.clock import Clock
from roost.core.errors import ConfigError, StoreError
from roost.core.keys import StoreAddress
from roost.store.cipher import VARIABLE, Cipher, load_key
from roost.store.figures import Database
from roost.store.folder import BLOBS, KEY, OwnerLock, prepare, this_process
from roost.store.marks import server_name, tie
from roost.store.moving.book import refuse_if_unfinished
from roost.store.operations import Operation, maybe, query
from roost.store.postgres.blobs import BlobRows
from roost.store.postgres.connect import explained, is_pooled
from roost.store.postgres.engine import PostgresEngine
from roost.store.postgres.schema import migrate
from roost.store.postgres.servers import PostgresServers, void_leases_of
from roost.store.postgres.signals import CHANNEL, PostgresSignals
from roost.store.servers import Servers
from roost.store.signals import Signals
from roost.store.store import Store
from roost.store.upkeep import Retention, idle_work
from roost.store.users import SERVER as SERVER_USER

_SEALED = "sealed"


class PostgresStore(Store):
    def __init__(
        self,
        engine: PostgresEngine,
        rows: BlobRows,
        cipher: Cipher,
        lock: OwnerLock,
        *,
        lease_ttl: float,
        retention: Retention,
        servers: PostgresServers,
        direct: StoreAddress | None,
    ) -> None:
        """`direct` is the address of a connection that is one's own, if there is one."""
        host = servers.id
        super().__init__(engine, rows, cipher, lease_ttl=lease_ttl, retention=retention, host=host)
        self._postgres = engine
        self._lock = lock
        self._servers = servers
        self._signals = PostgresSignals(direct, host, partial(engine.notify, CHANNEL))

    @property
    def signals(self) -> Signals:
        return self._signals

    @property
    def servers(self) -> Servers:
        return self._servers

    def announce(self, address: str) -> None:
        """Tell clients on this machine where the server listens."""
        self._lock.announce(address)

    async def database(self) -> Database:
        return await self._postgres.read(_database)

    async def close(self) -> None:
        await self._signals.close()
        await self._postgres.close()
        self._lock.release()


async def open_store(
    address: StoreAddress,
    folder: Path,
    *,
    version: str,
    started_at: int,
    direct: StoreAddress | None = None,
    clock: Clock | None = None,
    lease_ttl: float = 30.0,
    retention: Retention = Retention(),  # noqa: B008 (frozen)
) -> PostgresStore:
    """Bring the store up to date, and open it. The folder is this server's own: it holds its key,
    its workspaces and what is being uploaded. Without a `clock` the time is the database's."""
    prepare(folder)
    lock = OwnerLock(folder, this_process(version, started_at))
    try:
        cipher = Cipher(load_key(folder, os.environ))
        rows = BlobRows(folder / BLOBS / "new")
        with explained(address):
            await migrate(address)
            await refuse_if_unfinished(address)
            pooled = await is_pooled(address)
        engine = PostgresEngine(address, pooled=pooled, clock=clock, idle=idle_work())
        host = server_name(folder)
        try:
            tie(folder, await engine.write(lambda: check_key(cipher, folder)))
            # The folder's lock says that whoever ran on it is gone: its leases are free (B9).
            await engine.write(lambda: void_leases_of(host))
        except BaseException:
            await engine.close()
            raise
    except BaseException:
        lock.release()
        raise
    return PostgresStore(
        engine,
        rows,
        cipher,
        lock,
        lease_ttl=lease_ttl,
        retention=retention,
        servers=PostgresServers(engine, host, version=version, started_at=started_at),
        direct=direct or (None if pooled else address),
    )


def _database() -> Operation[Database]:
    ((version, size),) = yield query("describe_database")
    return Database(kind="postgresql", version=str(version), bytes=int(str(size)))


def check_key(cipher: Cipher, folder: Path) -> Operation[str]:
    """Whoever comes first seals a word; the others have to be able to read it. Sealed, it is like
    no other: by that the store is known."""
    yield query("lock_users")
    word = maybe((yield query("get_setting", user=SERVER_USER, key=_SEALED)), str)
    if word is None:
        sealed = cipher.seal(_SEALED, owner=SERVER_USER, name=_SEALED)
        value = msgspec.json.encode(sealed).decode()
        yield query("put_setting", user=SERVER_USER, key=_SEALED, value=value)
        return _known_by(sealed)
    try:
        sealed = msgspec.json.decode(word, type=bytes)
        cipher.open(sealed, owner=SERVER_USER, name=_SEALED)
    except StoreError as error:
        raise ConfigError(
            f"The key of this server ({folder / KEY}, or {VARIABLE}) is not that of the others on "
            "this store. Give all of them the same."
        ) from error
    return _known_by(sealed)


def _known_by(sealed: bytes) -> str:
    return hashlib.sha256(sealed).hexdigest()[:16]
