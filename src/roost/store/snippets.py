"""The part of a text that a search found, with the places where its terms stand."""

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from roost.store.folding import cut_after, cut_before, fold, places, unfold
from roost.store.words import CJK, Term, tokens_of

_LETTER = rf"[^\W_{CJK}]"
_CHARACTER = rf"(?!\W)[{CJK}]"
# What stands among them and is none, as ・ does in ソード・アート, makes a pair with its neighbour,
# of which the index has the neighbour.
_BETWEEN = rf"(?=\W)[{CJK}]"
_NO_WORD = rf"(?:(?!{_BETWEEN}{_CHARACTER})[\W_])*"
_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(f"[{CJK}]")


class Snippet(msgspec.Struct, frozen=True):
    """Part of a text, with the ranges in it that were searched for."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: list[Term], *, width: int = 160) -> Snippet:
    """The part of a text around the first place where a term stands."""
    patterns = _patterns(tuple(terms))
    folded = fold(text)
    hits = [hit.start() for pattern in patterns if (hit := pattern.search(folded))]
    if not hits:
        return Snippet(text[:width], ())
    hit, hit_folded = unfold(text, min(hits))
    start = _word_start(text, max(0, hit - width // 4), hit)
    end = min(len(text), start + width)
    begin = cut_before(text, start)
    begin_folded = hit_folded - len(fold(text[begin:hit]))
    part = places(text[begin : cut_after(text, end)])
    found = _found(patterns, folded, begin_folded, part)
    return Snippet(text[start:end], _marks(found, begin - start, end - start))


def _word_start(text: str, at: int, hit: int) -> int:
    """Move a cut to the next space, if one is near."""
    if at == 0:
        return 0
    space = text.find(" ", at, min(at + 20, hit))
    return at if space < 0 else space + 1


def _found(
    patterns: list[re.Pattern[str]], folded: str, begin: int, part: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where the terms stand in a part, over one another too. It is not cut out of the folded text,
    where a word that is cut off would look like another."""
    hits = sorted([hit for pattern in patterns for hit in _hits(pattern, folded, begin, len(part))])
    return [
        (part[first - begin][0], part[min(last - begin, len(part)) - 1][1]) for first, last in hits
    ]


def _hits(
    pattern: re.Pattern[str], folded: str, begin: int, length: int
) -> Iterator[tuple[int, int]]:
    at = begin
    while (hit := pattern.search(folded, at)) and hit.start() < begin + length:
        yield hit.span()
        at = hit.start() + 1


def _marks(found: list[tuple[int, int]], shift: int, width: int) -> tuple[tuple[int, int], ...]:
    """What is shown of them, as one where they overlap."""
    marks: list[tuple[int, int]] = []
    for first, last in found:
        start, end = max(0, first + shift), min(last + shift, width)
        if marks and start < marks[-1][1]:
            marks[-1] = (marks[-1][0], max(end, marks[-1][1]))
        elif start < end:
            marks.append((start, end))
    return tuple(marks)


@lru_cache(maxsize=64)
def _patterns(terms: tuple[Term, ...]) -> list[re.Pattern[str]]:
    """What the index matches, for a folded text: made of the words that are asked of the index."""
    return [re.compile(phrase) for term in terms if (phrase := _phrase(term))]


def _phrase(term: Term) -> str:
    tokens, prefix = tokens_of(term)
    words = _WORD.findall(fold(" ".join(tokens)))
    if not words:
        return ""
    *before, final = words
    begun = [_begun(word) for word in before]
    return _NO_WORD.join([*begun, _final(final, prefix=prefix, first=not before)])


def _begun(word: str) -> str:
    """A word of the index, up to where the next one begins: inside it, if it is a pair."""
    if not _RUN.match(word):
        return _letters(word)
    if len(word) > 1:
        return f"{word[0]}(?={word[1:]})"
    return f"(?:{word}(?!{_CHARACTER})|{_BETWEEN}(?={word}))"


def _final(word: str, *, prefix: bool, first: bool) -> str:
    if not _RUN.match(word):
        return _letters(word, prefix=prefix)
    if len(word) > 1 or (prefix and first):
        return word
    if prefix:
        return f"(?:{_BETWEEN})?{word}"
    return f"(?:{word}(?!{_CHARACTER})|{_BETWEEN}{word})"


def _letters(word: str, *, prefix: bool = False) -> str:
    """The word first: to look for that is much quicker than to look for its beginning."""
    end = f"{_LETTER}*" if prefix else f"(?!{_LETTER})"
    return f"{word}(?<!{_LETTER}{word}){end}"
