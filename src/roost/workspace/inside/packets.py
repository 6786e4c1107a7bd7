"""Messages between Roost and a box: packets of fields between NULs, and file descriptors.

No field can hold a NUL: they are arguments, variables and paths.
"""

from __future__ import annotations

import sys

# The module beneath has the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
else:
    import _socket as socket

LARGEST = 200_000
"""Bytes in a message. Linux takes no single argument beyond 128 KB."""

MOST_FDS = 64

_CLOEXEC = 0x40000000


def send(connection: socket.socket, fields: Sequence[bytes], fds: Sequence[int] = ()) -> None:
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)] if fds else []
    connection.sendmsg([b"\0".join(fields)], rights)


def receive(connection: socket.socket) -> tuple[list[bytes], list[int]]:
    """Without a field, the other side is gone."""
    content, rights, _, _ = connection.recvmsg(LARGEST, socket.CMSG_SPACE(4 * MOST_FDS), _CLOEXEC)
    fds = [
        int.from_bytes(packed[at : at + 4], sys.byteorder)
        for level, kind, packed in rights
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for at in range(0, len(packed) - 3, 4)
    ]
    return content.split(b"\0") if content else [], fds
