"""Words of a text and of a search: how they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.store.words import (
    Term,
    any_of,
    as_terms,
    indexed,
    loose_words,
    match_expression,
    parse,
)


@pytest.mark.parametrize(
    ("search", "terms"),
    [
        ("owl", [Term(("owl",), False)]),
        ("  owl   tree ", [Term(("owl",), False), Term(("tree",), False)]),
        ('"hollow tree" owl', [Term(("hollow", "tree"), False), Term(("owl",), False)]),
        ("ow*", [Term(("ow",), True)]),
        ('"hollow tr"*', [Term(("hollow", "tr"), True)]),
        ('"never closed', [Term(("never", "closed"), False)]),
        ("snake_case", [Term(("snake", "case"), False)]),
        ("don't", [Term(("don", "t"), False)]),
        ("日本語", [Term(("日本語",), False)]),
        ("Python日本", [Term(("Python", "日本"), False)]),
        ("o\u0323\u0300ro\u0323\u0300", [Term(("\u1ecd\u0300r\u1ecd\u0300",), False)]),
        ("\uff46\uff55\uff4c\uff4c", [Term(("full",), False)]),
        ("* owl ()", [Term(("owl",), False)]),
    ],
)
def test_search_is_cut_into_terms(search: str, terms: list[Term]) -> None:
    assert parse(search) == terms


@pytest.mark.parametrize("search", ["", "   ", '""', "*", "!?", "\U0001f989", "\x00"])
def test_search_for_nothing_is_refused(search: str) -> None:
    with pytest.raises(InvalidInput, match="at least one word"):
        parse(search)


def test_search_for_too_many_words_is_refused() -> None:
    assert len(parse(" ".join(["owl"] * 32))) == 32
    with pytest.raises(InvalidInput, match="at most 32"):
        parse(" ".join(["owl"] * 33))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain words", "plain words"),
        ("日本語", " 日本 本語 語 "),
        ("語", " 語 "),
        ("a日本b", "a 日本 本 b"),
        ("cafe\u0301", "caf\u00e9"),
    ],
)
def test_text_is_indexed_in_pairs_where_there_are_no_spaces(text: str, words: str) -> None:
    assert indexed(text) == words


@given(st.text())
def test_whatever_is_searched_for_is_quoted(search: str) -> None:
    try:
        terms = parse(search)
    except InvalidInput:
        return
    pieces = match_expression(terms).split('"')
    assert len(pieces) % 2 == 1
    assert {outside.strip(" *") for outside in pieces[::2]} <= {"", "AND"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What, an owl? An OWL!", ["What", "an", "owl", "An", "OWL"]),
        ("owl owl owl", ["owl"]),
        ("私は日本語", ["私は", "は日", "日本", "本語"]),
        ('"?" *', []),
    ],
)
def test_words_of_a_text_that_is_no_search(text: str, words: list[str]) -> None:
    assert loose_words(text) == words


def test_only_the_first_words_of_a_long_text_are_looked_for() -> None:
    assert loose_words(" ".join(f"w{n}" for n in range(1000))) == [f"w{n}" for n in range(64)]


def test_any_of_several_phrases() -> None:
    assert any_of(as_terms(["owl", "hollow tree", "?!"])) == '"owl" OR "hollow tree"'
