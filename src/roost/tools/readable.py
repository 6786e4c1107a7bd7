"""What a page says, as Markdown: its main content, without what surrounds it."""

import re
from collections.abc import Sequence

import msgspec
from yarl import URL

from roost.tools.html_tree import BLOCKS, Element, parse

_ALWAYS_DROPPED = frozenset(
    [
        *("audio", "base", "canvas", "embed", "head", "iframe", "link", "math", "meta"),
        *("noscript", "object", "script", "style", "svg", "template", "title", "video"),
    ]
)
# Seldom what a page is about; kept if nothing else is there.
_FURNITURE = frozenset(
    ["aside", "button", "dialog", "footer", "form", "input", "nav", "select", "textarea"]
)
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_ENOUGH = 200
"""With fewer characters than this, and many more around them, they are not the main content."""

_LEVELS = 8
"""Lists and quotations in one another are indented up to here: deeper, a page of nothing else would
grow a hundredfold."""


class Readable(msgspec.Struct, frozen=True):
    title: str
    text: str


def readable(html: str, url: str) -> Readable:
    root = parse(html)
    base = _base(root, url)
    text = _written(_main(root), base, _ALWAYS_DROPPED | _FURNITURE)
    if len(text) < _ENOUGH:
        all_text = _written(root, base, _ALWAYS_DROPPED)
        text = all_text if len(all_text) > 10 * len(text) else text
    return Readable(_title(root), text)


def _written(element: Element, base: URL, dropped: frozenset[str]) -> str:
    return "\n\n".join(_Writer(base, dropped).blocks(element)).strip()


def _base(root: Element, url: str) -> URL:
    page = URL(url)
    for element in root.elements():
        if element.tag == "base" and (href := element.attributes.get("href")):
            return _joined(page, href) or page
    return page


def _title(root: Element) -> str:
    for element in root.elements():
        if element.tag == "title":
            return _one_line(element.text())
    return ""


def _main(root: Element) -> Element:
    articles: list[Element] = []
    for element in root.elements():
        if element.tag == "main" or element.attributes.get("role") == "main":
            return element
        if element.tag == "article":
            articles.append(element)
    return articles[0] if len(articles) == 1 else root


def _is_hidden(element: Element) -> bool:
    """Whether people don't see it, so that it is not meant for them either."""
    style = re.sub(r"\s", "", element.attributes.get("style", "").lower())
    return (
        "hidden" in element.attributes
        or element.attributes.get("aria-hidden") == "true"
        or "display:none" in style
        or "visibility:hidden" in style
    )


class _Writer:
    def __init__(self, base: URL, dropped: frozenset[str]) -> None:
        self._base = base
        self._dropped = dropped
        self._level = 0

    def blocks(self, element: Element) -> list[str]:
        """The paragraphs, lists and so on in an element. Text between blocks is a paragraph."""
        found: list[str] = []
        line: list[str] = []
        for child in element.children:
            if isinstance(child, Element) and self._is_block(child):
                found += _paragraph(line)
                line.clear()
                found += self._block(child)
            else:
                line.append(self._inline(child))
        return [*found, *_paragraph(line)]

    def _is_block(self, element: Element) -> bool:
        return element.tag in BLOCKS or (element.holds_block and element.tag != "a")

    def _skips(self, element: Element) -> bool:
        return element.tag in self._dropped or _is_hidden(element)

    def _block(self, element: Element) -> list[str]:
        if self._skips(element):
            return []
        match element.tag:
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                text = _one_line(self._inside(element))
                return [f"{'#' * int(element.tag[1])} {text}"] if text else []
            case "pre":
                return _code_block(element)
            case "ul" | "ol" | "menu":
                return self._list(element)
            case "table":
                return self._table(element)
            case "blockquote":
                return self._indented(element, "> ", "> ", "\n\n")
            case "dd":
                return self._indented(element, "- ", "  ", "\n\n")
            case "hr":
                return ["---"]
            case _:
                return self.blocks(element)

    def _list(self, element: Element) -> list[str]:
        items: list[str] = []
        number = 0
        for child in element.children:
            if not isinstance(child, Element):
                continue
            number += 1
            mark = f"{number}. " if element.tag == "ol" else "- "
            if not self._skips(child):
                items += self._indented(child, mark, " " * len(mark), "\n")
        return ["\n".join(items)] if items else []

    def _indented(self, element: Element, first: str, others: str, between: str) -> list[str]:
        self._level += 1
        text = between.join(self.blocks(element))
        self._level -= 1
        if not text or self._level >= _LEVELS:
            return [text] if text else []
        return [(first + text.replace("\n", f"\n{others}")).replace(f"\n{others}\n", "\n\n")]

    def _table(self, element: Element) -> list[str]:
        if element.holds_table:  # it lays out the page
            return self.blocks(element)
        rows = [
            [cell for cell in row.children if isinstance(cell, Element) and cell.tag in _CELLS]
            for row in element.elements()
            if row.tag == "tr"
        ]
        width = max([len(row) for row in rows], default=0)
        if width < 2:
            return self.blocks(element)
        lines = [[self._cell(cell) for cell in row] for row in rows]
        written = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in lines if row]
        written.insert(1, f"|{' --- |' * width}")
        return ["\n".join(written)]

    def _cell(self, element: Element) -> str:
        return "" if self._skips(element) else _one_line(self._inside(element)).replace("|", "\\|")

    def _inside(self, element: Element) -> str:
        return "".join([self._inline(child) for child in element.children])

    def _inline(self, node: Element | str) -> str:
        if isinstance(node, str):
            return re.sub(r"\s+", " ", node)
        if self._skips(node):
            return ""
        match node.tag:
            case "br":
                return "\n"
            case "img":
                alt = _one_line(node.attributes.get("alt", ""))
                return f"[image: {alt}]" if alt else ""
            case "a":
                return self._link(node)
            case tag if tag in _CODE:
                return _code(_one_line(node.text()))
            case _:
                return self._phrase(node)

    def _phrase(self, node: Element) -> str:
        inside = self._inside(node)
        if node.tag in BLOCKS:
            return f" {inside} "
        return _marked(inside, _MARKS[node.tag]) if node.tag in _MARKS else inside

    def _link(self, element: Element) -> str:
        inside = self._inside(element)
        text = _one_line(inside)
        href = element.attributes.get("href", "").strip()
        target = None if not href or href.startswith("#") else _joined(self._base, href)
        if not text or target is None:
            return inside
        before = " " if inside[:1].isspace() else ""
        after = " " if inside[-1:].isspace() else ""
        return f"{before}[{text}]({_target(target)}){after}"


_CELLS = ("td", "th")


def _joined(base: URL, href: str) -> URL | None:
    try:
        target = base.join(URL(href))
    except ValueError:
        return None
    return target if target.scheme in ("http", "https", "mailto") else None


def _target(url: URL) -> str:
    return str(url).replace("(", "%28").replace(")", "%29").replace(" ", "%20")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(line: Sequence[str]) -> list[str]:
    lines = [re.sub(" +", " ", each).strip() for each in "".join(line).split("\n")]
    text = "\n".join(lines).strip()
    return [re.sub(r"\n{2,}", "\n\n", text)] if text else []


def _marked(inside: str, mark: str) -> str:
    text = inside.strip()
    return inside.replace(text, f"{mark}{text}{mark}", 1) if text else inside


def _code(text: str) -> str:
    if not text:
        return ""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _code_block(element: Element) -> list[str]:
    text = element.text().strip("\n").rstrip()
    if not text.strip():
        return []
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return [f"{fence}{_language(element)}\n{text}\n{fence}"]


def _language(element: Element) -> str:
    for each in element.elements():
        found = re.search(r"(?:lang|language|source)-([\w+#-]+)", each.attributes.get("class", ""))
        if found:
            return found[1]
    return ""
