"""Which words tell something, whether two texts say the same, and what to recall first."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import timedelta

from roost.core.facts import Fact, Found

_MOST_WORDS = 30
"""As many words of a message as are looked for: the rest of a long one rarely adds anything."""

_FLATNESS = 10
"""How little the first few places of a ranking differ when rankings are merged."""

_WORD = re.compile(r"[^\W_]+")

_ARTICLES = {"a", "an", "the", "der", "die", "das", "den", "dem", "ein", "eine", "einen", "einem"}

# Words that stand in every text and find everything.
_EMPTY_WORDS = """
a about all also am an and any are as at be been but by can could did do does for from get go had
has have hello hey hi how i if in into is it its just let like make may me more most my now of ok
on one or our out please same see should so some such take tell than thanks that the their them
then there these they thing things this those to too up us use user very want was we well were what
when where which while who whom why will with would yes you your
aber als am an auch auf aus bei bin bist bitte da das dass dem den der des die dies diese doch du
ein eine einem einen einer er es für hat habe haben ich ihr im in ist ja kann mein mich mir mit
noch nun oder schon sich sie sind so über um und uns vom von war was wenn wer wie wir wird wo zu
zum zur
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())


def telling(text: str) -> str:
    """What to search for on behalf of someone who said this: the words that tell something, of one
    thing and of several."""
    words = [word for word in _words(text) if word not in _EMPTY and not _is_letter(word)]
    asked = list(dict.fromkeys(words))[:_MOST_WORDS]
    return " ".join(dict.fromkeys([*asked, *[_other_number(word) for word in asked]]))


def _other_number(word: str) -> str:
    """parrots of parrot, parrot of parrots; roughly, since what does not exist finds nothing."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else f"{word}s"


def same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but case, punctuation and articles. Everything else may
    turn a meaning round."""
    words = _stated(one)
    return bool(words) and words == _stated(other)


def said(text: str, words: str) -> bool:
    """Whether someone's words have at least half of what tells something in a text."""
    telling_words = {word for word in _words(text) if word not in _EMPTY and not _is_letter(word)}
    heard = {each for word in _words(words) for each in (word, _other_number(word))}
    return bool(telling_words) and 2 * len(telling_words & heard) >= len(telling_words)


def _stated(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _ARTICLES]


def _is_letter(word: str) -> bool:
    """What an apostrophe leaves behind."""
    return len(word) == 1 and word.isascii() and word.isalpha()


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def ranked(found: Iterable[Found], *, now: int, half_life: timedelta | None) -> Sequence[Fact]:
    """The best matches first. Trust counts, and so does age if memories are to fade."""
    weighed = sorted(found, key=lambda each: -each.score * _weight(each.fact, now, half_life))
    return [each.fact for each in weighed]


def merged(*rankings: Sequence[Fact]) -> Sequence[Fact]:
    """One ranking of several, by reciprocal ranks: what stands high in one is taken for good, what
    stands in both for better. Scores of different kinds can't be compared; places can."""
    facts = {fact.id: fact for ranking in rankings for fact in ranking}
    points = dict.fromkeys(facts, 0.0)
    for ranking in rankings:
        for place, fact in enumerate(ranking):
            points[fact.id] += 1 / (_FLATNESS + place)
    return sorted(facts.values(), key=lambda fact: -points[fact.id])


def _weight(fact: Fact, now: int, half_life: timedelta | None) -> float:
    weight = 0.25 + fact.trust
    if half_life is not None:
        age = timedelta(milliseconds=max(0, now - fact.updated_at))
        weight *= 0.5 ** min(64.0, age / half_life)
    return weight
