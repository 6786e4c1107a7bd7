"""HTML as a tree, mended where it is broken; never deeper than can be walked by recursion."""

from collections.abc import Iterator

from roost.tools.html_tokens import tokens

DEPTH = 100
"""What is nested deeper than this becomes a child of what it is in, with its text."""
ELEMENTS = 100_000
"""With these, a page ends."""

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "body", "center", "dd", "details"),
        *("dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li"),
        *("main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"),
        *("td", "tfoot", "th", "thead", "tr", "ul"),
    ]
)
_VOID = frozenset(
    [
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    ]
)
# What a start tag ends, and what it does not look beyond.
_LIST = ("ul", "ol", "menu", "dl")
_ENDS = {
    "li": (("li",), _LIST),
    "dt": (("dt", "dd"), _LIST),
    "dd": (("dt", "dd"), _LIST),
    "tr": (("tr", "td", "th"), ("table",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "thead": (("tr", "thead", "tbody"), ("table",)),
    "tbody": (("tr", "thead", "tbody"), ("table",)),
    "tfoot": (("tr", "thead", "tbody"), ("table",)),
    "option": (("option",), ("select",)),
}
_ENDS_P = BLOCKS - {"body", "html", "dd", "dt", "li", "td", "th", "tr", "tbody", "thead", "tfoot"}


class Element:
    """`holds_block` and `holds_table` say that some element in it, however deep, is one."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []
        self.holds_block = False
        self.holds_table = False

    def elements(self) -> "Iterator[Element]":
        """Itself and all elements in it, in the order of the document."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            inner = [child for child in element.children if isinstance(child, Element)]
            waiting.extend(reversed(inner))

    def text(self) -> str:
        """Exactly the text in it."""
        parts: list[str] = []
        waiting: list[Element | str] = [self]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                parts.append(node)
            else:
                waiting.extend(reversed(node.children))
        return "".join(parts)


def parse(html: str) -> Element:
    builder = _Builder()
    for token in tokens(html):
        if isinstance(token, str):
            builder.text(token)
        elif token.ends:
            builder.end(token.tag)
        elif not builder.start(token.tag, token.attributes):
            break
    return builder.root


class _Builder:
    def __init__(self) -> None:
        self.root = Element("html", {})
        self._open = [self.root]
        self._count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> bool:
        """False if there are too many elements already."""
        self._end_implied(tag)
        element = Element(tag, attributes)
        self._open[-1].children.append(element)
        self._count += 1
        if tag in BLOCKS:
            self._mark_open(table=tag == "table")
        if tag not in _VOID and len(self._open) < DEPTH:
            self._open.append(element)
        return self._count < ELEMENTS

    def end(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def text(self, text: str) -> None:
        self._open[-1].children.append(text)

    def _mark_open(self, *, table: bool) -> None:
        for outer in reversed(self._open):
            if outer.holds_block and (outer.holds_table or not table):
                break
            outer.holds_block = True
            outer.holds_table |= table

    def _end_implied(self, tag: str) -> None:
        if tag in _ENDS_P:
            self._end_back_to(("p",), ("td", "th", "li", "dd", "blockquote", "div", "section"))
        if tag in _ENDS:
            self._end_back_to(*_ENDS[tag])

    def _end_back_to(self, ended: tuple[str, ...], beyond: tuple[str, ...]) -> None:
        """End the outermost of these that is open, within what surrounds it."""
        found = None
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag in beyond:
                break
            if self._open[depth].tag in ended:
                found = depth
        if found is not None:
            del self._open[found:]
