"""Servers on a PostgreSQL of their own, with ways to it that can be cut and clocks that can be set
wrong."""

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from roost.testing.models import ModelServer
from tests import cluster, postgres
from tests.cluster import Cluster
from tests.cutting import Cutter, cutting
from tests.faults.cluster_fences import Fences

TTL = 3.0
"""Seconds that leases live."""

_SKEW = Path(__file__).parent / "skew"


class Scene(NamedTuple):
    cluster: Cluster
    cutters: Sequence[Cutter]
    database: postgres.Server
    fences: Fences


def writer(number: int) -> str:
    """The name under which a server comes to its database."""
    return f"server_{number}"


@asynccontextmanager
async def scene(
    folder: Path, models: ModelServer, *, servers: int, ttl: float = TTL
) -> AsyncGenerator[Scene]:
    """The database keeps what it has committed, even in a crash."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(postgres.running(synchronous_commit="on"))
        url = await database.database()
        fences = Fences(url)
        await fences.keep(*[writer(number) for number in range(servers)])
        cutters: list[Cutter] = []
        for number in range(servers):
            place = folder / f"way-{number}"
            place.mkdir()
            cutters.append(await stack.enter_async_context(cutting(url, place)))
        ways = [
            cutter.address(url).replace("roost@", f"{writer(number)}@")
            for number, cutter in enumerate(cutters)
        ]
        path = os.pathsep.join([str(_SKEW), *sys.path])
        settings = {"ROOST_LEASES_TTL": f"{ttl:g}s", "PYTHONPATH": path}
        running = cluster.running(folder, models, ways, settings)
        yield Scene(await stack.enter_async_context(running), cutters, database, fences)
