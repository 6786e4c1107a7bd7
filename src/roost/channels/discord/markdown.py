"""Markdown as Discord shows it: nearly the same, without tables and with a few marks of its own."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark").enable("table")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BOLD = re.compile(r"(?<![\w_])__(?=[^\s_])(.+?)(?<=[^\s_])__(?![\w_])")
_IMAGE = re.compile(r"!\[([^\]]*)\](?=\()")
_ALL = re.compile(r"@(?=everyone\b|here\b)")
_DEEP_HEADING = re.compile(r"^( {0,3})#{4,6}[ \t]+(.*?)[ \t]*#*$")
_DEEP_QUOTE = re.compile(r"^( {0,3})>(?:[ \t]?>)+[ \t]?")
_TASK = re.compile(r"^(\s*(?:[-*+]|\d+[.)])[ \t]+)\[([ xX])\](?=\s)")
_RULE = "⎯" * 12
_NO_MENTION = "@\N{ZERO WIDTH SPACE}"


def to_discord(markdown: str) -> str:
    """Tables become blocks of code; what only Discord reads as a mark is taken as it was meant."""
    lines = markdown.split("\n")
    shown: list[str] = []
    at = 0
    tokens = _PARSER.parse(markdown)
    for number, token in enumerate(tokens):
        if token.map is None or token.map[0] < at:
            continue
        first, end = token.map
        instead = _block(token, tokens[number:], lines[first:end])
        if instead is not None:
            shown += [_line(line) for line in lines[at:first]] + instead
            at = end
    return "\n".join(shown + [_line(line) for line in lines[at:]])


def _block(token: Token, rest: list[Token], lines: list[str]) -> list[str] | None:
    """What stands there instead of a block, or None if its lines are looked at one by one."""
    if token.type in ("fence", "code_block"):
        return lines
    if token.type == "table_open" and token.level == 0:
        return [*_table(rest), *([""] if lines and not lines[-1].strip() else [])]
    if token.type == "hr" and token.level == 0:
        return [_RULE]
    if token.type == "heading_open" and token.level == 0 and token.markup in ("=", "-"):
        return ["#" * int(token.tag[1]) + " " + _line(" ".join(lines[:-1]))]
    return None


def _line(line: str) -> str:
    line = _DEEP_QUOTE.sub(r"\1> ", line)
    line = _TASK.sub(lambda found: found[1] + ("☐" if found[2] == " " else "☑"), line)
    if heading := _DEEP_HEADING.match(line):
        line = f"{heading[1]}**{heading[2].replace('**', '')}**"
    shown, at = "", 0
    for code in _CODE.finditer(line):
        shown += _words(line[at : code.start()]) + code[0]
        at = code.end()
    return shown + _words(line[at:])


def _words(text: str) -> str:
    # `__` underlines, and `||` hides what is between two of them.
    text = _BOLD.sub(r"**\1**", text).replace("||", r"\|\|")
    text = _IMAGE.sub(lambda found: f"[{found[1] or 'image'}]", text)
    return _ALL.sub(_NO_MENTION, text)


def _table(tokens: list[Token]) -> list[str]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_cell(token))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    drawn = [_row(row, widths) for row in rows]
    return ["```", drawn[0], "  ".join("─" * width for width in widths), *drawn[1:], "```"]


def _row(cells: list[str], widths: list[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _cell(inline: Token) -> str:
    text, links = "", list[str]()
    for child in inline.children or ():
        if child.type == "link_open":
            links.append(str(child.attrs.get("href", "")))
        elif child.type == "link_close":
            link = links.pop()
            text += "" if text.endswith(link) else f" ({link})"
        else:
            text += " " if child.type == "softbreak" else child.content
    return text.replace("```", "'''")
