"""Markdown becomes what Telegram can read, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.channels.telegram.markup import render, units
from tests.fakes.telegram_markup import Unreadable, read_html


@pytest.mark.parametrize(
    ("markdown", "markup"),
    [
        ("Hello **you**, *and* ~~not~~ you", "Hello <b>you</b>, <i>and</i> <s>not</s> you"),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("# Title\n\ntext\nmore", "<b>Title</b>\n\ntext\nmore"),
        ("### Of `run`", "<b>Of </b><code>run</code>"),
        ("**a `b` c**", "<b>a </b><code>b</code><b> c</b>"),
        ("***both** one*", "<i><b>both</b> one</i>"),
        ("see [this](https://a.example/?x=1&y=2)", None),
        ("[`code`](https://a.example)", '<a href="https://a.example">code</a>'),
        ("[](https://a.example)", '<a href="https://a.example">https://a.example</a>'),
        ("[it](../readme.md)", "it (../readme.md)"),
        ("![a cat](https://a.example/c.png)", '<a href="https://a.example/c.png">a cat</a>'),
        ("> said\n> > before", "<blockquote>said\n\nbefore</blockquote>"),
        ("---", "———"),
        ("    four", "<pre>four</pre>"),
        ("```\nx < 1\n```", "<pre>x &lt; 1</pre>"),
        ('```python title="a"\nx\n```', '<pre><code class="language-python">x</code></pre>'),
        ('```"><b>\nx\n```', "<pre>x</pre>"),
        ("[a]: https://a.example", "[a]: https://a.example"),
    ],
)
def test_markdown_is_written_in_the_tags_that_telegram_has(
    markdown: str, markup: str | None
) -> None:
    expected = 'see <a href="https://a.example/?x=1&amp;y=2">this</a>'
    assert render(markdown).markup == (markup or expected)


def test_lists_keep_their_numbers_and_their_steps() -> None:
    shown = render("3. three\n   - in it\n     more of it\n4. four")

    assert shown.text == "3. three\n   • in it\n     more of it\n4. four"


def test_code_in_a_list_is_not_moved() -> None:
    shown = render("- do:\n  ```sh\n  ls\n    -l\n  ```\n- then\n-     whole\n      block")

    assert shown.text == "• do:\nls\n  -l\n• then\n•\nwhole\nblock"


def test_a_table_has_straight_columns() -> None:
    shown = render("|a|long|\n|-|-|\n|`x<`|**y**|\n|1|\n")

    assert shown.text == "a  | long\n---+-----\nx< | y\n1  |"
    assert shown.markup.startswith("<pre>a ")


def test_words_hide_no_address_of_telegrams_own() -> None:
    shown = render("[the news](tg://user?id=42)")

    assert shown.text == "the news (tg://user?id=42)"


def test_length_is_what_is_read_counted_in_utf_16() -> None:
    assert units(render("**ab** [c](https://a.example)").text) == 4
    assert units(render("🦆é").text) == 3


_WORDS = st.sampled_from(
    [
        "a",
        "<b>",
        "&amp;",
        "&",
        '"',
        "'",
        "🦆",
        "*",
        "**",
        "_",
        "~~",
        "`",
        "``",
        "[",
        "](",
        ")",
        "![",
        "https://a.example",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "# ",
        "```",
        "```py\n",
        "    ",
        "|",
        "|-|-|\n",
        "---",
        "<https://a.example>",
        "\\",
        " ",
        "tg://x",
        "</pre>",
        "<pre>",
        "\t",
    ]
)


@given(st.lists(_WORDS, max_size=40).map("".join) | st.text())
def test_whatever_is_written_telegram_can_read_it(markdown: str) -> None:
    shown = render(markdown)

    assert read_html(shown.markup) == shown.text
    assert bool(shown.text.strip()) == bool(markdown.strip())


@pytest.mark.parametrize(
    "wrong",
    [
        "<b>",
        "</b>",
        "<b><i></b></i>",
        "a < b",
        "a & b",
        "<p>x</p>",
        "<a>x</a>",
        "<code><b>x</b></code>",
        "<b><code>x</code></b>",
        '<a href="x"><a href="y">z</a></a>',
        "<blockquote><blockquote>x</blockquote></blockquote>",
        '<code class="language-x">y</code>',
    ],
)
def test_the_reader_that_judges_is_strict(wrong: str) -> None:
    with pytest.raises(Unreadable):
        read_html(wrong)
