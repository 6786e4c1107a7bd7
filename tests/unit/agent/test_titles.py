"""Titles: asked for, tidied, and never longer than a line."""

import pytest

from roost.agent.titles import plain_title, tidy


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Birds at rest", "Birds at rest"),
        ('"Birds at rest."', "Birds at rest"),
        ("**Birds** at rest", "Birds** at rest"),
        ("Title: Birds\nand more", "Birds"),
        ("\n\n  # Birds  \n", "Birds"),
        ("", ""),
        ("word " * 40, "word " * 15 + "word…"),
    ],
)
def test_what_a_model_says_is_tidied(said: str, title: str) -> None:
    assert tidy(said) == title


def test_plain_title_is_the_first_words() -> None:
    assert plain_title("\n  Hello there\nmore") == "Hello there"
    assert plain_title("x" * 100) == "x" * 48 + "…"
    assert plain_title("") == ""
