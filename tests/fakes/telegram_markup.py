"""Telegram's HTML as Telegram reads it, or stricter: what it would mend in silence is refused."""

import html
import re

_TOKEN = re.compile(r"<(/?)([a-z][a-z-]*)((?:\s+[a-z-]+=\"[^\"<>]*\")*)\s*>|<|>|[^<>]+", re.DOTALL)
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);)")
_ATTRIBUTES = {
    "b": r"",
    "i": r"",
    "u": r"",
    "s": r"",
    "pre": r"",
    "blockquote": r"",
    "code": r"( class=\"language-[^\"\s]+\")?",
    "a": r" href=\"[^\"]+\"",
}
_ALONE = {"code", "pre", "a", "blockquote"}


class Unreadable(Exception):
    """Why Telegram can't read it."""


def read_html(markup: str) -> str:
    """The text that people see."""
    open_tags: list[str] = []
    text: list[str] = []
    for token in _TOKEN.finditer(markup):
        end, tag, attributes = token.groups()
        if tag is None:
            text.append(_text(token[0]))
        elif end:
            if not open_tags or open_tags.pop() != tag:
                raise Unreadable(f"unexpected end tag {tag} at {token.start()}")
        else:
            _check(tag, attributes, open_tags)
            open_tags.append(tag)
    if open_tags:
        raise Unreadable(f"can't find the end tag of {open_tags[-1]}")
    return "".join(text)


def _text(part: str) -> str:
    if part in "<>" or _ENTITY.search(part):
        raise Unreadable(f"{part[:40]!r} is not escaped")
    return html.unescape(part)


def _check(tag: str, attributes: str, around: list[str]) -> None:
    if tag not in _ATTRIBUTES or re.fullmatch(_ATTRIBUTES[tag], attributes) is None:
        raise Unreadable(f"unsupported start tag {tag}{attributes}")
    if attributes and tag == "code" and around[-1:] != ["pre"]:
        raise Unreadable("a language is for blocks")
    inner = around[:-1] if around[-1:] == ["pre"] and tag == "code" and attributes else around
    if "code" in inner or "pre" in inner:
        raise Unreadable(f"{tag} in code")
    if tag in {"code", "pre"} and set(inner) - {"blockquote"}:
        raise Unreadable(f"{tag} in {inner[-1]}")
    if tag in inner and tag in _ALONE:
        raise Unreadable(f"{tag} in itself")
