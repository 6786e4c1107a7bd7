"""Ids: sorted by time, unique, and named after what they name."""

import asyncio
import re
from itertools import pairwise

import pytest

from roost.core.ids import (
    derived_id,
    new_message_id,
    new_session_id,
    new_tool_call_id,
    new_turn_id,
    new_user_id,
)
from tests.threads import in_threads

MAKERS = {
    "usr": new_user_id,
    "ses": new_session_id,
    "trn": new_turn_id,
    "msg": new_message_id,
    "cal": new_tool_call_id,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_id_says_what_it_names(kind: str) -> None:
    assert re.fullmatch(kind + "_[0-9a-hjkmnp-tv-z]{26}", MAKERS[kind]())


async def test_ids_are_unique_and_sorted_across_threads() -> None:
    async def make(_: int) -> list[str]:
        made: list[str] = []
        for _ in range(50):
            made += [new_message_id() for _ in range(100)]
            await asyncio.sleep(0)
        return made

    threads = await in_threads(4, make)
    for made in threads:
        assert all(one < two for one, two in pairwise(made))
    assert len({id for made in threads for id in made}) == 4 * 50 * 100


def test_later_id_of_another_kind_sorts_later_too() -> None:
    ids = [make() for _ in range(100) for make in MAKERS.values()]
    tails = [id.partition("_")[2] for id in ids]
    assert tails == sorted(tails)


def test_derived_id_is_the_same_every_time_and_differs_by_salt() -> None:
    old = new_turn_id()
    assert derived_id(old, "ada") == derived_id(old, "ada")
    assert len({old, derived_id(old, "ada"), derived_id(old, "bob")}) == 3
    assert re.fullmatch("trn_[0-9a-z]{26}", derived_id(old, "ada"))


def test_derived_id_does_not_mix_up_salt_and_id() -> None:
    assert derived_id("trn_b", "a") != derived_id("trn_", "ab")
