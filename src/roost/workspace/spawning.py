"""Roost's side of the spawner: starts it when the first box is opened, and asks it for each."""

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import msgspec

import roost
from roost.core.errors import WorkspaceError
from roost.workspace.channel import Channel, pair

_DEADLINE = 10.0
_BOOT = """
import sys
sys.path.insert(0, sys.argv[1])
from roost.workspace.spawner import main
main(int(sys.argv[2]))
"""


class Launch(msgspec.Struct, frozen=True):
    """What to run as the root of a box. Paths in `staged` are there under numbers, in
    `spawner.STAGE`; `data` are contents that follow the keeper's program as descriptors."""

    argv: Sequence[str]
    owner: int | None = None
    staged: Sequence[str] = ()
    data: Sequence[bytes] = ()


class Spawner:
    """One process for as long as this lives; another if that one should die."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()

    async def launch(self, launch: Launch, connection: int, errors: int) -> int:
        """Its number. Whether it came to life is said by its connection."""
        number = next(self._numbers)
        fields = [
            *(b"launch", b"%d" % number),
            b"" if launch.owner is None else b"%d" % launch.owner,
            b"%d" % len(launch.staged),
            *map(os.fsencode, launch.staged),
            *map(os.fsencode, launch.argv),
        ]
        with contextlib.ExitStack() as stack:
            data = [stack.enter_context(_content(content)) for content in launch.data]
            await self._send(fields, [connection, errors, *data])
        return number

    async def kill(self, number: int) -> None:
        if self._channel and self._channel.is_open:
            await self._channel.send([b"kill", b"%d" % number])

    async def close(self) -> None:
        """All boxes end first."""
        process, self._process = self._process, None
        if self._channel:
            self._channel.finish()
        if process is not None:
            await asyncio.to_thread(_waited, process)
        if self._channel:
            self._channel.close()

    async def _send(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        try:
            await (await self._connected()).send(fields, fds)
        except BrokenPipeError:
            # It has died, and this is the first that is heard of it.
            if self._channel:
                self._channel.close()
            await (await self._connected()).send(fields, fds)

    async def _connected(self) -> Channel:
        async with self._starting:
            if self._channel is None or not self._channel.is_open:
                ours, theirs = pair()
                before, self._process = self._process, None
                with theirs:
                    if before is not None:
                        await asyncio.to_thread(_waited, before)
                    self._process = await asyncio.to_thread(_started, theirs.fileno())
                self._channel = Channel(ours, _unexpected, lambda: None)
            return self._channel


def _started(connection: int) -> subprocess.Popen[bytes]:
    """Its tie to Roost is the connection, not the thread that this runs in: that may end."""
    package = Path(roost.__file__).parent.parent
    command = [sys.executable, "-I", "-S", "-c", _BOOT, str(package), str(connection)]
    try:
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[connection],
            env={},
            # Ctrl-C is for Roost, which closes its boxes in an order of its own.
            start_new_session=True,
        )
    except OSError as error:
        raise WorkspaceError(f"Python can't be started: {error.strerror}") from error


def _waited(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_DEADLINE)


@contextlib.contextmanager
def _content(content: bytes) -> Generator[int]:
    fd = os.memfd_create("content")
    try:
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def _unexpected(fields: list[bytes], fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)
