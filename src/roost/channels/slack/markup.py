"""Markdown as Slack writes it (mrkdwn), and what people write there as plain text."""

import re
from collections.abc import Iterable
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])

_MARKS = {"strong": "*", "em": "_", "s": "~"}
_BULLETS = ("•", "◦", "▪")
_LINKED = re.compile(r"(?:https?://|mailto:)[^\s<>|]+", re.IGNORECASE)
_BARE = re.compile(r"https?://[^\s<>|\"']*[^\s<>|\"'.,;:!?)\]*_~]")

# Slack sees a mark only where a word begins or ends. These stand outside of each mark, and become a
# space of no width where a letter is beside it: in the middle of a word, and in Chinese.
_BEFORE, _AFTER = "\ue001", "\ue002"
_NO_SPACE = "\u200b"
_BESIDE = re.compile(rf"(?<=[^\W_]){_BEFORE}|{_AFTER}(?=[^\W_])")


def to_mrkdwn(markdown: str) -> str:
    """Nothing in it calls anyone: what looks like a mention is text."""
    tree = SyntaxTreeNode(_parser.parse(re.sub(f"[{_BEFORE}{_AFTER}]", "", markdown)))
    marked = _BESIDE.sub(_NO_SPACE, _blocks(tree.children))
    return marked.replace(_BEFORE, "").replace(_AFTER, "")


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _blocks(nodes: Iterable[SyntaxTreeNode], *, depth: int = 0, tight: bool = False) -> str:
    return ("\n" if tight else "\n\n").join(_block(node, depth) for node in nodes)


def _block(node: SyntaxTreeNode, depth: int) -> str:
    match node.type:
        case "paragraph":
            return _inline(node)
        case "heading":
            title = _inline(node, marked=frozenset("*"))
            return f"*{title}*" if title else ""
        case "fence" | "code_block":
            return _code(node.content)
        case "bullet_list" | "ordered_list":
            return _list(node, depth)
        case "blockquote":
            return "\n".join(f"> {line}" for line in _blocks(node.children).split("\n"))
        case "table":
            return _table(node)
        case "hr":
            return "──────────"
        case _:
            return escaped(node.content.rstrip("\n"))


def _code(content: str) -> str:
    whole = escaped(content.rstrip("\n")).replace("```", f"``{_NO_SPACE}`")
    return f"```\n{whole}\n```"


def _list(node: SyntaxTreeNode, depth: int) -> str:
    first = int(node.attrs.get("start", 1))
    bullet = _BULLETS[min(depth, len(_BULLETS) - 1)]
    lines: list[str] = []
    for number, item in enumerate(node.children, first):
        mark = f"{number}." if node.type == "ordered_list" else bullet
        inside = _blocks(item.children, depth=depth + 1, tight=True)
        lines.append(f"{mark} " + inside.replace("\n", "\n    "))
    return "\n".join(lines)


def _table(node: SyntaxTreeNode) -> str:
    """In columns, as code: Slack has no tables in messages."""
    rows = [
        [_plain(cell) for cell in row.children] for part in node.children for row in part.children
    ]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return _code("\n".join(line.rstrip() for line in lines))


def _width(text: str) -> int:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _plain(node: SyntaxTreeNode) -> str:
    if not node.children:
        return " " if node.type in ("softbreak", "hardbreak") else node.content
    return "".join(_plain(child) for child in node.children)


def _inline(node: SyntaxTreeNode, marked: frozenset[str] = frozenset()) -> str:
    """`marked` are the marks that are set already: twice, they would end each other."""
    return "".join(_span(child, marked) for child in node.children)


def _span(node: SyntaxTreeNode, marked: frozenset[str]) -> str:
    match node.type:
        case "strong" | "em" | "s":
            mark = _MARKS[node.type]
            if mark in marked:
                return _inline(node, marked)
            inside = _inline(node, marked | {mark})
            return f"{_BEFORE}{mark}{inside}{mark}{_AFTER}" if inside.strip() else inside
        case "code_inline":
            # A backtick can't stand in code of one line.
            if "`" in node.content:
                return escaped(node.content)
            return f"{_BEFORE}`{escaped(node.content)}`{_AFTER}"
        case "link":
            return _link(str(node.attrs.get("href", "")), _inline(node, marked))
        case "image":
            return _link(str(node.attrs.get("src", "")), escaped(node.content))
        case "softbreak" | "hardbreak":
            return "\n"
        case "inline":
            return _inline(node, marked)
        case _:
            return _text(node.content)


def _text(text: str) -> str:
    """With its addresses as links: Slack is told not to look for anything itself."""
    parts: list[str] = []
    end = 0
    for found in _BARE.finditer(text):
        parts += [escaped(text[end : found.start()]), f"<{escaped(found[0])}>"]
        end = found.end()
    return "".join([*parts, escaped(text[end:])])


def _link(address: str, label: str) -> str:
    label = label.replace("\n", " ").replace("|", "\uff5c").strip()
    if not _LINKED.fullmatch(address):
        return f"{label} ({escaped(address)})" if address and label else label or escaped(address)
    if "<" in label or label in ("", escaped(address)):  # a link in a link: the outer one counts
        return f"<{escaped(address)}>"
    return f"<{escaped(address)}|{label}>"


_REFERENCE = re.compile(r"<([^<>]*)>")


def from_mrkdwn(text: str, *, bot: str) -> str:
    """As it was typed. The bot's own name is left out; people are called by what Slack says."""

    def said(reference: re.Match[str]) -> str:
        target, _, label = reference[1].partition("|")
        if target == f"@{bot}":
            return ""
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        if target.startswith("@"):
            return f"@{(label or target[1:]).removeprefix('@')}"
        if target.startswith("!"):
            return label or "@" + target[1:].partition("^")[0]
        return _address(target, label)

    plain = _REFERENCE.sub(said, text)
    plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return plain.strip()


def _address(target: str, label: str) -> str:
    """Slack makes links of what looks like one: then the label is what was typed."""
    if not label or target.removeprefix("mailto:") == label:
        return label or target
    if target.partition("://")[2].rstrip("/") == label.rstrip("/"):
        return label
    return f"{label} ({target})"
