"""The words of a text and of a search.

Scripts written without spaces (Chinese, Japanese) and Korean are cut into overlapping pairs of
characters, so that any two neighbouring characters can be found. A run of n characters becomes its
n-1 pairs and its last character: 日本語 is 日本, 本語, 語.
"""

import re
import unicodedata
from collections.abc import Iterable

import msgspec

from roost.core.errors import InvalidInput

CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{CJK}]+")
_TERM = re.compile(r'"([^"]*)"?(\*?)|(\S+)')
# An accent that makes no one character with its letter, as in ọ̀rọ̀, ends no word.
_PIECE = re.compile(rf"[{CJK}]+|[^\W_{CJK}](?:[^\W_{CJK}]|[\u0300-\u036f])*")
_MOST_TERMS = 32
_MOST_WORDS = 64


class Term(msgspec.Struct, frozen=True):
    """A word or a phrase; `pieces` are words and runs of CJK characters, one after the other."""

    pieces: tuple[str, ...]
    prefix: bool


def indexed(text: str) -> str:
    """A text as it goes into the index."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run[0], last=True))} ", text)


def _pairs(run: str, *, last: bool) -> list[str]:
    """`last` adds the last character by itself; a run of one is that character."""
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return [*pairs, run[-1]] if last or not pairs else pairs


def parse(search: str) -> list[Term]:
    """Words, "phrases in quotes", and prefixes ending in *. All of them must be found."""
    terms: list[Term] = []
    for quoted, star, word in _TERM.findall(unicodedata.normalize("NFKC", search)):
        text = word or quoted
        if pieces := tuple(_PIECE.findall(text)):
            terms.append(Term(pieces, bool(star) or word.endswith("*")))
    if not terms:
        raise InvalidInput("There is nothing to search for. Enter at least one word.")
    if len(terms) > _MOST_TERMS:
        raise InvalidInput(f"Search for at most {_MOST_TERMS} words at once.")
    return terms


def match_expression(terms: list[Term]) -> str:
    """The terms in the language of FTS5. Every token is quoted: none of it is read as syntax."""
    return " AND ".join([_phrase(term) for term in terms])


def loose_words(text: str) -> list[str]:
    """The words of a text that is no search, each once, for `any_of`; pairs of characters where
    words can't be told apart. Of a long text the first ones."""
    words: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text)):
        words += _pairs(piece, last=False) if _RUN.match(piece) else [piece]
    return list(dict.fromkeys(words))[:_MOST_WORDS]


def as_terms(phrases: Iterable[str]) -> list[Term]:
    return [Term(pieces, False) for each in phrases if (pieces := tuple(_PIECE.findall(each)))]


def any_of(terms: Iterable[Term]) -> str:
    """In the language of FTS5: texts with any of these."""
    return " OR ".join([_phrase(term) for term in terms])


def scope_word(kind: str, value: str) -> str:
    """A word for an index's scope. Two values may give one word: the query checks the rows."""
    return kind + "".join([c for c in value.lower() if c.isascii() and c.isalnum()])


def _phrase(term: Term) -> str:
    tokens, prefix = tokens_of(term)
    return f'"{" ".join(tokens)}"{" *" if prefix else ""}'


def tokens_of(term: Term) -> tuple[list[str], bool]:
    """The words of the index that stand in a row where the term does, and whether the last may go
    on."""
    tokens: list[str] = []
    *before, final = term.pieces
    for piece in before:
        tokens += _pairs(piece, last=True) if _RUN.match(piece) else [piece]
    prefix = term.prefix
    if _RUN.match(final):
        tokens += _pairs(final, last=False)
        # One character by itself begins a pair, or is the last of its run.
        prefix = prefix or len(final) == 1
    else:
        tokens.append(final)
    return tokens, prefix
