"""This end of a connection to a keeper or the spawner: packets and file descriptors."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence

from roost.workspace.inside import packets

_DEADLINE = 10.0

OnMessage = Callable[[list[bytes], list[int]], None]


def pair() -> tuple[socket.socket, socket.socket]:
    """Ours, which never blocks, and the one to give away."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, packets.LARGEST * 2)
    return ours, theirs


class Channel:
    """Tells of each message, and once of the end. Lives until then even if nobody holds it."""

    def __init__(
        self, connection: socket.socket, on_message: OnMessage, on_end: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._loop.add_reader(connection.fileno(), self._read)

    @property
    def is_open(self) -> bool:
        return self._open

    async def send(self, fields: Sequence[bytes], fds: Sequence[int] = ()) -> None:
        """Raises OSError if the other side is gone."""
        async with asyncio.timeout(_DEADLINE):
            while True:
                if not self._open:
                    raise BrokenPipeError
                try:
                    packets.send(self._connection, fields, fds)
                except BlockingIOError:
                    await self._room()
                else:
                    return

    def finish(self) -> None:
        """Say that nothing more comes; the other side ends, and then this one."""
        if self._open:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
            self._on_end()

    async def _room(self) -> None:
        writable = asyncio.Event()
        self._loop.add_writer(self._connection.fileno(), writable.set)
        try:
            await writable.wait()
        finally:
            if self._open:
                self._loop.remove_writer(self._connection.fileno())

    def _read(self) -> None:
        try:
            fields, fds = packets.receive(self._connection)
        except BlockingIOError:
            return
        except OSError:
            fields, fds = [], []
        if fields:
            self._on_message(fields, fds)
        else:
            for fd in fds:
                os.close(fd)
            self.close()
