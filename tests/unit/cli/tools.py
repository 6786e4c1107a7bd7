"""Tools for a model to call: one that asks first, and one that does not like to stop."""

import asyncio

import msgspec

from roost.core.approvals import ApprovalKind
from roost.llm.base import ToolSchema
from roost.tools.base import Intent, ToolContext, ToolOutput


class Ask:
    """Named after the kind of its question, which is the argument `text`. It answers with what a
    person said."""

    parallel = False
    seconds = 10.0

    def __init__(self, kind: ApprovalKind) -> None:
        self.schema = ToolSchema(kind, "Asks first.", msgspec.Raw(b'{"type":"object"}'))
        self._kind: ApprovalKind = kind

    async def intent(self, arguments: str, context: ToolContext) -> Intent:
        text = msgspec.json.decode(arguments, type=dict[str, str]).get("text", "")
        return Intent(does="Go ahead", subject=text, kind=self._kind, asks=True)

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        assert context.approval is not None
        return ToolOutput.of(f"{context.approval.state} {context.approval.answer}")


class Stubborn:
    """`stopping` is set when it is told to stop, which it does once `may_stop` is."""

    parallel = False
    seconds = 10.0
    schema = ToolSchema("stubborn", "Takes its time.", msgspec.Raw(b'{"type":"object"}'))

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.stopping = asyncio.Event()
        self.may_stop = asyncio.Event()

    async def intent(self, arguments: str, context: ToolContext) -> None:
        return None

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        context.show("one\ntwo\n")
        self.running.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopping.set()
            await self.may_stop.wait()
        raise AssertionError("nobody ends it but by cancelling")
