"""Words as PostgreSQL's tsvector has them: the same that FTS5 makes of a text, made here."""

import re
from collections.abc import Iterable, Sequence

from roost.store.folding import fold
from roost.store.words import Term, tokens_of

Alternatives = list[str]
"""Words of which a message's scope has to have one."""

_WORD = re.compile(r"[^\W_]+")
_LONGEST = 200
"""Characters of a word that count; the server takes 2 KB."""
_ROOM = 800_000
"""Bytes of words in one vector; the server takes 1 MB."""
_POSITIONS = 255
_LAST_POSITION = 16_000
"""Positions begin anew after it, where the server's own stand still: neighbours stay neighbours."""
_NOTHING = "'='"


def lexemes(text: str) -> list[str]:
    """The words of a text that `indexed` gave, without regard to case and accents."""
    return [word[:_LONGEST] for word in _WORD.findall(fold(text))]


def vector(scope: str, text: str) -> str:
    """A tsvector of a text as it goes into the index. Words of its scope are no words of the
    text."""
    places: dict[str, list[int]] = {f"={word}": [] for word in scope.split()}
    room = _ROOM
    for number, word in enumerate(lexemes(text)):
        found = places.get(word)
        if found is None:
            found = places[word] = []
            room -= len(word.encode()) + 8
        if len(found) < _POSITIONS:
            found.append(number % _LAST_POSITION + 1)
            room -= 2
        if room <= 0:
            break
    return " ".join([_entry(word, positions) for word, positions in places.items()])


def _entry(word: str, positions: list[int]) -> str:
    return f"'{word}':{','.join(map(str, sorted(set(positions))))}" if positions else f"'{word}'"


def tsquery(scope: Sequence[Alternatives], terms: Sequence[Term]) -> str:
    """All the terms, in this scope."""
    groups = [f"({' | '.join([_scoped(word) for word in words])})" for words in scope]
    return " & ".join([*groups, *[_phrase(term) for term in terms]])


def _scoped(word: str) -> str:
    return f"'={word}'"


def any_term(terms: Iterable[Term]) -> str:
    """Texts with any of these."""
    return " | ".join([_phrase(term) for term in terms]) or _NOTHING


def words_of(terms: Iterable[Term]) -> list[str]:
    """The words of all of these, each once; one that may go on ends in a star."""
    found: dict[str, None] = {}
    for term in terms:
        tokens, prefix = tokens_of(term)
        words = lexemes(" ".join(tokens))
        if prefix and words:
            words[-1] += "*"
        found |= dict.fromkeys(words)
    return list(found)


def _phrase(term: Term) -> str:
    tokens, prefix = tokens_of(term)
    words = [f"'{word}'" for word in lexemes(" ".join(tokens))]
    if not words:
        return _NOTHING
    return f"({' <-> '.join(words)}{':*' if prefix else ''})"
