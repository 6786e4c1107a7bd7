"""Markdown as the few HTML tags that Telegram has."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

# HTML is text, as everywhere: where it would only be left out, nobody could read it.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_TAGS = {"strong": "b", "em": "i", "s": "s"}
# Not tg://, which names people and changes settings, whatever its words say.
_LINKS = ("http://", "https://", "mailto:")
_LANGUAGE = re.compile(r"[\w+#.-]+")
_TAG = re.compile(r"<[^>]*>")
_EMPTY = re.compile(r"<([bis])></\1>")
_PRE = re.compile(r"(<pre>.*?</pre>)", re.DOTALL)


class Shown(NamedTuple):
    """What is sent, and what people then read."""

    markup: str
    text: str


def render(markdown: str) -> Shown:
    markup = _blocks(SyntaxTreeNode(_PARSER.parse(markdown)).children, quoted=False)
    while (fewer := _EMPTY.sub("", markup)) != markup:
        markup = fewer
    text = html.unescape(_TAG.sub("", markup))
    # Some Markdown shows nothing, a definition of a link for one. Telegram refuses empty messages.
    return Shown(markup, text) if text.strip() else Shown(_escaped(markdown), markdown)


def units(text: str) -> int:
    """The length as Telegram counts it: in UTF-16, without the markup."""
    return len(text.encode("utf-16-le")) // 2


def _blocks(nodes: Sequence[SyntaxTreeNode], *, quoted: bool) -> str:
    return "\n\n".join(filter(None, (_block(node, quoted=quoted) for node in nodes)))


def _block(node: SyntaxTreeNode, *, quoted: bool) -> str:
    match node.type:
        case "paragraph":
            return _inline(node.children)
        case "heading":
            return f"<b>{_inline(node.children, 'b')}</b>"
        case "fence" | "code_block":
            return _code(node)
        case "blockquote":
            # Quotes don't nest there.
            inner = _blocks(node.children, quoted=True)
            return inner if quoted else f"<blockquote>{inner}</blockquote>"
        case "bullet_list" | "ordered_list":
            return _list(node, quoted=quoted)
        case "table":
            return _table(node)
        case "hr":
            return "———"
        case _:
            return _escaped(node.content) if node.is_nested is False else ""


def _code(node: SyntaxTreeNode) -> str:
    code = _escaped(node.content.removesuffix("\n"))
    named = _LANGUAGE.fullmatch((node.info.split() or [""])[0])
    if named is None:
        return f"<pre>{code}</pre>"
    return f'<pre><code class="language-{named[0]}">{code}</code></pre>'


def _list(node: SyntaxTreeNode, *, quoted: bool) -> str:
    first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    return "\n".join(
        _item(item, "•" if first is None else f"{first + count}.", quoted=quoted)
        for count, item in enumerate(node.children)
    )


def _item(node: SyntaxTreeNode, mark: str, *, quoted: bool) -> str:
    parts = [part for child in node.children if (part := _block(child, quoted=quoted))]
    # Code has lines of its own, and none of them is moved.
    gap = "\n" if parts and parts[0].startswith("<pre>") else " "
    pieces = _PRE.split(gap + "\n".join(parts))
    pieces[::2] = [text.replace("\n", "\n" + " " * (len(mark) + 1)) for text in pieces[::2]]
    return mark + "".join(pieces).replace("\n" + " " * (len(mark) + 1) + "<pre>", "\n<pre>")


def _table(node: SyntaxTreeNode) -> str:
    """Telegram has no tables: columns of equal width do."""
    rows = [
        [html.unescape(_TAG.sub("", _inline(cell.children))) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return f"<pre>{_escaped(chr(10).join(lines))}</pre>"


def _inline(nodes: Sequence[SyntaxTreeNode], *inside: str) -> str:
    return "".join(_span(node, inside) for node in nodes)


def _span(node: SyntaxTreeNode, inside: tuple[str, ...]) -> str:
    match node.type:
        case "inline":
            return _inline(node.children, *inside)
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return _code_span(_escaped(node.content), inside)
        case "strong" | "em" | "s":
            tag = _TAGS[node.type]
            inner = _inline(node.children, *inside, *(() if tag in inside else (tag,)))
            return inner if tag in inside else f"<{tag}>{inner}</{tag}>"
        case "link":
            return _link(str(node.attrs["href"]), _inline(node.children, *inside, "a"))
        case "image":
            source = str(node.attrs["src"])
            return (
                _escaped(node.content) if "a" in inside else _link(source, _escaped(node.content))
            )
        case _:
            return _escaped(node.content)


def _code_span(code: str, inside: tuple[str, ...]) -> str:
    """Code stands in no other tag: those around it end before it and go on behind it."""
    if "a" in inside:
        return code
    before = "".join(f"</{tag}>" for tag in reversed(inside))
    return f"{before}<code>{code}</code>{''.join(f'<{tag}>' for tag in inside)}"


def _link(target: str, words: str) -> str:
    shown = _escaped(target)
    if not target.lower().startswith(_LINKS):
        return f"{words} ({shown})" if target else words
    return f'<a href="{html.escape(target)}">{words or shown}</a>'


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
