"""The models that can be asked, and the connections to them."""

import contextlib
from collections.abc import AsyncGenerator, Mapping

import aiohttp

from roost.core.config import Config
from roost.core.keys import Key
from roost.llm.clients import Clients
from roost.llm.providers import Providers


@contextlib.asynccontextmanager
async def models(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]
) -> AsyncGenerator[tuple[Providers, Clients]]:
    """The models that can be asked, for as long as the block lasts."""
    providers = Providers.of(config, keys, environ)
    async with (
        aiohttp.ClientSession(trust_env=True, connector=_unlimited()) as connections,
        aiohttp.ClientSession(connector=_unlimited()) as direct,
    ):
        clients = Clients(providers, connections, direct)
        try:
            yield providers, clients
        finally:
            await clients.close()


def _unlimited() -> aiohttp.TCPConnector:
    """By itself aiohttp holds a hundred connections, and the next session would wait (D8)."""
    return aiohttp.TCPConnector(limit=0)
