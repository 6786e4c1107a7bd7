"""The real `roost` command in a process of its own."""

import asyncio
import http.client
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

DEADLINE = 150
"""Seconds, just short of those that a test has: what hung is then told by name."""

# Drops CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for good, so that file modes bind root as well.
_WITHOUT_ROOTS_PRIVILEGES = """
import ctypes, os, sys
for capability in (1, 2):
    if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):
        sys.exit("can't drop a capability")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Roost:
    """A `roost` with a home of its own and nothing of this machine's configuration."""

    def __init__(self, home: Path, *, python: str = sys.executable) -> None:
        self.home = home
        self._python = python
        path = f"{Path(python).parent}:{os.environ['PATH']}"
        self.environ = {"HOME": str(home), "PATH": path}

    async def start(
        self, *arguments: str, ordinary: bool = False, stdin: int | None = None, stdout: int = PIPE
    ) -> Process:
        prefix = ["-c", _WITHOUT_ROOTS_PRIVILEGES] if ordinary and os.geteuid() == 0 else []
        return await asyncio.create_subprocess_exec(
            self._python,
            *prefix,
            "-m",
            "roost",
            *arguments,
            env=self.environ,
            cwd=self.home,
            stdin=stdin,
            stdout=stdout,
            stderr=PIPE,
        )

    async def __call__(
        self, *arguments: str, ordinary: bool = False, typed: str | None = None
    ) -> Outcome:
        """Run a command to its end, with `typed` as its input."""
        stdin = None if typed is None else PIPE
        process = await self.start(*arguments, ordinary=ordinary, stdin=stdin)
        return await outcome(process, typed)

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncGenerator["Server"]:
        """A server that has said that it is ready, on a free port if none is given; killed in the
        end if it still runs."""
        port = () if "--port" in arguments else ("--port", "0")
        process = await self.start("run", *port, *arguments)
        try:
            yield Server(process, await _greeting(process))
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


class Server:
    def __init__(self, process: Process, greeting: str) -> None:
        self.process = process
        self.greeting = greeting
        self.address = _field(greeting, "Address")
        self.port = int(self.address.rpartition(":")[2])

    async def get(self, path: str) -> tuple[int, object]:
        return await asyncio.to_thread(_get, self.port, path)

    async def stop(self, signal: int) -> Outcome:
        self.process.send_signal(signal)
        return await outcome(self.process)


async def outcome(process: Process, typed: str | None = None) -> Outcome:
    async with asyncio.timeout(DEADLINE):
        out, err = await process.communicate(None if typed is None else typed.encode())
    assert process.returncode is not None
    return Outcome(process.returncode, (out or b"").decode(), err.decode())


async def _greeting(process: Process) -> str:
    assert process.stdout is not None
    text = ""
    async with asyncio.timeout(DEADLINE):
        while line := (await process.stdout.readline()).decode():
            text += line
            if line.startswith("Stop with"):
                return text
    raise AssertionError(f"Roost did not start: {(await outcome(process)).err}")


def _field(greeting: str, name: str) -> str:
    return next(line.split()[1] for line in greeting.splitlines() if line.split()[0] == name)


def _get(port: int, path: str) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
