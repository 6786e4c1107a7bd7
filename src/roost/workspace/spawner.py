"""The process that every box is started from: Roost's only child for them, with one thread.

A box must go when Roost does, and Linux ties a child to the thread that started it; here there is
just one, for as long as there is a Roost. It is small, so that forking is cheap, and may do between
fork and exec what a program with threads can't: enter a mount namespace, show the folders of a box
to a user who has no way to them, become that user.
"""

from __future__ import annotations

import ctypes
import importlib.util
import marshal
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType

from roost.workspace.inside import keeper, packets, supervisor, trees, wakeups

PROGRAM = keeper.CONNECTION + 1
"""The descriptor where the keeper's program is, as `/dev/fd/4`; what else is passed follows it."""

STAGE = "/tmp"  # noqa: S108
"""Where the folders of a box lie, by number, for a bubblewrap that is not root."""

_BOOT = """
import marshal, sys
for name, content in {modules}:
    sys.modules[name] = module = type(sys)(name)
    exec(marshal.loads(content), module.__dict__)
module.main(sys.argv[1:])
"""
_PATIENCE = 6.0
_SOONER = "500"
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000


class Launch:
    """A program to run as the root of a box."""

    def __init__(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        _, number, owner, count, *rest = fields
        self.number = int(number)
        self.owner = int(owner) if owner else None
        self.staged = rest[: int(count)]
        self.argv = rest[int(count) :]
        self.connection, self.errors, *self.data = fds

    def close(self) -> None:
        for fd in (self.connection, self.errors, *self.data):
            os.close(fd)


class Spawner:
    """Starts boxes until its connection ends, then ends them."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._program = compiled()
        self._running: dict[int, int] = {}
        self._wakeups = wakeups.Wakeups(signal.SIGCHLD, signal.SIGTERM)

    def run(self) -> None:
        connection = self._connection.fileno()
        while True:
            ready = wakeups.ready(connection, self._wakeups.fd)
            if signal.SIGTERM in self._wakeups.taken():
                break
            self._reap()
            self._end_strays()
            if connection in ready and not self._listen():
                break
        self._close()

    def _listen(self) -> bool:
        try:
            fields, fds = packets.receive(self._connection)
        except OSError:
            return False
        match fields:
            case [b"launch", *_]:
                self._launch(Launch(fields, fds))
            case [b"kill", number]:
                known = [pid for pid, which in self._running.items() if which == int(number)]
                trees.signal_all(known, signal.SIGKILL)
            case _:
                return False
        return True

    def _launch(self, launch: Launch) -> None:
        spawner = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                signal.set_wakeup_fd(-1)
                become(launch, self._program, spawner)
            except OSError as error:
                os.write(launch.errors, os.fsencode(f"{error.filename or ''}: {error.strerror}"))
            finally:
                os._exit(127)
        self._running[pid] = launch.number
        launch.close()

    def _reap(self) -> bool:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                if os.WIFSTOPPED(ended[1]):
                    # Without a box around them, what it keeps could do that to be kept no more.
                    trees.signal_all(ended[:1], signal.SIGKILL)
                else:
                    self._running.pop(ended[0], None)
        except ChildProcessError:
            return False
        return True

    def _end_strays(self) -> None:
        """A keeper without a namespace of its own can be killed; its children come here then."""
        strays = [pid for pid in trees.children(os.getpid()) if pid not in self._running]
        for pid in strays:
            trees.signal_all([*trees.below(pid), pid], signal.SIGKILL)

    def _close(self) -> None:
        """Ask first: a keeper knows best how to end what it keeps."""
        trees.signal_all(self._running, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        while self._reap() and time.monotonic() < deadline:
            self._end_strays()
            time.sleep(0.002)
        trees.end_below((), self._reap, time.sleep)


def compiled() -> bytes:
    """The keeper as Python keeps a module, with those that it needs: to read that is faster than to
    find and compile each of them in every box."""
    modules = [
        (module.__name__, marshal.dumps(_code(Path(module.__file__ or ""))))
        for module in (packets, wakeups, trees, supervisor, keeper)
    ]
    boot = compile(_BOOT.format(modules=modules), "keeper", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(boot)


def _code(path: Path) -> CodeType:
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)


def become(launch: Launch, program: bytes, parent: int) -> None:
    """Turn this process, just forked, into the root of a box."""
    os.setsid()
    # When memory runs out, boxes go before Roost does.
    Path("/proc/self/oom_score_adj").write_text(_SOONER)
    if launch.staged:
        stage(launch.staged)
    if launch.owner is not None:
        drop_to(launch.owner)
    # Not before: to become someone else is to forget whom to follow. A keeper that is asked to end
    # can end what is below it; one that is killed could not.
    trees.follow_parent(parent, signal.SIGTERM)
    file = os.memfd_create("keeper")
    os.write(file, program)
    arrange(launch, file)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.execve(launch.argv[0], launch.argv, {})


def opened(path: str) -> int:
    """A folder or file by its path, none of whose parts may be a link: whoever may write to one of
    them could lead a box anywhere."""
    at = os.open("/", os.O_PATH | os.O_DIRECTORY)
    for part in Path(path).parts[1:]:
        found = os.open(part, os.O_PATH | os.O_NOFOLLOW, dir_fd=at)
        os.close(at)
        at = found
    if (os.stat(at).st_mode & 0o170000) == 0o120000:
        raise OSError(40, "one of its parts is a link", path)
    return at


def stage(paths: Sequence[bytes]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int, doing: str) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), doing)

    def mount(source: str, target: str, kind: bytes, flags: int, data: bytes = b"") -> None:
        where = os.fsencode(target)
        check(libc.mount(os.fsencode(source), where, kind, flags, data), f"mount {target}")

    check(libc.unshare(_CLONE_NEWNS), "a mount namespace")
    mount("none", "/", b"", _MS_REC | _MS_SLAVE)
    # In the new namespace, where alone they can be mounted, and before anything hides them.
    fds = [opened(os.fsdecode(path)) for path in paths]
    mount("tmpfs", STAGE, b"tmpfs", 0, b"mode=755,size=1m")
    for number, fd in enumerate(fds):
        target = f"{STAGE}/{number}"
        if os.stat(fd).st_mode & 0o170000 == 0o040000:
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"/proc/self/fd/{fd}", target, b"", _MS_BIND | _MS_REC)
        os.close(fd)


def drop_to(owner: int) -> None:
    os.setgroups([])
    os.setresgid(owner, owner, owner)
    os.setresuid(owner, owner, owner)
    trees.prctl(_PR_SET_NO_NEW_PRIVS, 1)


def arrange(launch: Launch, program: int) -> None:
    """The connection at 3, the program at 4, then the data, errors at 2, and nothing else."""
    nothing = os.open("/dev/null", os.O_RDWR)
    wanted = [nothing, nothing, launch.errors, launch.connection, program, *launch.data]
    for target, fd in enumerate([supervisor.moved(fd) for fd in wanted]):
        os.dup2(fd, target, inheritable=True)
    os.closerange(len(wanted), 1 << 20)
    launch.errors = 2


def main(fd: int) -> None:
    connection = socket.socket(fileno=fd)
    os.set_inheritable(fd, False)
    os.chdir("/")
    trees.adopt_orphans()
    Spawner(connection).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
