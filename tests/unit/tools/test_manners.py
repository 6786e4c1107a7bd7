"""When tools ask, said of each as a whole: its calls do what is said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.tools.ask_user import ASK_USER
from roost.tools.base import ToolOutput
from roost.tools.manners import Manner, manner
from roost.tools.mcp.offers import Offer, schema_of
from roost.tools.mcp.tool import Keep, McpTool
from roost.tools.terminal import TerminalTool
from roost.tools.todo import TODO
from roost.workspace.base import SandboxKind
from tests.boxes import KINDS
from tests.terminal_hands import hands_on
from tests.unit.tools.calling import context_of


@pytest.mark.parametrize("kind", KINDS)
async def test_terminal_asks_as_it_is_said_to(tmp_path: Path, kind: SandboxKind) -> None:
    async with hands_on(tmp_path, kind) as hands:
        (terminal,) = TerminalTool(hands.workspaces).tools()
        said = manner(terminal, local=kind == "local")
        assert (await hands.intent("ls")).asks == said.asks
        asks_sometimes = (await hands.intent("ls", network=True)).asks and not said.asks
        assert asks_sometimes == bool(said.when)


@pytest.mark.parametrize("reads_only", [True, False])
async def test_tool_of_a_server_asks_unless_it_only_reads(reads_only: bool) -> None:
    async def call(name: str, arguments: Mapping[str, Any], keep: Keep) -> ToolOutput:
        return ToolOutput.of("done")

    offer = Offer("look", "Looks.", {}, reads_only)
    schema = schema_of("server", offer)
    assert schema is not None
    tool = McpTool("server", offer, schema, call, seconds=1)
    assert manner(tool, local=False) == Manner(asks=not reads_only)
    assert (await tool.intent("{}", context_of())).asks != reads_only


def test_question_asks_and_a_plan_does_not() -> None:
    assert manner(ASK_USER, local=False) == Manner(asks=True)
    assert manner(TODO, local=True) == Manner()
