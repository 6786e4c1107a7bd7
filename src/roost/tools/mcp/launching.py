"""Starts the programs of servers that are talked to over pipes. None of them outlives Roost."""

import asyncio
import contextlib
import os
import re
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import structlog

from roost.core.config import McpConfig
from roost.workspace.base import Box, Child, Folder, Ground, Sandbox

log = structlog.stdlib.get_logger("roost.mcp")

_GRACE = 1.0
"""Seconds to end by itself once its input is closed."""
_LINES = 200
"""Lines of a program's errors that are logged, each time it is started."""
_LINE = 500
_HIDDEN = "[secret]"
_SHORTEST = 8
"""Characters of a value that is looked for, and hidden: what is shorter may be any word."""

# Standard output carries the protocol, and a box's child has both in one.
_APART = 'exec "$@" 2>&3 3>&-'


class Launcher:
    """`folder` is where each of them has a folder of its own to begin in."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder

    @contextlib.asynccontextmanager
    async def running(self, name: str, config: McpConfig) -> AsyncGenerator["Program"]:
        """The program, for as long as the block lasts, and nothing of it after that."""
        box = await self._sandbox.open(await asyncio.to_thread(self._ground, name), network=True)
        program = Program(name, [key.reveal() for key in config.environment.values()])
        try:
            await program.start(box, config)
            yield program
        finally:
            await program.stop()
            await box.close()

    def _ground(self, name: str) -> Ground:
        home = self._folder / re.sub("[^a-zA-Z0-9_-]", "_", name)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return Ground((Folder(home, str(home), writable=True),), scratch=home)


class Program:
    """`last_words` is the end of what it wrote to its errors."""

    def __init__(self, name: str, secrets: Iterable[str]) -> None:
        self._name = name
        self._secrets = [each for each in secrets if len(each) >= _SHORTEST]
        self._child: Child | None = None
        self._listening: asyncio.Task[None] | None = None
        self._said: deque[str] = deque(maxlen=3)

    @property
    def child(self) -> Child:
        assert self._child is not None, "it was started"
        return self._child

    @property
    def last_words(self) -> str:
        return " ".join(self._said)

    async def start(self, box: Box, config: McpConfig) -> None:
        errors, theirs = os.pipe2(os.O_CLOEXEC)
        try:
            self._child = await box.start(
                ["/bin/sh", "-c", _APART, "sh", *config.command],
                directory=box.ground.home.inside,
                environment={name: key.reveal() for name, key in config.environment.items()},
                tty=False,
                pass_fds=[theirs],
            )
        except BaseException:
            os.close(errors)
            raise
        finally:
            os.close(theirs)
        self._listening = asyncio.create_task(self._listen(errors))

    async def stop(self) -> None:
        """Its input is closed by now. What does not end is killed with its box."""
        if self._child is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._child.wait()
            self._child.close()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])

    async def _listen(self, errors: int) -> None:
        """To the end: a program that nobody hears would stop when the pipe is full."""
        reader, transport = await read_pipe(errors, limit=64_000)
        try:
            count = 0
            async for line in _lines(reader):
                count += 1
                self._said.append(self._hidden(line))
                if count <= _LINES:
                    log.info("a server says", server=self._name, line=self._said[-1])
        finally:
            transport.close()

    def _hidden(self, line: bytes) -> str:
        text = line[: _LINE * 4].decode(errors="replace").strip()
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text[:_LINE]


async def _lines(reader: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            continue  # too long, and thrown away
        if not line:
            return
        yield line


async def read_pipe(fd: int, *, limit: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    """The end of a pipe to read from, which is closed with its transport."""
    reader = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", 0)
    )
    return reader, transport
