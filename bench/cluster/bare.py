"""What PostgreSQL itself takes for the least that a turn asks of it."""

import secrets
import time
from typing import NamedTuple

from bench.timing import Samples
from roost.core.keys import StoreAddress
from roost.store.postgres.connect import connect, fetch

ROUNDS = 500


class Bare(NamedTuple):
    """Milliseconds at p50: a prepared `SELECT 1`, and the commit of a row of a kilobyte. `asking`
    is the processor's time for the first, on this side."""

    trip: float
    commit: float
    asking: float


async def bare(url: str) -> Bare:
    connection = await connect(StoreAddress(url), cached=True)
    trips, commits = Samples(), Samples()
    try:
        await connection.execute("CREATE TABLE bare (id BIGSERIAL PRIMARY KEY, body BYTEA)")
        body = secrets.token_bytes(1024)
        used = time.process_time()
        for _ in range(ROUNDS):
            await trips.wait(fetch(connection, "SELECT 1"))
        used = time.process_time() - used
        for _ in range(ROUNDS):
            await commits.wait(fetch(connection, "INSERT INTO bare (body) VALUES ($1)", body))
        await connection.execute("DROP TABLE bare")
    finally:
        await connection.close(timeout=5)
    return Bare(trips.p50, commits.p50, used / ROUNDS * 1000)
