"""What agents can do: tools, the sets they come in, and what is settled about them."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import get_args

import msgspec

from roost.agent.approvals import decide
from roost.core.approvals import Rule, RuleDecision
from roost.core.settings import ToolsetName
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.tools.base import Tool
from roost.tools.manners import manner
from roost.tools.toolsets import ABOUT


class ToolsetView(msgspec.Struct, frozen=True, kw_only=True):
    """`default` is what sessions begin with that choose none."""

    name: ToolsetName
    about: str
    default: bool
    tools: Sequence[str]


class ToolRule(msgspec.Struct, frozen=True):
    """Of the configuration; without a pattern it is for all calls."""

    pattern: str | None
    decision: RuleDecision


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """`decision` is about a call that no pattern matches; `asks` is when one that is allowed asks
    all the same, if ever. `rules` are those of the configuration: your own are at `/api/rules`."""

    name: str
    description: str
    decision: RuleDecision
    asks: str
    rules: Sequence[ToolRule]


class ToolList(msgspec.Struct, frozen=True):
    toolsets: Sequence[ToolsetView]
    tools: Sequence[ToolView]


async def listed(call: Call) -> ToolList:
    """List the tools, the sets they come in, and what they may do without asking."""
    parts = call.callers.app.parts
    sets, rules = parts.builder.tools, parts.builder.rules
    local = parts.workspaces is not None and parts.workspaces.kind == "local"
    return ToolList(
        [
            ToolsetView(
                name=name,
                about=ABOUT[name],
                default=name == sets.default,
                tools=[tool.schema.name for tool in sets.of(name)],
            )
            for name in get_args(ToolsetName)
        ],
        [_tool(tool, rules, local=local) for tool in sets.of("full")],
    )


def _tool(tool: Tool, rules: Sequence[Rule], *, local: bool) -> ToolView:
    name, usual = tool.schema.name, manner(tool, local=local)
    verdict = decide(name, None, rules)
    by_itself: RuleDecision = "ask" if usual.asks else "allow"
    return ToolView(
        name=name,
        description=tool.schema.description,
        decision=by_itself if verdict.rule is None else verdict.decision,
        asks=usual.when if verdict.rule is None else "",
        rules=[ToolRule(r.pattern, r.decision) for r in rules if fnmatchcase(name, r.tool)],
    )


ENDPOINTS = (endpoint("GET", "/api/tools", listed, scope="read"),)
