"""Errors: each says in a sentence what happened, with the facts filled in."""

import pytest

from roost.core import errors
from roost.core.errors import (
    EpochPassed,
    Fenced,
    InvalidInput,
    KeyReused,
    NotFound,
    RoostError,
    StoreFull,
)


def every_kind(kind: type[RoostError] = RoostError) -> list[type[RoostError]]:
    return [kind, *[each for sub in kind.__subclasses__() for each in every_kind(sub)]]


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_is_drawn_in_the_tree_and_has_a_sentence(kind: type[RoostError]) -> None:
    assert kind.__doc__
    assert kind.__name__ in (errors.__doc__ or "")


def test_message_is_the_docstring_on_one_line_with_the_facts_in() -> None:
    error = Fenced(session="ses_1", token=7)
    assert str(error) == (
        "This writer no longer holds session ses_1: its token 7 is stale. Nothing was written."
    )
    assert error.facts == {"session": "ses_1", "token": 7}
    assert str(NotFound("session", "ses_1")) == "There is no session ses_1 here."
    assert str(EpochPassed(expected=1, actual=2)).startswith("The history was rewritten meanwhile")


def test_braces_in_a_detail_are_kept_as_they_are() -> None:
    assert str(InvalidInput("expected {key}, got {}")) == "expected {key}, got {}"
    assert "{0}" in str(StoreFull(path="{0}"))


def test_kinds_can_be_caught_together() -> None:
    with pytest.raises(errors.Conflict):
        raise KeyReused(key="k")
    with pytest.raises(errors.StoreError):
        raise StoreFull(path="x")


def test_missing_fact_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        Fenced(session="ses_1")
