"""Looking through files in a process of its own, which is ended when its time is over."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from roost.workspace.files.paths import Refused
from roost.workspace.files.searcher import Request

SECONDS = 20.0
_MOST = 4 << 20
"""Bytes of findings."""
_SOURCE = Path(__file__).parents[3]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from roost.workspace.files import searcher"
_SETTLE = 2.0
"""Seconds that the process may take beyond its time until it is ended from here."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    number: int
    text: str
    matches: bool


class Finding(msgspec.Struct, frozen=True):
    """Something of the tree, or lines of a file. `path` begins at the folder that was searched;
    it is empty for that itself."""

    path: str = ""
    kind: str = "file"
    size: int = 0
    time: float = 0.0
    lines: tuple[Line, ...] = ()


class _Said(Finding, frozen=True):
    end: bool = False
    late: bool = False
    cut: bool = False
    error: str = ""


class Findings(msgspec.Struct, frozen=True):
    """`late` if there was no time for more, `cut` if there is more than was asked for."""

    found: tuple[Finding, ...]
    late: bool
    cut: bool


_decode = msgspec.json.Decoder(_Said).decode


async def search(request: Request) -> Findings:
    """Findings up to the deadline. `request["folder"]` is an open folder or file; it stays open
    here."""
    reading, writing = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    try:
        os.write(writing, msgspec.json.encode(request) + b"\n")
        async with _started(request["folder"], reading) as process:
            data = await _output(process, request["seconds"] + _SETTLE)
    finally:
        os.close(reading)
        os.close(writing)
    return _understood(data)


@asynccontextmanager
async def _started(folder: int, stdin: int) -> AsyncGenerator[asyncio.subprocess.Process]:
    code = f"{_START}; searcher.main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-X", "utf8", "-c", code, str(_SOURCE)),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=(folder,),
        env={},
        cwd="/",
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _output(process: asyncio.subprocess.Process, seconds: float) -> bytes:
    assert process.stdout is not None
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while len(data) < _MOST and (chunk := await process.stdout.read(1 << 16)):
                data += chunk
            if len(data) < _MOST:
                await process.wait()
    except TimeoutError:
        pass
    return bytes(data)


def _understood(data: bytes) -> Findings:
    """The last line is cut off if the process was ended."""
    *lines, _ = data.split(b"\n")
    said = [_decode(line) for line in lines]
    for each in said:
        if each.error:
            raise Refused(each.error)
    last = said[-1] if said and said[-1].end else None
    found = tuple([each for each in said if not each.end])
    too_much = len(data) >= _MOST
    return Findings(found, last is None or last.late, too_much if last is None else last.cut)
