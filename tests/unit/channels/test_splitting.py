"""Markdown cut to length: nothing lost, nothing too long, no code left open."""

import re

from hypothesis import given
from hypothesis import strategies as st

from roost.channels.splitting import split

LIMIT = 120

_lines = st.sampled_from(
    [
        "",
        "A line of words that is neither long nor short.",
        "Short.",
        "- a point in a list",
        "```python",
        "```",
        "~~~",
        "    x = 1  # indented",
        "See [the page](https://example.com/a/long/path?with=a&query=string) for more.",
        "word " * 60,
        "x" * 300,
        "`some code` " * 20,
    ]
)


def _letters(text: str) -> str:
    return re.sub(r"\s|`{3,}\w*|~{3,}", "", text)


@given(st.lists(_lines, max_size=30).map("\n".join))
def test_pieces_fit_and_lose_no_letter(markdown: str) -> None:
    pieces = split(markdown, len, LIMIT)
    assert all(len(piece) <= LIMIT for piece in pieces)
    assert _letters("\n".join(pieces)) == _letters(markdown)


@given(st.lists(_lines, max_size=30).map("\n".join))
def test_no_piece_leaves_a_block_of_code_open(markdown: str) -> None:
    closed = markdown + _closing(markdown)
    for piece in split(closed, len, LIMIT):
        assert _closing(piece) == ""


def _closing(text: str) -> str:
    """What would have to follow for no block to be open."""
    fence = ""
    for line in text.split("\n"):
        match = re.fullmatch(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return f"\n{fence}" if fence else ""


def test_code_goes_on_in_a_block_of_its_language() -> None:
    code = "\n".join([f"line_{number} = {number}" for number in range(20)])
    first, second, *_ = split(f"Look:\n\n```python\n{code}\n```", len, LIMIT)
    assert first.endswith("\n```")
    assert second.startswith("```python\nline_")


def test_cut_falls_between_paragraphs() -> None:
    text = "First paragraph, with a few words.\n\n" * 2 + "The last one is the longest of them all."
    assert split(text, len, 100) == [
        "First paragraph, with a few words.\n\nFirst paragraph, with a few words.",
        "The last one is the longest of them all.",
    ]


def test_link_is_not_broken() -> None:
    link = "[a link](https://example.com/some/where)"
    pieces = split(f"{'word ' * 18}{link} {'word ' * 10}", len, LIMIT)
    assert any(link in piece for piece in pieces)


def test_what_fits_stays_as_it_is() -> None:
    assert split("Hello **there**.\n", len, LIMIT) == ["Hello **there**."]
