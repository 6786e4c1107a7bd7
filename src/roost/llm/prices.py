"""What a call cost, in nano-dollars: from the price list of genai-prices, or as the user says."""

import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from roost.core.config import PriceConfig
from roost.core.usage import NANO, Usage
from roost.llm.providers import Provider

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice
    from genai_prices.types import Provider as Listed

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """Dollars for a million tokens; where it depends on the prompt's length, for a short one."""

    input: Decimal
    output: Decimal


class Prices:
    """An unknown price is None and never 0: only a server of one's own costs nothing."""

    def __init__(self, overrides: Mapping[str, PriceConfig] | None = None) -> None:
        self._overrides = overrides or {}

    async def cost(self, usage: Usage, provider: Provider) -> int | None:
        """The price list takes about a second to load, the first time: not on the event loop."""
        if (known := self._without_list(usage, provider)) is not None:
            return known
        if not self._is_listed(provider):
            return None
        return _listed_cost(await _loaded(), usage, provider)

    def prepare(self, provider: Provider) -> None:
        """Begin to load the price list, if this provider will need it."""
        if self._is_listed(provider) and not _snapshot.cache_info().currsize:
            threading.Thread(target=_snapshot, name="roost-prices", daemon=True).start()

    async def price(self, provider: Provider, model: str) -> Price | None:
        if (own := self._override(provider, model)) is not None:
            return Price(_exact(own.input), _exact(own.output))
        if provider.traits.own:
            return Price(Decimal(0), Decimal(0))
        if not self._is_listed(provider):
            return None
        return _listed_price(await _loaded(), provider, model)

    def _without_list(self, usage: Usage, provider: Provider) -> int | None:
        if (own := self._override(provider, usage.model)) is not None:
            return _overridden(usage, own)
        return 0 if provider.traits.own else None

    def _override(self, provider: Provider, model: str) -> PriceConfig | None:
        name = f"{provider.name}/{model}"
        if (exact := self._overrides.get(name)) is not None:
            return exact
        matching = [each for each in self._overrides if fnmatchcase(name, each)]
        return self._overrides[matching[0]] if matching else None

    def _is_listed(self, provider: Provider) -> bool:
        # Someone who is only called compatible may still be known by the address.
        return provider.traits.price_list is not None or provider.vendor == "compatible"


def _exact(dollars: float) -> Decimal:
    """2.5 as it was written, not as a float keeps it."""
    return Decimal(str(dollars))


def _nano(dollars: Decimal) -> int:
    return int((dollars * NANO).to_integral_value(ROUND_HALF_UP))


def _counts(usage: Usage) -> tuple[int, int, int]:
    """Tokens read from the cache, written to it, and neither. A server that counts them beside the
    input instead of within it does not bring the sum below zero."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - cached)
    return cached, written, usage.input_tokens - cached - written


def _overridden(usage: Usage, price: PriceConfig) -> int:
    cached, written, plain = _counts(usage)
    total = (
        plain * _exact(price.input)
        + cached * _exact(price.input if price.cached is None else price.cached)
        + written * _exact(price.input if price.cache_write is None else price.cache_write)
        + usage.output_tokens * _exact(price.output)
    )
    return _nano(total / _MILLION)


async def _loaded() -> "DataSnapshot":
    if _snapshot.cache_info().currsize:
        return _snapshot()
    return await asyncio.to_thread(_snapshot)


@cache
def _snapshot() -> "DataSnapshot":
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _find(
    snapshot: "DataSnapshot", provider: Provider, model: str
) -> "tuple[Listed, ModelInfo] | None":
    name = provider.traits.price_list
    address = None if name else provider.base_url
    try:
        return snapshot.find_provider_model(model, None, name, address)
    except LookupError:
        return None


def _price_now(model: "ModelInfo") -> "ModelPrice | None":
    """The model's price, if both sides of it are known: genai-prices counts an unknown one as 0."""
    price = model.get_prices(datetime.now(UTC))
    return None if price.input_mtok is None or price.output_mtok is None else price


def _is_free(provider: Provider, model: str) -> bool:
    return provider.vendor == "openrouter" and model.endswith(":free")


def _listed_cost(snapshot: "DataSnapshot", usage: Usage, provider: Provider) -> int | None:
    from genai_prices import types

    if _is_free(provider, usage.model):
        return 0
    found = _find(snapshot, provider, usage.model)
    if found is None or (price := _price_now(found[1])) is None:
        return None
    cached, written, _ = _counts(usage)
    counted = types.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.output_tokens,
        output_reasoning_tokens=min(usage.reasoning_tokens, usage.output_tokens),
    )
    return _nano(price.calc_price(counted)["total_price"])


def _listed_price(snapshot: "DataSnapshot", provider: Provider, model: str) -> Price | None:
    if _is_free(provider, model):
        return Price(Decimal(0), Decimal(0))
    found = _find(snapshot, provider, model)
    if found is None or (price := _price_now(found[1])) is None:
        return None
    return Price(_base(price.input_mtok), _base(price.output_mtok))


def _base(price: object) -> Decimal:
    from genai_prices import types

    base = price.base if isinstance(price, types.TieredPrices) else price
    assert isinstance(base, Decimal)
    return base
