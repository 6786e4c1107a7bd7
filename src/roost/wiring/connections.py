"""The models that can be asked and the channels there are, and the connections to them."""

import contextlib
from collections.abc import AsyncGenerator, Mapping

import aiohttp
import structlog

from roost.core.config import ChannelConfig, Config
from roost.core.errors import RoostError
from roost.core.keys import Key
from roost.llm.clients import Clients
from roost.llm.providers import Providers
from roost.runtime.catalogue import Catalogue
from roost.runtime.switchboard import added_to
from roost.store.sqlite.glance import Glance, glance

log = structlog.stdlib.get_logger("roost.models")


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


@contextlib.asynccontextmanager
async def known_models(
    config: Config, keys: Mapping[str, Key], environ: Mapping[str, str]
) -> AsyncGenerator[tuple[Providers, Clients]]:
    """The same, with what an admin added while Roost ran; for who has no application around it."""
    async with models(config, keys, environ) as (providers, clients):
        try:
            with _stored(config, environ) as stored:
                if stored is not None:
                    await Catalogue(stored, providers, hide=_nobody, changed=_nobody).load()
        except RoostError as error:
            log.warning("providers that were added can't be read", error=str(error))
        yield providers, clients


async def known_channels(config: Config, environ: Mapping[str, str]) -> Mapping[str, ChannelConfig]:
    """Those of the configuration, and what an admin added while Roost ran."""
    added: Mapping[str, ChannelConfig] = {}
    try:
        with _stored(config, environ) as stored:
            if stored is not None:
                added = await added_to(stored)
    except RoostError as error:
        log.warning("channels that were added can't be read", error=str(error))
    return {**added, **config.channels}


def _stored(
    config: Config, environ: Mapping[str, str]
) -> contextlib.AbstractContextManager[Glance | None]:
    """What is in the folder. Where the store is a database, that is of before a move, and only its
    servers know what is in the database."""
    return glance(config.data, environ) if config.store is None else contextlib.nullcontext()


def _nobody(*_: object) -> None:
    """Here there are no tools to hide keys from, and no agents to build anew."""


def _unlimited() -> aiohttp.TCPConnector:
    """By itself aiohttp holds a hundred connections, and the next session would wait (D8)."""
    return aiohttp.TCPConnector(limit=0)
