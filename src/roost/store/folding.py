"""A text without regard to case, accents and ways of writing a character, and where in the text
that is."""

import re
import unicodedata

_ACCENTS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """Texts that say the same fold to the same."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain.casefold())


def places(text: str) -> list[tuple[int, int]]:
    """For each character of the folded text, what it is made of in this one."""
    if text.isascii():
        return [(at, at + 1) for at in range(len(text))]
    found: list[tuple[int, int]] = []
    begin = 0
    while begin < len(text):
        end = cut_after(text, begin + 1)
        found += [(begin, end)] * len(fold(text[begin:end]))
        begin = end
    return found


def unfold(text: str, at: int) -> tuple[int, int]:
    """Where that begins, in both, which a character of the folded text is made of. By halves: to
    walk through all of a long text would take longer than to fold it."""
    if text.isascii():
        return at, at
    begin, end, before = 0, len(text), 0
    while begin < (middle := _cut_between(text, begin, end)):
        length = len(fold(text[begin:middle]))
        if at < before + length:
            end = middle
        else:
            begin, before = middle, before + length
    return begin, before


def cut_before(text: str, at: int) -> int:
    """The last place up to this one where a text can be cut: its parts fold to the parts."""
    while 0 < at < len(text) and _joins(text[at]):
        at -= 1
    return at


def cut_after(text: str, at: int) -> int:
    while at < len(text) and _joins(text[at]):
        at += 1
    return at


def _cut_between(text: str, begin: int, end: int) -> int:
    """A place near the middle, or the beginning if there is none."""
    middle = (begin + end) // 2
    at = max(begin, cut_before(text, middle))
    if at == begin < middle:
        at = cut_after(text, middle)
    return at if at < end else begin


def _joins(character: str) -> bool:
    """Whether it may become one with the character before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first).startswith("M") or "\u1160" <= first <= "\u11ff"
