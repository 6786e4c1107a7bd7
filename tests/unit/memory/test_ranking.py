"""Which words tell something, and which texts say the same."""

import pytest

from roost.core.facts import Fact
from roost.core.ids import FactId
from roost.memory.ranking import merged, said, same, telling


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("What do you know about Bob's dog?", "know bob dog knows"),
        ("Und was ist mit dem Boot?", "boot boots"),
        ("Parrots, PARROTS and the parrot!", "parrots parrot"),
        ("a glass", "glass glasss"),
        ("what is it", ""),
        ("船はどこ", "船はどこ"),
        (" ".join([f"w{n}" for n in range(100)]), " ".join([f"w{n}" for n in range(30)])),
    ],
)
def test_only_words_that_tell_something_are_looked_for(said: str, words: str) -> None:
    assert telling(said) == words


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        ("Bob sails.", "bob sails", True),
        ("Bob has a boat.", "Bob has the boat!", True),
        ("Bob loves Eve.", "Eve loves Bob.", False),
        ("Bob sails.", "Bob sails not.", False),
        ("Bob has 2 boats.", "Bob has 3 boats.", False),
        ("?", "!", False),
    ],
)
def test_texts_say_the_same_only_if_nothing_that_matters_differs(
    one: str, other: str, are: bool
) -> None:
    assert same(one, other) is are


@pytest.mark.parametrize(
    ("text", "words", "are"),
    [
        ("The user keeps two parrots.", "I keep two parrots", True),
        ("The user keeps two parrots.", "My parrot, both of the two", True),
        ("The user keeps two parrots.", "Which bird is this?", False),
        ("The user is well.", "I am well.", False),
        ("", "anything", False),
    ],
)
def test_something_is_said_by_half_of_its_words(text: str, words: str, are: bool) -> None:
    assert said(text, words) is are


def test_what_stands_in_two_rankings_goes_before_what_stands_in_one() -> None:
    a, b, c, d = [
        Fact(
            id=FactId(name),
            text=name,
            kind="fact",
            entities=(),
            attribute=None,
            trust=0.5,
            session=None,
            turn=None,
            created_at=0,
            updated_at=0,
        )
        for name in "abcd"
    ]
    assert merged([a, b, c], [d, b]) == [b, a, d, c]
    assert merged([a, b], []) == [a, b]
    assert merged([], []) == []
