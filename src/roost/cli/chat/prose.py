"""How an answer's Markdown looks on a terminal: quiet, and readable on light and dark alike."""

from collections.abc import Iterator
from typing import ClassVar

from markdown_it import MarkdownIt
from pygments.token import Comment, Generic, Keyword, Name, Number, String
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text
from rich.theme import Theme

# The terminal's own colours and no backgrounds: they were chosen by whoever looks at them.
THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.h5": "italic",
        "markdown.h6": "italic",
        "markdown.h7": "italic",
        "markdown.block_quote": "dim",
        "markdown.list": "none",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.link": "underline",
        "markdown.link_url": "dim underline",
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


# HTML is text: where it would only be left out, nobody could read what the model said.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


_CODE = ANSISyntaxTheme(
    {
        Comment: Style(dim=True),
        Keyword: Style(bold=True),
        Name.Tag: Style(bold=True),
        String: Style(color="green"),
        Number: Style(color="cyan"),
        Generic.Heading: Style(bold=True),
        Generic.Subheading: Style(bold=True),
        Generic.Deleted: Style(color="red"),
        Generic.Inserted: Style(color="green"),
    }
)


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Code(CodeBlock):
    """Set in by two columns, which also shows where there is no colour."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip("\n")
        lexer = self.lexer_name
        if lexer != "text":
            yield Padding(Text(lexer, "dim"), (0, 0, 0, 2))
        syntax = Syntax(
            code, lexer, theme=_CODE, word_wrap=True, background_color="default", tab_size=4
        )
        yield Padding(syntax, (0, 0, 0, 2))


class Prose(Markdown):
    """Links show where they lead instead of hiding it behind their words."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, text: str, *, style: str = "none") -> None:
        super().__init__("", hyperlinks=False, style=style)
        self.markup = text
        self.parsed = _PARSER.parse(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Without the empty lines and the blanks around it: how far things stand apart is up to the
        page, and what is copied from a terminal should be the text."""
        written = super().__rich_console__(console, options)
        lines = [
            _trimmed(line) for line in Segment.split_lines(_segments(written, console, options))
        ]
        while lines and not lines[0]:
            del lines[0]
        while lines and not lines[-1]:
            del lines[-1]
        for line in lines:
            yield from line
            yield Segment.line()


def _segments(
    written: RenderResult, console: Console, options: ConsoleOptions
) -> Iterator[Segment]:
    for each in written:
        if isinstance(each, Segment):
            yield each
        else:
            yield from console.render(each, options)


def _trimmed(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.rstrip():
        del kept[-1]
    if kept:
        text, style, control = kept[-1]
        kept[-1] = Segment(text.rstrip(), style, control)
    return kept


def page_console() -> Console:
    """For an answer: it wraps at the width of the terminal, unlike what other commands print."""
    return Console(theme=THEME, markup=False, highlight=False, emoji=False)
