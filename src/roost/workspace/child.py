"""A process in a box, as Roost sees it: the other end of its supervisor's channel."""

import asyncio
import fcntl
import os
import signal
import socket
import termios
from collections.abc import Sequence
from typing import Protocol

from roost.core.errors import WorkspaceError
from roost.workspace.channel import Channel

_DEADLINE = 10.0
_KILL_SECONDS = 3.0
"""Then its whole box goes, while whoever wants it killed still waits."""


class Closable(Protocol):
    @property
    def kind(self) -> str: ...

    async def close(self) -> None: ...


class KeptChild:
    def __init__(self, control: socket.socket, box: Closable) -> None:
        loop = asyncio.get_running_loop()
        self._box = box
        self._pid = 0
        self._tty: int | None = None
        self._stdin: int | None = None
        self._output: int | None = None
        self._trouble = "it was killed as it started."
        self._started = asyncio.Event()
        self._ended: asyncio.Future[int] = loop.create_future()
        self._kills: list[asyncio.Future[int]] = []
        self._channel = Channel(control, self._hear, self._end)

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def tty(self) -> int | None:
        return self._tty

    @property
    def stdin(self) -> int | None:
        return self._stdin

    @property
    def output(self) -> int | None:
        return self._output

    async def started(self) -> None:
        async with asyncio.timeout(_DEADLINE):
            await self._started.wait()
        if not self._pid:
            raise WorkspaceError(self._trouble)

    def abandon(self) -> None:
        """Its supervisor ends it and all that it started."""
        self._channel.close()
        self.close()

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def interrupt(self) -> None:
        if self._ended.done():
            return
        if self._tty is not None:
            # What the terminal itself does for Ctrl-C, whatever mode it is in.
            fcntl.ioctl(self._tty, _TIOCSIG, signal.SIGINT)
        else:
            await self._ask(b"interrupt")

    async def kill(self, *, spare: Sequence[int] = ()) -> None:
        if not self._channel.is_open:
            return
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._kills.append(answer)
        await self._ask(b"kill", *(b"%d" % pid for pid in spare))
        try:
            async with asyncio.timeout(_KILL_SECONDS):
                left = await answer
        except TimeoutError:
            left = 1
        if left and self._box.kind == "local":
            raise WorkspaceError("some of its processes could not be ended.")
        if left:
            await self._box.close()

    def close(self) -> None:
        for fd in (self._tty, self._stdin, self._output):
            if fd is not None:
                os.close(fd)
        self._tty = self._stdin = self._output = None

    async def _ask(self, *fields: bytes) -> None:
        try:
            await self._channel.send(fields)
        except OSError:
            # It has ended by itself meanwhile, with all that it started.
            self._channel.close()

    def _hear(self, fields: list[bytes], fds: list[int]) -> None:
        match fields:
            case [b"started", pid]:
                for fd in fds:
                    os.set_blocking(fd, False)
                self._pid = int(pid)
                if len(fds) == 1:
                    (self._tty,) = fds
                else:
                    self._stdin, self._output = fds
                self._started.set()
            case [b"failed", why]:
                self._trouble = os.fsdecode(why)
                self._started.set()
            case [b"ended", status] if not self._ended.done():
                self._ended.set_result(int(status))
            case [b"killed", left] if self._kills:
                answer = self._kills.pop(0)
                if not answer.done():
                    answer.set_result(int(left))
            case _:
                return

    def _end(self) -> None:
        self._started.set()
        if not self._ended.done():
            # Its supervisor was killed, and it with that.
            self._ended.set_result(-signal.SIGKILL)
        for answer in self._kills:
            if not answer.done():
                answer.set_result(0)


_TIOCSIG = getattr(termios, "TIOCSIG", 0x40045436)
