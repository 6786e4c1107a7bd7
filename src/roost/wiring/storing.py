"""The store: a file in the data folder, or the database that the configuration names."""

from roost import __version__
from roost.core.clock import Clock
from roost.core.config import Config
from roost.store.postgres.store import PostgresStore
from roost.store.postgres.store import open_store as open_postgres
from roost.store.sqlite.store import SqliteStore, open_store
from roost.store.upkeep import Retention

OpenStore = SqliteStore | PostgresStore


async def opened_store(config: Config, clock: Clock) -> OpenStore:
    """Opening it takes the folder's lock, and may migrate it."""
    keep = config.retention
    ttl = config.leases.ttl.total_seconds()
    retention = Retention(
        idempotency_keys=keep.idempotency_keys.total_seconds(),
        inbox=keep.inbox.total_seconds(),
        events=keep.events.total_seconds(),
    )
    if config.store is None:
        return open_store(
            config.data, clock=clock, version=__version__, lease_ttl=ttl, retention=retention
        )
    return await open_postgres(
        config.store,
        config.data,
        direct=config.store_direct,
        version=__version__,
        started_at=clock.now(),
        lease_ttl=ttl,
        retention=retention,
    )
