"""Markdown as Discord shows it."""

import pytest

from roost.channels.discord.markdown import to_discord


@pytest.mark.parametrize(
    "same",
    [
        "Some **bold**, *slanted*, ~~struck~~ text and a [link](https://example.org/a_b).",
        "# One\n## Two\n### Three",
        "- a\n  - b\n1. c",
        "> said\n\nand done",
        "```python\nx = a || b  # @everyone\n```",
        "a snake__case__name and `code || with @everyone __in__ it`",
        "    indented || code",
        "",
    ],
)
def test_what_discord_knows_stays(same: str) -> None:
    assert to_discord(same) == same


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("__bold__", "**bold**"),
        ("a || b || c", r"a \|\| b \|\| c"),
        ("#### Deep **down**", "**Deep down**"),
        ("Title\n=====\ntext", "# Title\ntext"),
        ("above\n\n---\n\nbelow", "above\n\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯\n\nbelow"),
        ("- [ ] open\n- [x] done", "- ☐ open\n- ☑ done"),
        (">> twice said", "> twice said"),
        ("![a cat](https://example.org/cat.png)", "[a cat](https://example.org/cat.png)"),
        ("![](https://example.org/cat.png)", "[image](https://example.org/cat.png)"),
        ("hey @everyone and @here", "hey @\u200beveryone and @\u200bhere"),
        ("unclosed `@everyone", "unclosed `@\u200beveryone"),
    ],
)
def test_what_discord_reads_otherwise_is_written_as_it_knows_it(markdown: str, shown: str) -> None:
    assert to_discord(markdown) == shown


def test_table_is_drawn_as_code() -> None:
    table = """Prices:

| what | how **much** |
|------|:------------:|
| [tea](https://example.org) | `2` |
| coffee | 3 ||

That is all."""
    assert (
        to_discord(table)
        == """Prices:

```
what                       how much
─────────────────────────  ────────
tea (https://example.org)  2
coffee                     3
```

That is all."""
    )


def test_table_inside_a_fence_stays_as_it_is() -> None:
    fenced = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"
    assert to_discord(fenced) == fenced
