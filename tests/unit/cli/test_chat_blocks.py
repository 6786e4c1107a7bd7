"""Streamed Markdown is cut into the same blocks however it arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.chat.blocks import Blocks

LINES = st.sampled_from(
    [
        "",
        "",
        "words of a paragraph",
        "# heading",
        "- item",
        "  - inner item",
        "  more of an item",
        "12. item",
        "```python",
        "```",
        "~~~~",
        "~~~",
        "  ```",
        "- ```sh",
        "    indented code",
        "\tindented code",
        "> quoted",
        "| a | b |",
        "|---|---|",
        "`inline`",
        "  ",
    ]
)
TEXTS = st.lists(LINES).map("\n".join) | st.text()


def cut(*pieces: str) -> list[str]:
    blocks = Blocks()
    done = [block for piece in pieces for block in blocks.add(piece)]
    return [*done, *blocks.close()]


@given(TEXTS, st.data())
def test_any_chunking_gives_the_same_blocks(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    ends = [*places, len(text)]
    pieces = [text[a:b] for a, b in zip([0, *places], ends, strict=True)]
    assert cut(*pieces) == cut(text)


@given(TEXTS)
def test_nothing_is_lost_or_moved(text: str) -> None:
    assert "".join("".join(cut(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("one\n\n\n\ntwo\n", ["one", "two"]),
        # A fence holds its blank lines, and ends at its own mark only.
        ("```\na\n\nb\n```\nafter", ["```\na\n\nb\n```", "after"]),
        ("````\n```\n\n```\n````\nx", ["````\n```\n\n```\n````", "x"]),
        ("~~~\n```\n\n~~~", ["~~~\n```\n\n~~~"]),
        ("words\n```\ncode", ["words", "```\ncode"]),
        # A list may have blank lines between its items and inside them.
        ("- a\n\n- b\n\n  more\n\nafter", ["- a\n\n- b\n\n  more", "after"]),
        ("1. a\n\n   ```\n   x\n\n   y\n   ```\n\n2. b", None),
        ("- ```\n  x\n\n  y\n  ```\n- b", None),
        ("| a |\n|---|\n| b |\n\nafter", ["| a |\n|---|\n| b |", "after"]),
    ],
)
def test_blocks_end_where_markdown_says(text: str, blocks: list[str] | None) -> None:
    assert cut(text) == (blocks if blocks is not None else [text])


def test_block_is_there_as_soon_as_it_surely_ended() -> None:
    blocks = Blocks()
    assert blocks.add("one\n\n") == []
    assert blocks.add("t") == []
    assert blocks.add("wo\n") == ["one"]
    assert blocks.add("```\nx\n```\n") == ["two", "```\nx\n```"]


def test_tail_is_the_end_of_what_is_being_written_and_no_longer_than_asked_for() -> None:
    blocks = Blocks()
    blocks.add("done\n\n```python\n" + "".join([f"line {n}\n" for n in range(1000)]) + "las")
    assert blocks.tail(2, 100) == "```python\nline 998\nline 999\nlas"
    blocks = Blocks()
    for _ in range(1000):
        blocks.add("0123456789")
    assert blocks.tail(5, 25) == "012345678901234567890123456789"
