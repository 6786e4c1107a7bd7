"""Context lengths, and that our copy of them is the price list's."""

from collections.abc import Iterator

import pytest
from genai_prices import types
from genai_prices.data import providers

from roost.llm.profiles import VENDORS, profile_for
from roost.llm.windows import lookup, window

LISTS = {provider.id: provider for provider in providers}


def listed() -> Iterator[tuple[types.Provider, str, int]]:
    for name in {vendor.price_list for vendor in VENDORS.values() if vendor.price_list}:
        for model in LISTS[name].models:
            # An id is not always among the names that the model goes by.
            if model.context_window is not None and model.is_match(model.id):
                yield LISTS[name], model.id, model.context_window


def test_copy_agrees_with_the_installed_price_list() -> None:
    wrong = [
        (provider.id, model, length, window(provider.id, model))
        for provider, model, length in listed()
        if window(provider.id, model) != length and provider.find_model(model) is not None
    ]
    assert not wrong, "run `python -m tools.windows`"


def test_every_vendor_with_prices_has_lengths() -> None:
    assert {provider.id for provider, _, _ in listed()} == {
        vendor.price_list for vendor in VENDORS.values() if vendor.price_list
    }


@pytest.mark.parametrize(
    ("model", "length"),
    [
        ("heron-2", 100),
        ("HERON-2", 100),
        ("heron-2-2026-01-31", 100),
        ("heron-2@20260131", 100),
        ("heron-2-mini", None),
        ("heron-2.5", None),
        ("egret-1-large", 200),
        ("egret-1-small-3", 50),
        ("egret-1-tiny", None),
        ("stork", None),
    ],
)
def test_length_is_found_by_name_date_or_the_longest_glob(model: str, length: int | None) -> None:
    windows = {"heron-2": 100, "egret-1*": 200, "egret-1-small*": 50, "egret-1-tiny*": None}
    assert lookup(windows, model) == length


def test_model_that_nobody_has_heard_of_has_no_length() -> None:
    assert profile_for("openai", "heron-9").context is None
    assert profile_for("compatible", "gpt-5").context is None
