"""A port that is kept for one test, also while nobody listens on it."""

import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager


def held() -> socket.socket:
    """On loopback, until it is closed: nobody else is given this port, and who asks for it by its
    number has it. A port that was only looked for can be another's by the time it is taken."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def number(holder: socket.socket) -> int:
    return holder.getsockname()[1]


@contextmanager
def full() -> Generator[int]:
    """The number of one where somebody listens and takes nobody in: whoever comes has to wait."""
    with held() as holder, ExitStack() as waiting:
        holder.listen(0)
        for _ in range(3):  # there is room for one
            guest = waiting.enter_context(socket.socket())
            guest.setblocking(False)
            guest.connect_ex(holder.getsockname())
        yield number(holder)
