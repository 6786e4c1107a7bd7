"""The root of all processes of a box: starts them, each under a supervisor that can find its tree.

It runs as a program of its own, inside the box, and imports nothing but what Python starts fastest
with. Whatever ends its connection ends it, and with it everything that it has started.

A message is a packet of fields between NULs: none of them can hold one, since they are arguments,
variables and paths. File descriptors go with it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import select
import sys
import time

# The modules beneath have the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from collections.abc import Callable, Iterable, Iterator, Sequence
else:
    import _signal as signal
    import _socket as socket

LARGEST = 200_000
"""Bytes in a message. Linux takes no single argument beyond 128 KB."""

CONNECTION = 3
"""The descriptor that a keeper finds its connection at."""

_CLOEXEC = 0x40000000
_FDS = 64
_PATIENCE = 5.0
_PATIENCE_SPARING = 0.5
_FREEZING = 0.2
_ROUND = 0.005
_ROUNDS_BEFORE_FREEZING = 4
_QUIET_ROUNDS = 2
_STRAY_ROUNDS = 100

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def follow_parent(parent: int, number: int) -> None:
    """Get the signal when the parent ends, be it before this was asked for."""
    prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Whoever loses its parent below this process becomes its child, instead of init's."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def send(connection: socket.socket, fields: Sequence[bytes], fds: Sequence[int] = ()) -> None:
    packed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)] if fds else []
    connection.sendmsg([b"\0".join(fields)], rights)


def receive(connection: socket.socket) -> tuple[list[bytes], list[int]]:
    """Without a field, the other side is gone."""
    content, rights, _, _ = connection.recvmsg(LARGEST, socket.CMSG_SPACE(4 * _FDS), _CLOEXEC)
    fds = [
        int.from_bytes(packed[at : at + 4], sys.byteorder)
        for level, kind, packed in rights
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for at in range(0, len(packed) - 3, 4)
    ]
    return content.split(b"\0") if content else [], fds


class Wakeups:
    """Signals as something to wait for, next to messages."""

    def __init__(self, *numbers: int) -> None:
        self.fd, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _note)

    def taken(self) -> bytes:
        """The numbers that came since."""
        try:
            return os.read(self.fd, 4096)
        except BlockingIOError:
            return b""


def _note(number: int, frame: object) -> None:
    """What there is to do stands in the pipe."""


def ready(*fds: int, within: float | None = None) -> list[int]:
    """Wait for one of them to have something to read, or to have ended."""
    waiting = select.poll()
    for fd in fds:
        waiting.register(fd, select.POLLIN)
    return [fd for fd, _ in waiting.poll(None if within is None else within * 1000)]


def children(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
        except OSError:
            continue


def runs(pid: int) -> bool:
    """Whether any thread of it does. One that nobody has asked the end of yet does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[0] not in b"ZX" or int(fields[17]) > 1


def below(root: int, spare: Iterable[int] = ()) -> list[int]:
    """All that run below a process, whatever their depth, the spared ones left out."""
    found: set[int] = set()
    todo = [root]
    while todo:
        new = set(children(todo.pop())) - found
        found |= new
        todo += new
    return [pid for pid in found if pid not in spare and runs(pid)]


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_below(
    spare: Sequence[int], reap: Callable[[], bool], pause: Callable[[float], None]
) -> int:
    """End all that run below this process, which adopts orphans; how many could not be ended.

    Whoever forks while its parent is killed is found in the next round. One that does so again and
    again is frozen first: frozen ones fork no more and keep their places from those that would.
    `reap` collects who has ended and says whether anyone is left at all. Those who are spared may
    start others, which are nobody's to chase for long.
    """
    deadline = time.monotonic() + (_PATIENCE_SPARING if spare else _PATIENCE)
    rounds = quiet = 0
    doomed: set[int] = set()
    while reap() and quiet < _QUIET_ROUNDS and time.monotonic() < deadline:
        found = below(os.getpid(), spare)
        if rounds > _ROUNDS_BEFORE_FREEZING:
            found = _frozen(found, spare)
        signal_all(found, signal.SIGKILL)
        doomed.update(found)
        rounds += 1
        # One empty round may be a look between a fork and the end of its parent. Where nobody is
        # spared, only `reap` decides.
        quiet = quiet + 1 if spare and not found else 0
        pause(_ROUND)
    return sum(map(runs, doomed))


def _frozen(pids: list[int], spare: Sequence[int]) -> list[int]:
    """Stop them, and all whom they have started meanwhile."""
    frozen: set[int] = set()
    deadline = time.monotonic() + _FREEZING
    while (new := set(pids) - frozen) and time.monotonic() < deadline:
        signal_all(new, signal.SIGSTOP)
        frozen |= new
        pids = below(os.getpid(), spare)
    return [*frozen, *pids]


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
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3 + 2 * _FDS)


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
            pid = -1
        if not pid:
            status = 1
            try:
                self._connection.close()
                follow_parent(keeper, signal.SIGTERM)
                adopt_orphans()
                Supervisor(order, self._limits).run()
                status = 0
            finally:
                os._exit(status)
        self._supervisors.add(pid)
        order.control.close()
        for fd in order.passed:
            os.close(fd)

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


if __name__ == "__main__":
    main(sys.argv[1:])
