"""docs/embedding.md: its examples run as they stand there."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from roost.embed import open_roost
from roost.testing.models import ModelServer, call, say
from roost.tools.base import Tool
from tests.engine import config_for

PAGE = Path(__file__).parents[2] / "docs" / "embedding.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


async def test_example_prints_the_answer(tmp_path: Path) -> None:
    async with ModelServer() as server:
        server.otherwise(say("A place to sleep."))
        environ = {"ANTHROPIC_API_KEY": "-", "ANTHROPIC_BASE_URL": server.url}
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-c", EXAMPLES[0], cwd=tmp_path, env=environ, stdout=PIPE
        )
        out, _ = await program.communicate()
    assert (program.returncode, out) == (0, b"A place to sleep.")


async def test_tool_of_the_second_example_can_be_called(tmp_path: Path) -> None:
    names: dict[str, Tool] = {}
    exec(EXAMPLES[1], names)  # noqa: S102 (our own documentation)
    async with ModelServer() as server:
        server.plan(call("roll", {}), say("There."))
        config = config_for(tmp_path / "data", server)
        async with open_roost(config, tools=[names["DICE"]]) as roost:
            session = await roost.create(origin="api", title="Dice")
            async for _ in roost.talk(session.id, "Roll"):
                pass
        (rolled,) = server.requests[1].results.values()
        assert rolled in "123456"


def test_example_has_ten_lines() -> None:
    assert len([line for line in EXAMPLES[0].splitlines() if line.strip()]) == 10
