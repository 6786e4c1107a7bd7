"""Starts one process, and can find whatever comes of it."""

from __future__ import annotations

import fcntl
import os
import resource

from roost.workspace.inside.packets import MOST_FDS, receive, send
from roost.workspace.inside.trees import end_below
from roost.workspace.inside.wakeups import Wakeups, ready

# The module beneath has the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Sequence
else:
    import _signal as signal
    import _socket as socket


class Limits:
    """What one process may take; 0 is as much as there is."""

    def __init__(self, words: Sequence[str]) -> None:
        processes, memory, file, files = map(int, words)
        self._limits = {
            resource.RLIMIT_NPROC: processes,
            resource.RLIMIT_AS: memory,
            resource.RLIMIT_FSIZE: file,
            resource.RLIMIT_NOFILE: files,
        }

    def apply(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for kind, wanted in self._limits.items():
            _, hard = resource.getrlimit(kind)
            if wanted:
                bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
                resource.setrlimit(kind, (bound, bound))


class Order:
    """What to start, as the host asks for it."""

    def __init__(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        _, tty, self.directory, count, *rest = fields
        self.tty = tty == b"1"
        self.argv = rest[: int(count)]
        self.environment = dict(entry.split(b"=", 1) for entry in rest[int(count) :] if entry)
        self.control = socket.socket(fileno=fds[0])
        self.passed = list(fds[1:])


class Supervisor:
    """Starts one process, is the next of kin of all that descends from it, and ends with them."""

    def __init__(self, order: Order, limits: Limits) -> None:
        self._order = order
        self._limits = limits
        self._control = order.control
        self._wakeups = Wakeups(signal.SIGCHLD, signal.SIGTERM)
        self._pid = 0
        self._ended = False

    def run(self) -> None:
        try:
            self._start()
        except OSError as error:
            self._say(b"failed", os.fsencode(error.strerror or str(error)))
            return
        control = self._control.fileno()
        while self._reap():
            found = ready(control, self._wakeups.fd)
            stop = signal.SIGTERM in self._wakeups.taken()
            if stop or (control in found and not self._listen()):
                end_below((), self._reap, self._pause)
                return

    def _start(self) -> None:
        ours, theirs = self._ends()
        trouble, tell = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if not self._pid:
            self._become(theirs, tell)
        for fd in (*theirs, tell, *self._order.passed):
            os.close(fd)
        said = os.read(trouble, 4096)
        os.close(trouble)
        if said:
            number, _, where = said.partition(b" ")
            raise OSError(int(number), f"{os.fsdecode(where)}: {os.strerror(int(number))}")
        self._say(b"started", b"%d" % self._pid, fds=ours)
        for fd in ours:
            os.close(fd)

    def _ends(self) -> tuple[list[int], list[int]]:
        """Ours for the host, theirs for the process."""
        if self._order.tty:
            ours, theirs = os.openpty()
            return [ours], [theirs]
        stdin, write = os.pipe2(os.O_CLOEXEC)
        read, output = os.pipe2(os.O_CLOEXEC)
        return [write, read], [stdin, output]

    def _become(self, ends: list[int], tell: int) -> None:
        where = self._order.argv[0]
        try:
            signal.set_wakeup_fd(-1)
            # What is ignored would stay ignored.
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            tell = self._arrange(ends, tell)
            where = self._order.directory
            os.chdir(where)
            where = self._order.argv[0]
            self._limits.apply()
            path = self._order.environment.get(b"PATH", os.fsencode(os.defpath))
            _execute(self._order.argv, self._order.environment, path)
        except OSError as error:
            os.write(tell, b"%d " % (error.errno or 0) + where)
        finally:
            os._exit(127)

    def _arrange(self, ends: list[int], tell: int) -> int:
        """Standard input, output and errors; then what is passed, then `tell`; and nothing else."""
        if self._order.tty:
            os.login_tty(ends[0])
        else:
            os.setsid()
            for fd, target in zip((ends[0], ends[1], ends[1]), range(3), strict=True):
                os.dup2(fd, target)
        # Away from where they go first, so that none is overwritten before its turn.
        kept = [moved(fd) for fd in (*self._order.passed, tell)]
        for target, fd in enumerate(kept, start=3):
            os.dup2(fd, target, inheritable=True)
        last = 3 + len(kept)
        os.closerange(last, 1 << 20)
        os.set_inheritable(last - 1, False)
        return last - 1

    def _listen(self) -> bool:
        """Do what the host says; false if it is gone."""
        try:
            fields, _ = receive(self._control)
        except OSError:
            return False
        match fields:
            case [b"kill", *spare]:
                left = end_below([int(pid) for pid in spare if pid], self._reap, self._pause)
                self._say(b"killed", b"%d" % left)
            case [b"interrupt"] if not self._ended:
                try:
                    os.killpg(self._pid, signal.SIGINT)
                except (ProcessLookupError, PermissionError):
                    return True
            case _:
                return bool(fields)
        return True

    def _reap(self) -> bool:
        """Whether anyone is left."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._pid and not self._ended:
                    self._ended = True
                    self._say(b"ended", b"%d" % os.waitstatus_to_exitcode(ended[1]))
        except ChildProcessError:
            return False
        return True

    def _pause(self, seconds: float) -> None:
        ready(self._wakeups.fd, within=seconds)
        self._wakeups.taken()

    def _say(self, *fields: bytes, fds: Sequence[int] = ()) -> None:
        try:
            send(self._control, fields, fds)
        except OSError:
            return


def moved(fd: int) -> int:
    """The same descriptor at a number far from the first ones."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3 + 2 * MOST_FDS)


def _execute(argv: list[bytes], environment: dict[bytes, bytes], path: bytes) -> None:
    if b"/" in argv[0]:
        os.execve(argv[0], argv, environment)
    refused: OSError = FileNotFoundError(2, "")
    for folder in path.split(b":"):
        try:
            os.execve(os.path.join(folder, argv[0]), argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused = error
    raise refused
