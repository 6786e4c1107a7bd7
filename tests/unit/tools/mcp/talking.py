"""Servers of tools under test, and calls to them."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from roost.core.config import McpConfig
from roost.core.keys import Key
from roost.core.settings import VariableName
from roost.tools.base import Tool, ToolError
from roost.tools.mcp.servers import McpServers, serving
from roost.workspace.local import LocalSandbox

ROOT = Path(__file__).parents[4]
PLAIN = str(ROOT / "tests/mcp_plain_server.py")
REAL = str(ROOT / "tests/mcp_server.py")
SECONDS = 40


def plain(*behaviour: str, timeout: float = 20, **environment: str) -> McpConfig:
    """The quick one."""
    return _program(PLAIN, *behaviour, timeout=timeout, **environment)


def real(*, timeout: float = 30) -> McpConfig:
    """The one that is written with the protocol's own package."""
    return _program(REAL, timeout=timeout)


def _program(path: str, *behaviour: str, timeout: float, **environment: str) -> McpConfig:
    return McpConfig(
        command=(sys.executable, path, *behaviour),
        environment={VariableName(name): Key(value) for name, value in environment.items()},
        timeout=timedelta(seconds=timeout),
    )


@asynccontextmanager
async def talking(folder: Path, **servers: McpConfig) -> AsyncGenerator[McpServers]:
    """Servers of which it is known whether they start."""
    sandbox = LocalSandbox({"PATH": os.environ["PATH"]})
    try:
        async with serving(servers, sandbox, folder) as found:
            await found.settled(SECONDS)
            yield found
    finally:
        await sandbox.close()


def named(servers: McpServers, name: str) -> Tool:
    return {tool.schema.name: tool for tool in servers.tools()}[name]


async def until(check: Callable[[], bool]) -> None:
    """For what happens in another program."""
    async with asyncio.timeout(SECONDS):
        while not check():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def answered(ask: Callable[[], Awaitable[str]]) -> str:
    """What it says once it can be asked again."""
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                return await ask()
            except ToolError:
                await asyncio.sleep(0.02)
