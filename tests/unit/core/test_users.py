"""Names, locales and caps: what may be one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.core.users import Caps, check_locale, clean_name, folded


@pytest.mark.parametrize(
    ("given", "kept"),
    [("Ada", "Ada"), ("  Ada \t Lovelace\n", "Ada Lovelace"), ("Zoe\u0308", "Zo\u00eb")],
)
def test_name_is_kept_in_one_form(given: str, kept: str) -> None:
    assert clean_name(given) == kept


@pytest.mark.parametrize("name", ["", " ", "a" * 65, "a\x00b", "a\u202eb", "a\x1b[2Jb"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        clean_name(name)


@given(st.text(max_size=80))
def test_clean_name_is_clean_again(name: str) -> None:
    try:
        kept = clean_name(name)
    except InvalidInput:
        return
    assert clean_name(kept) == kept
    assert folded(kept) == folded(name)


def test_names_are_one_whatever_their_case() -> None:
    assert folded("Ada") == folded(" ADA ") == folded("\uff21da")
    assert folded("Straße") == folded("STRASSE")
    assert folded("Ada") != folded("Eda")


@pytest.mark.parametrize("locale", ["en", "de-CH", "zh-Hant-TW"])
def test_locales(locale: str) -> None:
    check_locale(locale)


@pytest.mark.parametrize("locale", ["", "e", "english language", "de_CH", "de-CH\n", "../etc"])
def test_what_is_no_locale_is_refused(locale: str) -> None:
    with pytest.raises(InvalidInput):
        check_locale(locale)


@pytest.mark.parametrize("cost", [-0.01, math.nan, math.inf])
def test_cap_is_a_number(cost: float) -> None:
    with pytest.raises(InvalidInput):
        Caps(day_cost=cost)
    assert Caps(day_cost=0, day_tokens=0)
