"""The root of all processes of a box: starts them, each under a supervisor of its own.

Whatever ends its connection ends it, and with it everything that it has started.
"""

from __future__ import annotations

import os
import time

from roost.workspace.inside.packets import receive, send
from roost.workspace.inside.supervisor import Limits, Order, Supervisor
from roost.workspace.inside.trees import (
    adopt_orphans,
    children,
    end_below,
    follow_parent,
    prctl,
    signal_all,
)
from roost.workspace.inside.wakeups import Wakeups, ready

# The module beneath has the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Sequence
    from typing import NoReturn
else:
    import _signal as signal
    import _socket as socket

CONNECTION = 3
"""The descriptor that a keeper finds its connection at."""

_STRAY_ROUNDS = 100
_PR_SET_DUMPABLE = 4


class Keeper:
    """Takes orders until its connection ends, then ends everything."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._supervisors: set[int] = set()
        # The first process of a namespace gets no signal that it does not ask for: this way nobody
        # in the box can end it.
        asked = [] if os.getpid() == 1 else [signal.SIGTERM]
        self._wakeups = Wakeups(signal.SIGCHLD, *asked)

    def run(self) -> None:
        connection = self._connection.fileno()
        while True:
            found = ready(connection, self._wakeups.fd)
            if signal.SIGTERM in self._wakeups.taken():
                break
            self._reap()
            self._end_strays()
            if connection in found and not self._listen():
                break
        self.close()

    def _listen(self) -> bool:
        try:
            fields, fds = receive(self._connection)
        except OSError:
            return False
        if fields:
            self._start(Order(fields, fds))
        return bool(fields)

    def _start(self, order: Order) -> None:
        keeper = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            send(order.control, [b"failed", os.fsencode(error.strerror or "")])
        else:
            self._supervisors.add(pid or self._supervise(order, keeper))
        order.control.close()
        for fd in order.passed:
            os.close(fd)

    def _supervise(self, order: Order, keeper: int) -> NoReturn:
        """What the fork does, until nobody is left whom it watches over."""
        status = 1
        try:
            self._connection.close()
            follow_parent(keeper, signal.SIGTERM)
            adopt_orphans()
            Supervisor(order, self._limits).run()
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> bool:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                if os.WIFSTOPPED(ended[1]):
                    # By someone in the box, who would have nobody watch over it.
                    signal_all(ended[:1], signal.SIGKILL)
                else:
                    self._supervisors.discard(ended[0])
        except ChildProcessError:
            return False
        return True

    def _end_strays(self) -> None:
        """A supervisor can be killed from inside the box; what it watched over goes then."""
        for _ in range(_STRAY_ROUNDS):
            strays = [pid for pid in children(os.getpid()) if pid not in self._supervisors]
            if not strays:
                return
            signal_all(strays, signal.SIGKILL)
            self._reap()

    def close(self) -> None:
        if os.getpid() == 1:
            signal_all([-1], signal.SIGKILL)
        end_below((), self._reap, time.sleep)


def identity(path: str | int) -> bytes:
    """Tells whether a folder is the one that was meant, wherever its path leads by now."""
    status = os.stat(path)
    return b"%d:%d" % (status.st_dev, status.st_ino)


def main(words: Sequence[str]) -> None:
    os.closerange(CONNECTION + 1, 256)
    connection = socket.socket(fileno=CONNECTION)
    os.set_inheritable(CONNECTION, False)
    # Nobody who runs as the same user may look into it or change what it does.
    prctl(_PR_SET_DUMPABLE, 0)
    # Python would end by itself on this one, be it asked by someone in the box.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()
    keeper = Keeper(connection, Limits(words[:4]))
    send(connection, [b"ready", *map(identity, words[4:])])
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    keeper.run()
