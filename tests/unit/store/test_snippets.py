"""The part of a text that is shown of a hit, and what is marked in it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.core.errors import InvalidInput
from roost.store.snippets import snippet
from roost.store.words import parse


def marked(text: str, search: str, *, width: int = 160) -> list[str]:
    shown = snippet(text, parse(search), width=width)
    return [shown.text[start:end] for start, end in shown.marks]


@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("An owl sleeps", "owl", ["owl"]),
        ("An OWL, an owl", "owl", ["OWL", "owl"]),
        ("Owls and owl", "owl", ["owl"]),
        ("Owls and owl", "ow*", ["Owls", "owl"]),
        ("a hollow, old tree", '"hollow old"', ["hollow, old"]),
        ("Café au lait", "cafe", ["Café"]),
        ("cafe au lait", "café", ["cafe"]),
        ("私は日本語を話す", "日本語", ["日本語"]),
        ("私は日本語を話す", "日", ["日"]),
        ("Python日本 3", "Python日本", ["Python日本"]),
        ("日owl", "owl", ["owl"]),
        ("nothing of it", "owl", []),
        ("dont, don't", "don't", ["don't"]),
        ("h½ ½", "1", ["½"]),
        ("हिन्दी भाषा", "हिन्दी", ["हिन्दी"]),
    ],
)
def test_what_was_searched_for_is_marked(text: str, search: str, expected: list[str]) -> None:
    assert marked(text, search) == expected


@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("아니 오늘 안녕하세요", "안녕", ["안녕"]),
        ("がく かく", "がく", ["がく"]),
        ("がく かく", "かく", ["かく"]),
        ("日本 本語 日本語", '"日本 本語"', ["日本 本語"]),
        ("ソード・アート", "ソード・アート", ["ソード・アート"]),
        ("ソード・アート", "アー", ["アー"]),
        ("日本", "・本", ["本"]),
        ("日・本語", '"日 本語"', []),
    ],
)
def test_characters_are_marked_as_the_index_has_them(
    text: str, search: str, expected: list[str]
) -> None:
    assert marked(text, search) == expected


@pytest.mark.parametrize(
    ("text", "search", "expected"),
    [
        ("un re\u0301sume\u0301 court", "résumé", "re\u0301sume\u0301"),
        ("un re\u0301sume\u0301 court", "court", "court"),
        ("……… résumé", "resume", "résumé"),
        ("ｶﾞｽ ｶｽ", "ガス", "ｶﾞｽ"),
        ("ｶﾞｽ ｶｽ", "カス", "ｶｽ"),
        ("a ﬁne day", "fine", "ﬁne"),
        (unicodedata.normalize("NFD", "아니 안녕"), "안녕", unicodedata.normalize("NFD", "안녕")),
    ],
)
def test_marks_are_where_the_text_has_it_however_it_is_written(
    text: str, search: str, expected: str
) -> None:
    assert marked(text, search) == [expected]


def test_terms_that_overlap_are_marked_as_one() -> None:
    assert marked("東京都", "東京 京都") == ["東京都"]
    assert marked("a hollow tree", 'hollow "hollow tree"') == ["hollow tree"]


@pytest.mark.parametrize(
    ("before", "hit", "after"),
    [
        ("leaf " * 1000, "owl", " leaf" * 1000),
        ("아니 " * 1000, "안녕", "하세요"),
        ("re\u0301sume\u0301… " * 1000, "owl", " ﬁ" * 1000),
        ("日本語を話す。" * 1000, "梟", "日本語" * 1000),
    ],
)
def test_snippet_is_the_part_around_the_first_place(before: str, hit: str, after: str) -> None:
    shown = snippet(before + hit + after, parse(hit), width=80)
    assert len(shown.text) <= 80
    assert [shown.text[start:end] for start, end in shown.marks] == [hit]
    assert shown.text in before + hit + after


def test_a_word_that_the_snippet_cuts_off_is_not_taken_for_another() -> None:
    text = "owl " + "x" * 33 + " owlet"
    assert snippet(text, parse("owl"), width=41).text.endswith(" owl")
    assert marked(text, "owl", width=41) == ["owl"]


@given(st.text(), st.text())
def test_marks_lie_inside_the_snippet_and_the_snippet_inside_the_text(
    text: str, search: str
) -> None:
    try:
        terms = parse(search)
    except InvalidInput:
        return
    shown = snippet(text, terms)
    assert shown.text in text
    ends = [0, *(place for mark in shown.marks for place in mark), len(shown.text)]
    assert ends == sorted(ends)
    assert all(start < end for start, end in shown.marks)
