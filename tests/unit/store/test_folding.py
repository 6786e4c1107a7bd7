"""Texts that say the same fold to the same, and back to what each part of it is made of."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.store.folding import cut_after, cut_before, fold, places, unfold

# Characters that become one with others, or several.
HARD = st.text("aeé\u0301\u0323ﬁ…½ßİかが\u3099ｶﾞ゛한ㅎㅏㄴ\u1100\u1161\u11a8ﾡ語・ि _", max_size=40)
texts = st.one_of(st.text(), HARD)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Owl", "oWL"),
        ("résumé", "re\u0301sume\u0301"),
        ("café", "cafe"),
        ("ガス", "ｶﾞｽ"),
        ("fine", "ﬁne"),
        ("한국", unicodedata.normalize("NFD", "한국")),
        ("Straße", "STRASSE"),
    ],
)
def test_texts_that_say_the_same_fold_to_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("ば", "ぱ"), ("안", "아"), ("ソ", "ゾ")])
def test_marks_that_make_another_letter_stay(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(texts, st.integers(0, 40))
def test_a_text_folds_by_its_parts(text: str, at: int) -> None:
    for cut in (cut_before(text, at), cut_after(text, at)):
        assert fold(text[:cut]) + fold(text[cut:]) == fold(text)


@given(texts)
def test_every_part_of_the_folded_text_is_made_of_a_part_of_the_text(text: str) -> None:
    made_of = places(text)
    assert len(made_of) == len(fold(text))
    for at, (begin, end) in enumerate(made_of):
        assert fold(text)[at] in fold(text[begin:end])
        found, folded = unfold(text, at)
        assert (found, folded) == (begin, len(fold(text[:begin])))
