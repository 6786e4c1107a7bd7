"""`roost models`: every model that can be asked now."""

import asyncio
from collections.abc import Mapping, Sequence

import uvloop
from rich.console import Console

from roost.cli import terminal
from roost.core.config import Config
from roost.core.errors import ModelError, RoostError
from roost.core.keys import Key
from roost.llm.clients import Clients, Listed
from roost.llm.prices import Price, Prices
from roost.llm.providers import Origin, Provider, Providers
from roost.wiring import known_models

_SAID: tuple[Origin, ...] = ("configuration", "api")


def list_models(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    word: str | None,
    out: Console,
) -> None:
    uvloop.run(_list(config, keys, environ, word, out, terminal.err()))


async def _list(
    config: Config,
    keys: Mapping[str, Key],
    environ: Mapping[str, str],
    word: str | None,
    out: Console,
    notes: Console,
) -> None:
    prices = Prices(config.models.prices)
    async with known_models(config, keys, environ) as (providers, clients):
        asked = [provider for provider in providers if _may_be_asked(providers, provider)]
        answers = await asyncio.gather(
            *[_served(clients, each, providers.origin(each.name)) for each in asked]
        )
        default, troubles = _default(providers)
        rows: list[tuple[str, ...]] = []
        for listed in [
            each for answer in answers if not isinstance(answer, str) for each in answer
        ]:
            name = f"{listed.provider.name}/{listed.model}"
            if word is None or word.lower() in name.lower():
                price = await prices.price(listed.provider, listed.model)
                mark = "default" if name == default else ""
                rows.append((name, _size(listed.context), *_dollars(price), mark))
    if rows:
        _print_table(rows, out)
    else:
        out.print(f"No model with {word!r} in its name." if word else "No model can be asked now.")
    troubles += [answer for answer in answers if isinstance(answer, str) and answer]
    for trouble in troubles:
        notes.print(trouble)


def _default(providers: Providers) -> tuple[str, list[str]]:
    """The model that is asked if none is named. One that can't be found is no reason to list
    nothing: the list may be what its user needs."""
    try:
        return str(providers.default()), []
    except RoostError as error:
        return "", [str(error)]


def _print_table(rows: Sequence[tuple[str, ...]], out: Console) -> None:
    """By hand, because a table of rich's is cut to the terminal: names are there to be copied."""
    table = [("Model", "Context", "In", "Out", ""), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *sizes, mark in table:
        right = [text.rjust(width) for text, width in zip(sizes, widths[1:-1], strict=True)]
        out.print("  ".join([name.ljust(widths[0]), *right, mark]).rstrip())
    out.print("\nPrices are dollars for a million tokens.")


def _may_be_asked(providers: Providers, provider: Provider) -> bool:
    return not provider.traits.key_variables or providers.key(provider.name) is not None


async def _served(clients: Clients, provider: Provider, origin: Origin) -> Sequence[Listed] | str:
    """Its models, or why there are none. That a port is silent, or another program's, is no news
    unless someone said that models are there."""
    try:
        return await clients.models(provider)
    except ModelError as error:
        return str(error) if origin in _SAID or not provider.traits.own else ""


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
