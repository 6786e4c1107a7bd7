"""One tool of a server, as an agent has it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from roost.core.ids import BlobId
from roost.llm.base import ToolSchema
from roost.tools.base import Intent, ToolContext, ToolError, ToolOutput
from roost.tools.mcp.offers import Offer, distinct

Keep = Callable[[bytes, str], Awaitable[BlobId]]
Call = Callable[[str, Mapping[str, Any], Keep], Awaitable[ToolOutput]]

_MORE = 2.0
"""Seconds beyond the server's time, so that it is its lateness that is told."""


class McpTool:
    """Outlives the server's process: a call goes to the one that runs then."""

    def __init__(
        self, server: str, offer: Offer, schema: ToolSchema, call: Call, *, seconds: float
    ) -> None:
        self.schema = schema
        self.parallel = offer.read_only
        self.seconds = seconds + _MORE
        self._server = server
        self._offer = offer
        self._call = call

    @property
    def reads_only(self) -> bool:
        """By the server's own word."""
        return self._offer.read_only

    def renamed(self) -> "McpTool":
        """The same, where another server's has the same name."""
        name = distinct(self.schema.name, self._server, self._offer.name)
        schema = msgspec.structs.replace(self.schema, name=name)
        seconds = self.seconds - _MORE
        return McpTool(self._server, self._offer, schema, self._call, seconds=seconds)

    async def intent(self, arguments: str, context: ToolContext) -> Intent:
        """What only reads does not ask: whether it does is the server's word, and an admin chose
        the server."""
        compact = msgspec.json.encode(_read(arguments)).decode()
        return Intent(
            does=f"Use a tool of the server {self._server}",
            subject=f"{self._offer.name} {compact}",
            asks=not self._offer.read_only,
        )

    async def run(self, arguments: str, context: ToolContext) -> ToolOutput:
        return await self._call(self._offer.name, _read(arguments), context.keep)


def _read(arguments: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ToolError(f"The arguments are no JSON object: {error}.") from error
