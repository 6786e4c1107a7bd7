"""Leaves tools out of a server's list that break the protocol: one of them would spoil the rest."""

from types import TracebackType
from typing import Any, Self, cast

import structlog
from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

log = structlog.stdlib.get_logger("roost.mcp")


class Mended:
    """What a server says, with its lists of tools put right before the client checks them."""

    def __init__(self, server: str, inner: ReadStream[SessionMessage | Exception]) -> None:
        self._server = server
        self._inner = inner

    async def receive(self) -> SessionMessage | Exception:
        return self._mend(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._mend(await anext(aiter(self._inner)))

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    def _mend(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            result: dict[str, Any] = item.message.result
            if isinstance(result.get("tools"), list):
                result["tools"] = [each for each in result["tools"] if self._is_sound(each)]
        return item

    def _is_sound(self, tool: object) -> bool:
        if not isinstance(tool, dict):
            return False
        told = cast("dict[str, Any]", tool)
        schema = told.get("inputSchema")
        if isinstance(schema, dict) and cast("dict[str, Any]", schema).get("type") == "object":
            return True
        name = str(told.get("name"))[:100]
        why = "its schema is not that of an object"
        log.warning("a tool is left out", server=self._server, tool=name, why=why)
        return False
