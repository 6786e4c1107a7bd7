"""`roost models`: every model that can be asked now."""

import asyncio
from collections.abc import Mapping, Sequence

import uvloop
from rich.console import Console
from rich.table import Table

from roost.core.config import Config
from roost.core.errors import ModelError, ModelUnreachable
from roost.core.keys import Key
from roost.llm.clients import Clients, Listed
from roost.llm.prices import Price, Prices
from roost.llm.providers import Provider, Providers
from roost.wiring import models


def list_models(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    word: str | None,
    out: Console,
) -> None:
    uvloop.run(_list(config, keys, environ, word, out))


async def _list(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    word: str | None,
    out: Console,
) -> None:
    prices = Prices(config.models.prices)
    async with models(config, keys, environ) as (providers, clients):
        asked = [provider for provider in providers if _may_be_asked(providers, provider)]
        answers = await asyncio.gather(*[_served(clients, provider) for provider in asked])
        default = str(providers.default())
        table = Table(box=None, pad_edge=False)
        for heading in ("Model", "Context", "In", "Out", ""):
            table.add_column(heading, justify="left" if heading in ("Model", "") else "right")
        for listed in [
            each for answer in answers if not isinstance(answer, str) for each in answer
        ]:
            name = f"{listed.provider.name}/{listed.model}"
            if word is None or word.lower() in name.lower():
                price = await prices.price(listed.provider, listed.model)
                mark = "default" if default in (name, listed.provider.name) else ""
                table.add_row(name, _size(listed.context), *_dollars(price), mark)
    out.print(table)
    out.print("\nPrices are dollars for a million tokens.")
    for answer in answers:
        if isinstance(answer, str) and answer:
            out.print(answer)


def _may_be_asked(providers: Providers, provider: Provider) -> bool:
    return provider.traits.own or providers.key(provider.name) is not None


async def _served(clients: Clients, provider: Provider) -> Sequence[Listed] | str:
    """Its models, or why there are none: a server that simply does not run here is no news."""
    try:
        return await clients.models(provider)
    except ModelUnreachable as error:
        return "" if provider.traits.own else str(error)
    except ModelError as error:
        return str(error)


def _size(tokens: int | None) -> str:
    if tokens is None:
        return "unknown"
    return f"{tokens / 1_000_000:g}M" if tokens >= 1_000_000 else f"{round(tokens / 1000)}k"


def _dollars(price: Price | None) -> tuple[str, str]:
    if price is None:
        return "unknown", "unknown"
    if not price.input and not price.output:
        return "free", "free"
    return f"{price.input:.2f}", f"{price.output:.2f}"
