"""A Roost of this process with its server beside it, as `roost run` has one, and who attaches."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from roost.client.account import Account
from roost.client.connection import Connection, connected
from roost.client.place import find, left_in
from roost.http.server import address, bind, serve
from roost.wiring import Roost

DEADLINE = 60


@asynccontextmanager
async def serving(roost: Roost) -> AsyncGenerator[None]:
    """Announced in the data folder, with a credential for who can read it."""
    stop, ready = asyncio.Event(), asyncio.Event()
    token = roost.identities.local_token()
    with bind("127.0.0.1", 0) as listener, left_in(roost.config.data, token):
        work = serve(roost.web(stop), listener, ready=ready.set, stop=stop, log_requests=False)
        server = asyncio.create_task(work)
        async with asyncio.timeout(DEADLINE):
            await ready.wait()
        roost.store.announce(address(listener))
        try:
            yield
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE):
                await server


@asynccontextmanager
async def connection_to(roost: Roost) -> AsyncGenerator[Connection]:
    async with serving(roost), connected(partial(find, roost.config.data)) as connection:
        yield connection


@asynccontextmanager
async def attached_to(roost: Roost) -> AsyncGenerator[Account]:
    async with connection_to(roost) as connection:
        yield Account(connection)
