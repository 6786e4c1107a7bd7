"""Counts the kinds of characters and words in a text, as fast as bytes can be searched."""

from typing import NamedTuple

SAMPLED = 64 << 10
"""Characters from which a text is sampled instead of counted, so that no tool's output of megabytes
holds up everybody."""

_SLICES = 64
_SLICE = 512


class Census(NamedTuple):
    """`words` begin in lower case, `capitalised` have a capital somewhere at the start of a run;
    `long` are runs of eight lower-case letters; `marks` are runs of punctuation."""

    words: float
    long: float
    capitals: float
    capitalised: float
    digits: float
    punctuation: float
    marks: float
    lines: float
    kana: float
    han: float
    hangul: float
    accented: float
    other: float
    rare: float

    def times(self, factor: float) -> "Census":
        return Census(*[count * factor for count in self])


def _class_of(byte: int) -> str:
    """What a byte of UTF-8 stands for. The first byte of a sequence tells the script well enough;
    the others are dropped before they are looked at."""
    character = chr(byte)
    if byte < 0x80:
        if character in "\r\n":
            return "n"
        if character in " \t":
            return "s"
        if character.isdigit():
            return "d"
        if character.isalpha():
            return "a" if character.islower() else "A"
        return "p"
    if byte == 0xE3:
        return "k"
    if 0xE4 <= byte <= 0xE9:
        return "h"
    if 0xEA <= byte <= 0xED:
        return "g"
    if 0xC3 <= byte <= 0xC5:
        return "l"
    return "o" if 0xC2 <= byte <= 0xDF else "x"


_CLASSES = "".join([_class_of(byte) for byte in range(256)]).encode()
_CONTINUATION = bytes(range(0x80, 0xC0))


def census(text: str) -> Census:
    if len(text) <= SAMPLED:
        return _census(text)
    stride = (len(text) - _SLICE) / (_SLICES - 1)
    starts = [round(place * stride) for place in range(_SLICES)]
    sample = "".join([text[start : start + _SLICE] for start in starts])
    return _census(sample).times(len(text) / len(sample))


def _census(text: str) -> Census:
    # A lone surrogate can't be sent either: it is replaced there as here.
    classes = b"s" + text.encode("utf-8", "replace").translate(_CLASSES, _CONTINUATION)
    count = classes.count
    return Census(
        words=count(b"sa") + count(b"na") + count(b"pa") + count(b"da"),
        long=count(b"aaaaaaaa"),
        capitals=count(b"A"),
        capitalised=count(b"sA") + count(b"nA") + count(b"pA") + count(b"dA") + count(b"aA"),
        digits=count(b"d"),
        punctuation=count(b"p"),
        marks=count(b"sp") + count(b"np") + count(b"ap") + count(b"dp") + count(b"Ap"),
        lines=count(b"n"),
        kana=count(b"k"),
        han=count(b"h"),
        hangul=count(b"g"),
        accented=count(b"l"),
        other=count(b"o"),
        rare=count(b"x"),
    )
