"""Ids: sorted by time, unique, and named after what they name."""

import asyncio
import os
import re
from itertools import pairwise

import pytest

from roost.core.ids import (
    BLOB_ID,
    MESSAGE_ID,
    SESSION_ID,
    TOOL_CALL_ID,
    TURN_ID,
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


PATTERNS = {"ses": SESSION_ID, "trn": TURN_ID, "msg": MESSAGE_ID, "cal": TOOL_CALL_ID}
WRONG = ["", "/", "../x", "a.b", "a b", "A", "é", "٣", "x\n", "\nx", "x\ny", "x\x00", "x" * 65]


@pytest.mark.parametrize("kind", PATTERNS)
def test_pattern_takes_ids_of_its_kind_and_nothing_else(kind: str) -> None:
    pattern = PATTERNS[kind]
    made = MAKERS[kind]()
    assert re.search(pattern, made)
    assert re.search(pattern, derived_id(made, "ada"))
    assert re.search(pattern, f"{kind}_live")
    assert not [tail for tail in WRONG if re.search(pattern, f"{kind}_{tail}")]
    assert not re.search(pattern, new_user_id())
    assert not re.search(pattern, f"x\n{made}")


def test_pattern_of_blobs_takes_a_sha256_and_nothing_else() -> None:
    good = "0123456789abcdef" * 4
    assert re.search(BLOB_ID, good)
    wrong = [good[1:], good + "0", good + "\n", "\n" + good, good.upper(), "../" + good[3:]]
    assert not [id for id in wrong if re.search(BLOB_ID, id)]


def test_a_forked_child_does_not_draw_its_parents_ids() -> None:
    new_message_id()  # so that there is chance left to share
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, "".join([new_message_id()[-16:] for _ in range(50)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(reader, 50 * 16).decode()
    theirs = {told[at : at + 16] for at in range(0, len(told), 16)}
    assert len(theirs) == 50
    assert theirs.isdisjoint({new_message_id()[-16:] for _ in range(50)})
