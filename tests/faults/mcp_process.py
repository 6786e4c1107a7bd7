"""Talks to a server of tools until it is killed. Its first line are its pid and the server's."""

import asyncio
import os
import sys
from pathlib import Path

import structlog
import uvloop

from tests.unit.tools.calling import told
from tests.unit.tools.mcp.talking import named, plain, talking


async def main(folder: Path) -> None:
    config = plain("parent", "stubborn")
    async with talking(folder, birds=config) as servers:
        server = await told(named(servers, "mcp_birds_pid"))
        sys.stdout.write(f"{os.getpid()} {server} {(folder / 'birds/child.pid').read_text()}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    uvloop.run(main(Path(sys.argv[1])))
