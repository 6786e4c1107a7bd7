"""What calls cost, to the nano-dollar, and that an unknown price is not a free one."""

import subprocess
import sys
from decimal import Decimal

import pytest

from roost.core.config import PriceConfig
from roost.core.settings import Dollars, VendorName
from roost.core.usage import NANO, Usage
from roost.llm.prices import Price, Prices
from roost.llm.profiles import VENDORS
from roost.llm.providers import Provider


def at(vendor: VendorName, base_url: str = "") -> Provider:
    return Provider(name="nest", vendor=vendor, base_url=base_url or VENDORS[vendor].base_url or "")


def used(
    model: str,
    *,
    input: int = 0,
    cached: int = 0,
    written: int = 0,
    output: int = 0,
    reasoning: int = 0,
) -> Usage:
    return Usage(
        "nest",
        model,
        input_tokens=input,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=output,
        reasoning_tokens=reasoning,
    )


async def cost(usage: Usage, vendor: VendorName) -> int | None:
    return await Prices().cost(usage, at(vendor))


# claude-haiku-4-5 costs 1 dollar in, 5 out, 0.10 from the cache and 1.25 into it.
@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (used("claude-haiku-4-5", input=1_000_000), "1"),
        (used("claude-haiku-4-5", output=1_000_000), "5"),
        (used("claude-haiku-4-5", input=1_000_000, cached=1_000_000), "0.1"),
        (used("claude-haiku-4-5", input=1_000_000, written=1_000_000), "1.25"),
        (used("claude-haiku-4-5", input=900_000, cached=500_000, written=100_000), "0.475"),
        (used("claude-haiku-4-5-20251001", input=1), "0.000001"),
        (used("claude-haiku-4-5", output=100, reasoning=60), "0.0005"),
        (used("claude-haiku-4-5"), "0"),
    ],
)
async def test_listed_price_counts_each_kind_of_token(usage: Usage, dollars: str) -> None:
    assert await cost(usage, "anthropic") == int(Decimal(dollars) * NANO)


async def test_long_prompt_costs_what_its_tier_says() -> None:
    """Half a dollar for a million tokens beyond 100,000, a tenth up to there."""
    short = await cost(used("claude-haiku-5-5", input=100_000), "anthropic")
    long = await cost(used("claude-haiku-5-5", input=100_001), "anthropic")
    assert short == NANO // 100
    assert long == 50_000_500


async def test_reasoning_is_part_of_the_output_and_not_paid_twice() -> None:
    plain = await cost(used("gpt-5", output=1000), "openai")
    assert plain is not None
    assert plain > 0
    assert await cost(used("gpt-5", output=1000, reasoning=900), "openai") == plain


async def test_more_cached_than_sent_is_no_negative_cost() -> None:
    """As a server reports it that counts the cached tokens beside the input."""
    total = await cost(used("claude-haiku-4-5", input=10, cached=1000, written=50), "anthropic")
    assert total == 1000


@pytest.mark.parametrize(
    ("vendor", "model"),
    [("openai", "heron-9"), ("anthropic", "heron"), ("azure", "my-deployment"), ("groq", "x/y")],
)
async def test_unknown_price_is_none(vendor: VendorName, model: str) -> None:
    assert await cost(used(model, input=1000, output=1000), vendor) is None
    assert await Prices().price(at(vendor), model) is None


async def test_model_that_is_listed_without_a_price_is_unknown() -> None:
    """OpenRouter's own choice of a model is listed, but has no price of its own."""
    assert await cost(used("openrouter/auto", input=1000), "openrouter") is None


@pytest.mark.parametrize("vendor", [name for name, vendor in VENDORS.items() if vendor.own])
async def test_servers_of_ones_own_cost_nothing(vendor: VendorName) -> None:
    assert await cost(used("claude-haiku-4-5", input=1000), vendor) == 0


async def test_server_that_is_only_compatible_is_not_taken_to_be_free() -> None:
    provider = at("compatible", "http://127.0.0.1:4000/v1")
    assert await Prices().cost(used("gpt-5", input=1000), provider) is None


async def test_compatible_server_may_be_known_by_its_address() -> None:
    provider = at("compatible", "https://api.anthropic.com/v1")
    assert await Prices().cost(used("claude-haiku-4-5", input=1000), provider) == 1_000_000


async def test_variant_that_is_free_is_free() -> None:
    assert await cost(used("qwen/qwen3-32b:free", input=1000), "openrouter") == 0
    assert await cost(used("qwen/qwen3-32b:free", input=1000), "groq") is None


async def test_own_price_of_writing_to_the_cache_counts() -> None:
    price = PriceConfig(Dollars(1), Dollars(1), cache_write=Dollars(3))
    prices = Prices({"nest/*": price})
    usage = used("claude-haiku-4-5", input=1000, written=100)
    assert await prices.cost(usage, at("anthropic")) == 900_000 + 300_000


async def test_user_knows_better() -> None:
    price = PriceConfig(Dollars(0.1), Dollars(0.3), cached=Dollars(0.025))
    prices = Prices({"nest/claude-*": price})
    usage = used("claude-haiku-4-5", input=1000, cached=400, written=100, output=10)
    assert await prices.cost(usage, at("anthropic")) == 600 * 100 + 400 * 25 + 10 * 300
    assert await prices.cost(usage, at("ollama")) == 73_000
    assert await prices.price(at("ollama"), "claude-x") == Price(Decimal("0.1"), Decimal("0.3"))


async def test_exact_override_wins_over_a_glob() -> None:
    dear, cheap = PriceConfig(Dollars(9), Dollars(9)), PriceConfig(Dollars(1), Dollars(1))
    prices = Prices({"nest/*": dear, "nest/heron": cheap})
    assert await prices.cost(used("heron", input=1), at("openai")) == 1000
    assert await prices.cost(used("egret", input=1), at("openai")) == 9000


async def test_price_for_show_is_that_of_a_short_prompt() -> None:
    price = await Prices().price(at("anthropic"), "claude-haiku-5-5")
    assert price == Price(Decimal("0.1"), Decimal("0.5"))


def test_price_list_is_not_loaded_before_it_is_needed() -> None:
    """It takes about a second and fifty megabytes, which someone with a model of their own never
    has to spend."""
    code = (
        "import asyncio, sys\n"
        "from roost.core.usage import Usage\n"
        "from roost.llm.prices import Prices\n"
        "from roost.llm.providers import Provider\n"
        "provider = Provider(name='o', vendor='ollama')\n"
        "assert asyncio.run(Prices().cost(Usage('o', 'm', input_tokens=9), provider)) == 0\n"
        "assert not any(name.startswith('genai_prices') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
