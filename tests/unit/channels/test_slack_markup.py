"""Markdown for Slack, and what Slack makes of what people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.channels.slack.markup import from_mrkdwn, to_mrkdwn


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** *it* ~~gone~~ `code`", "*bold* _it_ ~gone~ `code`"),
        ("***both***", "_*both*_"),
        ("# A **bold** title", "*A bold title*"),
        ("重**点**内", "重\u200b*点*\u200b内"),
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("[docs](https://a.b/?x=1&y=2)", "<https://a.b/?x=1&amp;y=2|docs>"),
        ("<https://a.b>", "<https://a.b>"),
        ("See https://a.b/c.", "See <https://a.b/c>."),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](ftp://a.b)", "x (ftp://a.b)"),
        ("![a picture](https://a.b/c.png)", "<https://a.b/c.png|a picture>"),
        ("- one\n- two\n  - three", "• one\n• two\n    ◦ three"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> said\n> so", "> said\n> so"),
        ("```py\nif a < b:\n    pass\n```", "```\nif a &lt; b:\n    pass\n```"),
        ("`a < b`", "`a &lt; b`"),
        ("``a`b``", "a`b"),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
        ("", ""),
    ],
)
def test_markdown_becomes_mrkdwn(markdown: str, expected: str) -> None:
    assert to_mrkdwn(markdown) == expected


def test_a_table_becomes_columns_of_code() -> None:
    table = "| name | 数 |\n|---|---|\n| `a` | **1** |\n| bcdef | 22 |"
    assert to_mrkdwn(table) == "```\nname   数\n-----  --\na      1\nbcdef  22\n```"


def test_code_that_holds_a_fence_stays_in_one_block() -> None:
    assert to_mrkdwn("````\n```\ninside\n```\n````").count("```") == 2


@pytest.mark.parametrize(
    "call", ["<!channel>", "<!here|here>", "<@U123>", "<!subteam^S1>", "<#C1>"]
)
@pytest.mark.parametrize("around", ["{}", "**{}**", "`{}`", "```\n{}\n```", "[{}](https://a.b)"])
def test_nobody_is_called_by_accident(call: str, around: str) -> None:
    shown = to_mrkdwn(around.format(call))
    assert call not in shown


@given(st.text(alphabet="ab *_~`[]()<>|&#-\n!@:/.1"))
def test_every_angle_bracket_is_a_link_or_a_quote(markdown: str) -> None:
    shown = to_mrkdwn(markdown)
    for line in shown.split("\n"):
        rest = line.replace("> ", "")
        for part in rest.split("<")[1:]:
            assert part.startswith(("http://", "https://", "mailto:"))
            assert ">" in part


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("<@UBOT> hello", "hello"),
        ("<@UBOT|roost> hello", "hello"),
        ("ask <@U2|ann> or <@U3>", "ask @ann or @U3"),
        ("in <#C1|general>", "in #general"),
        ("<!here> now", "@here now"),
        ("<http://a.b|a.b>", "a.b"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("<https://a.b/c|the docs>", "the docs (https://a.b/c)"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("1 &lt; 2 &amp;&amp; &amp;lt;", "1 < 2 && &lt;"),
    ],
)
def test_what_people_type_is_read_as_they_typed_it(typed: str, read: str) -> None:
    assert from_mrkdwn(typed, bot="UBOT") == read
