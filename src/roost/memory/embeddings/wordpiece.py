"""Cuts text into the pieces of words that a BERT model knows by number."""

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

_LONGEST = 100
"""Characters of a word; a longer one is unknown as a whole."""

_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """For a model that makes no difference between upper and lower case, nor of accents. `file` has
    a piece on each line; its number is its line."""

    def __init__(self, file: Path) -> None:
        pieces = file.read_text(encoding="utf-8").splitlines()
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._unknown = self._numbers["[UNK]"]
        self._begin, self._end = self._numbers["[CLS]"], self._numbers["[SEP]"]

    def encode(self, text: str, longest: int) -> list[int]:
        """At most `longest` numbers, with those that say where a text begins and ends."""
        numbers = [self._begin]
        for word in _words(text):
            numbers += self._pieces(word)
            if len(numbers) >= longest:
                break
        return [*numbers[: longest - 1], self._end]

    def _pieces(self, word: str) -> Sequence[int]:
        """The longest piece that is known, again and again."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._numbers), None)
            if end is None:
                break
            found.append(self._numbers[mark + word[start:end]])
            start = end
        return found if start == len(word) else [self._unknown]


def _words(text: str) -> Iterator[str]:
    word = ""
    for character in _plain(text):
        alone = _stands_alone(character)
        if alone or character.isspace():
            if word:
                yield word
            word = ""
            if alone:
                yield character
        else:
            word += character
    if word:
        yield word


def _plain(text: str) -> str:
    """In small letters, without accents and without what can't be seen."""
    seen = "".join([" " if each in "\t\n\r" else each for each in text if not _is_unseen(each)])
    apart = unicodedata.normalize("NFD", seen)
    return "".join([each for each in apart if unicodedata.category(each) != "Mn"]).lower()


def _is_unseen(character: str) -> bool:
    if character in "\t\n\r":
        return False
    return character in "\x00\ufffd" or unicodedata.category(character).startswith("C")


def _stands_alone(character: str) -> bool:
    """Punctuation, also what only ASCII counts as such, and characters that are words."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    if unicodedata.category(character).startswith("P"):
        return True
    return any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
