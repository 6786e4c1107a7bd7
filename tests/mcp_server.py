"""A server of tools written with the protocol's own package."""

import asyncio
import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import EmbeddedResource, ResourceLink, TextResourceContents, ToolAnnotations
from pydantic import BaseModel

PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
    b"\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99"
    b"=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)


class Owl(BaseModel):
    name: str
    age: int


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def environment() -> list[str]:
    """The names of the variables that this server has."""
    return sorted(os.environ)


def picture() -> list[Any]:
    """A picture, and what it shows."""
    return ["An owl:", Image(data=PIXEL, format="png")]


def papers() -> list[Any]:
    """What is written about owls."""
    text = TextResourceContents(uri="file:///owls.txt", mime_type="text/plain", text="They fly.")
    link = ResourceLink(name="more", uri="https://example.invalid/owls")
    return [EmbeddedResource(resource=text), link]


def owl() -> Owl:
    """An owl."""
    return Owl(name="Hedwig", age=3)


def fail() -> str:
    """Fail."""
    raise ToolError("no owls today")


def die() -> str:
    """End the server."""
    os._exit(3)


async def hang(mark: str) -> str:
    """Wait for ever, and leave a mark when that is cut short."""
    Path(f"{mark}.began").touch()
    try:
        await asyncio.Event().wait()
    finally:
        Path(mark).touch()
    return ""


async def grow(context: Context[Any, Any]) -> str:
    """Have one tool more."""
    context.mcp_server.add_tool(owl, name="another_owl", description="One more.")
    await context.notify_tools_changed()
    if context.protocol_version is None or context.protocol_version < "2026":
        await context.session.send_tool_list_changed()
    return "grown"


def make() -> MCPServer:
    server = MCPServer("birds")
    server.add_tool(add, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(picture, structured_output=False)
    server.add_tool(papers, structured_output=False)
    for function in (environment, owl, fail, die, hang, grow):
        server.add_tool(function)
    return server


if __name__ == "__main__":
    make().run("stdio")
