"""Servers that share a store, and those who talk to them."""

import base64
import secrets
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.server.client import Client, connected, token_of
from bench.server.process import Server, running

_LIVE = "4096"


class Place(NamedTuple):
    """`clients` have a server each."""

    name: str
    servers: Sequence[Server]
    clients: Sequence[Client]

    def used(self) -> float:
        """Seconds of processor, of all servers."""
        return sum([server.used() for server in self.servers])


@contextmanager
def servers(folder: Path, model: str, store: str | None, count: int) -> Generator[list[Server]]:
    """With one key, and room for all the agents that are asked for. On a file if there is no
    `store`."""
    environ = {
        "ROOST_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        "ROOST_AGENTS_MAX": _LIVE,
    }
    if store is not None:
        environ["ROOST_STORE"] = store
    with ExitStack() as stack:
        found: list[Server] = []
        for number in range(count):
            own = folder / str(number)
            own.mkdir(parents=True)
            found.append(stack.enter_context(running(own, model, environ=environ)))
        yield found


@asynccontextmanager
async def talked_to(name: str, found: Sequence[Server]) -> AsyncGenerator[Place]:
    """By one user, who has the same token everywhere."""
    token = await token_of(found[0])
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(each, token)) for each in found]
        yield Place(name, found, clients)
