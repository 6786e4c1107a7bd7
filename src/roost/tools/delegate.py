"""The `delegate` tool: a task for a subagent, which works in a session of its own."""

from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from roost.core.ids import SessionId
from roost.core.settings import ToolsetName
from roost.core.usage import NANO
from roost.tools.base import Tool, ToolContext, ToolOutput
from roost.tools.schema import tool

SECONDS = 24 * 3600.0
"""A subagent may wait for a person; how long its caller's turn may take is limited elsewhere."""

Text = Annotated[str, Meta(min_length=1, max_length=50_000)]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a task. `text` is the subagent's answer or, if it is not `done`, what it came
    to and why. `cost` is in nano-dollars; None is unknown."""

    session: SessionId
    done: bool
    text: str
    tokens: int
    cost: int | None


class Subagents(Protocol):
    async def work(self, context: ToolContext, task: str, *, toolset: ToolsetName | None) -> Report:
        """Have a task done for the call in `context`; asked again for the same call, it is the same
        subagent. Whoever cancels this stops the subagent. Raises `ToolError` if there may be none.
        """
        ...


class Delegate:
    def __init__(self, subagents: Subagents) -> None:
        self._subagents = subagents

    def tools(self) -> tuple[Tool, ...]:
        return (tool(self.delegate, parallel=True, seconds=SECONDS),)

    async def delegate(
        self,
        context: ToolContext,
        task: Text,
        background: Annotated[str, Meta(max_length=100_000)] = "",
        toolset: ToolsetName | None = None,
    ) -> ToolOutput:
        """Have a subagent do a task that would fill your context, or several side by side. It sees
        nothing of this conversation: say in `task` what to do and what to answer, in `background`
        all it must know. You get its final answer only. `toolset` gives it fewer tools than you
        have."""
        words = f"{task}\n\nBackground:\n{background}" if background.strip() else task
        report = await self._subagents.work(context, words, toolset=toolset)
        return ToolOutput.of(f"{report.text}\n\n{_account(report)}", error=not report.done)


def _account(report: Report) -> str:
    cost = "cost unknown" if report.cost is None else f"${report.cost / NANO:.4f}"
    return f"[subagent {report.session}: {report.tokens} tokens, {cost}]"
