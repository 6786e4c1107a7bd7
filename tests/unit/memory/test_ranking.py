"""Which words tell something, and which texts say the same."""

import pytest

from roost.memory.ranking import same, telling


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
