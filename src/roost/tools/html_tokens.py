"""HTML cut into tags and text, in time that grows no faster than the page, whatever is in it."""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

# The standard library's parser takes minutes for a megabyte of `<a ` (Python 3.11), which is why
# this is not built on it.

_TEXT = re.compile(r"(?:[^<]++|<(?![a-zA-Z/!?]))++")
_NAME = re.compile(r"[a-zA-Z][^\s/>]*+")
_BETWEEN = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(r"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s>]*+)))?+""")
_RAW = frozenset(("script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"))
_LONG_NUMBER = re.compile(r"&#0*+[0-9]{8,}+;?")


class Tag(NamedTuple):
    tag: str
    attributes: dict[str, str]
    ends: bool = False


def tokens(html: str) -> Iterator[Tag | str]:
    """Tags, and the text between them with its character references resolved."""
    place = 0
    while place < len(html):
        if found := _TEXT.match(html, place):
            yield _text(found[0])
            place = found.end()
        elif found := _NAME.match(html, place + 1):
            tag, place = _start_tag(html, found)
            yield tag
            if tag.tag in _RAW:
                text, place = _raw_text(html, place, tag.tag)
                yield text if tag.tag in ("script", "style") else _text(text)
        else:
            if html[place + 1 : place + 2] == "/" and (found := _NAME.match(html, place + 2)):
                yield Tag(found[0].lower(), {}, ends=True)
            place = _end_of_markup(html, place)


def _start_tag(html: str, name: re.Match[str]) -> tuple[Tag, int]:
    attributes: dict[str, str] = {}
    place = _after(_BETWEEN, html, name.end())
    while found := _ATTRIBUTE.match(html, place):
        value = found[2] or found[3] or found[4] or ""
        attributes.setdefault(found[1].lower(), _text(value))
        place = _after(_BETWEEN, html, found.end())
    return Tag(name[0].lower(), attributes), place + 1


def _raw_text(html: str, place: int, tag: str) -> tuple[str, int]:
    """What is text up to its own end tag, whatever it looks like."""
    end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(html, place)
    stop = end.start() if end else len(html)
    return html[place:stop], stop


def _end_of_markup(html: str, place: int) -> int:
    """Where a comment, a declaration or an end tag is over: at the end of the page, if nowhere."""
    closing = "-->" if html.startswith("<!--", place) else ">"
    end = html.find(closing, place)
    return len(html) if end < 0 else end + len(closing)


def _after(pattern: re.Pattern[str], html: str, place: int) -> int:
    found = pattern.match(html, place)
    return found.end() if found else place


def _text(text: str) -> str:
    # A number that no character has would be computed first, in the square of its digits.
    return unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
