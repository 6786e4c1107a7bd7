"""All servers of tools that the configuration names, and the tools they have at this moment."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from roost.core.config import McpConfig
from roost.core.errors import ConfigError
from roost.tools.base import Tool
from roost.tools.mcp.launching import Launcher
from roost.tools.mcp.server import McpServer
from roost.workspace.base import Sandbox

PATIENCE = 5.0
"""Seconds that a start waits for servers: the first sessions would have to do without their tools,
and keep the tools that they began with."""


class McpServers:
    def __init__(self, servers: Sequence[McpServer]) -> None:
        self._servers = servers

    def tools(self) -> tuple[Tool, ...]:
        """Those there are now, each under a name of its own, in the order of the configuration. A
        session keeps what it began with; this is asked when one begins."""
        found: dict[str, Tool] = {}
        for server in self._servers:
            for tool in server.tools:
                told = tool if tool.schema.name not in found else tool.renamed()
                found.setdefault(told.schema.name, told)
        return tuple(found.values())

    async def settled(self, seconds: float = PATIENCE) -> None:
        """Wait until it is known of each whether it starts, or for so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for server in self._servers:
                    await server.settled.wait()


@contextlib.asynccontextmanager
async def serving(
    config: Mapping[str, McpConfig], sandbox: Sandbox, folder: Path
) -> AsyncGenerator[McpServers]:
    """Servers run for as long as the block lasts. `sandbox` is where programs are started: one
    without a box, they are the admin's. Each has a folder in `folder`."""
    for name, each in config.items():
        _check(name, each)
    launcher = Launcher(sandbox, folder)
    servers = [McpServer(name, each, launcher) for name, each in config.items()]
    tasks = [asyncio.create_task(server.run()) for server in servers]
    try:
        yield McpServers(servers)
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _check(name: str, config: McpConfig) -> None:
    if bool(config.command) == (config.url is not None):
        raise ConfigError(f"The section [mcp.{name}] needs a command or a url, and not both.")
