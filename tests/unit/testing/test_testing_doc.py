"""docs/testing.md: its example runs, its script is one, and it names every piece."""

import re
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from roost.testing.models import pieces
from roost.testing.models.script import decode_script

DOC = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOC, re.DOTALL)
    assert found is not None
    return found[1]


async def test_example_runs() -> None:
    names: dict[str, object] = {}
    code = f"async def example():\n{textwrap.indent(block('python'), '    ')}"
    exec(code, names)  # noqa: S102
    await cast(Callable[[], Awaitable[None]], names["example"])()


def test_script_can_be_read() -> None:
    assert len(decode_script(block("json")).replies) == 3


def test_every_piece_is_in_the_table() -> None:
    table = "\n".join([line for line in DOC.splitlines() if line.startswith("|")])
    words = [name for name in vars(pieces) if name.islower() and not name.startswith("_")]
    assert "say" in words
    assert [word for word in words if f"`{word}(" not in table] == []
