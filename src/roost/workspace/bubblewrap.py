"""Boxes made by bubblewrap: they see a list of folders, themselves, and nothing else."""

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from roost.core.errors import WorkspaceError
from roost.workspace import spawner, syscalls
from roost.workspace.base import Folder, Ground, SandboxKind
from roost.workspace.inside.keeper import identity
from roost.workspace.kept import KeptBox
from roost.workspace.spawning import Launch, Spawner

USER = "agent"
ID = 1000
"""Who its processes are, as they see it themselves."""

_NOBODY = 65534
_MB = 1 << 20
_OWN = "/run/roost"
_PATH = f"/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:{_OWN}/bin"

_SYSTEM = ("/usr", "/nix/store", "/gnu/store")
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, folders of their own on others."""

_SETTINGS = (
    *("alternatives", "chromium.d", "fonts", "ld.so.cache", "localtime", "mime.types"),
    *("pki/ca-trust/extracted", "pki/tls/certs", "services", "ssl/certs", "ssl/openssl.cnf"),
)
"""What is shown of /etc."""


class Limits(msgspec.Struct, frozen=True):
    """What a box may take: processes in all; memory, in bytes, and open files for each of them; the
    size of a file; and of what is kept in memory, /tmp and /dev/shm."""

    processes: int = 256
    memory: int = 0
    file: int = 4096 * _MB
    files: int = 4096
    tmp: int = 512 * _MB
    shared: int = 256 * _MB


_USUAL = Limits()


class BubblewrapSandbox:
    """`hidden` is what no box may be shown, nor any folder that holds it."""

    def __init__(self, limits: Limits = _USUAL, *, hidden: Sequence[Path] = ()) -> None:
        self._limits = limits
        self._hidden = hidden
        self._spawner = Spawner()

    @property
    def kind(self) -> SandboxKind:
        return "bubblewrap"

    async def open(self, ground: Ground, *, network: bool) -> KeptBox:
        folders = await asyncio.to_thread(_shown, ground)
        identities = await asyncio.to_thread(self._look, folders)
        box = KeptBox(
            "bubblewrap",
            ground,
            network=network,
            environment=_environment(ground),
            spawner=self._spawner,
        )
        launch = await asyncio.to_thread(self._launch, ground, folders, network=network)
        await box.open(launch, identities)
        return box

    async def close(self) -> None:
        await self._spawner.close()

    def _look(self, folders: Sequence[Folder]) -> list[bytes]:
        """Which ones are meant, so that others put in their place are noticed."""
        for folder in folders:
            if any(hidden.is_relative_to(folder.host) for hidden in self._hidden):
                raise WorkspaceError(
                    f"{folder.host} can't be shown in a box: it holds Roost's own."
                )
        return [_identity(folder) for folder in folders]

    def _launch(self, ground: Ground, folders: Sequence[Folder], *, network: bool) -> Launch:
        owner = _NOBODY if ground.owner is None else ground.owner
        plan = _Plan(found(), privileged=_may_become(owner))
        plan.separate(network=network)
        plan.show_system(network=network, home=ground.home.inside)
        plan.show_python()
        plan.make_devices(self._limits)
        for folder in sorted(folders, key=lambda folder: len(Path(folder.inside).parts)):
            plan.show(str(folder.host), folder.inside, writable=folder.writable)
        plan.run(self._limits, folders)
        return Launch(
            argv=plan.argv,
            owner=owner if plan.privileged else None,
            staged=plan.staged,
            data=plan.data,
        )


def _shown(ground: Ground) -> list[Folder]:
    """What is too large for /tmp, which lies in memory, has its place in /var/tmp."""
    scratch = Folder(ground.scratch, "/var/tmp", writable=True)  # noqa: S108
    return [*ground.folders, *([scratch] if ground.scratch.is_dir() else [])]


def found() -> str:
    """Where bubblewrap is."""
    path = shutil.which("bwrap")
    if path is None:
        raise WorkspaceError("bubblewrap is not installed.")
    return path


def _may_become(owner: int) -> bool:
    """The root of a container may be nobody else's, and is an ordinary user then."""
    if os.geteuid() != 0:
        return False
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(int(first) <= owner < int(first) + int(count) for first, _, count in ranges)


class _Plan:
    """The command line of a box, as it grows. Where Roost is root, bubblewrap is not, and finds
    what is `staged` where the spawner put it."""

    def __init__(self, bubblewrap: str, *, privileged: bool) -> None:
        self.argv = [bubblewrap]
        self.privileged = privileged
        self.staged: list[str] = []
        self.data: list[bytes] = []

    def separate(self, *, network: bool) -> None:
        self.argv += ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
        self.argv += ["--share-net"] if network else []
        self.argv += ["--uid", str(ID), "--gid", str(ID), "--hostname", "workspace"]
        self.argv += ["--die-with-parent", "--as-pid-1", "--clearenv"]
        if (refused := syscalls.program()) is not None:
            self.argv += ["--seccomp", self._given(refused)]

    def show_system(self, *, network: bool, home: str) -> None:
        for path in filter(os.path.isdir, _SYSTEM):
            self.argv += ["--ro-bind", path, path]
        for path in _MERGED:
            if os.path.islink(path):  # noqa: PTH114
                self.argv += ["--symlink", os.readlink(path), path]  # noqa: PTH115
            elif os.path.isdir(path):  # noqa: PTH112
                self.argv += ["--ro-bind", path, path]
        for path in filter(os.path.exists, (f"/etc/{name}" for name in _SETTINGS)):
            self.argv += ["--ro-bind", path, path]
        for name, content in _etc(home, network=network):
            self.argv += ["--perms", "0644", "--file", self._given(content), f"/etc/{name}"]

    def show_python(self) -> None:
        """The keeper runs on the Python that runs Roost, wherever that is."""
        python = Path(sys.executable).resolve()
        for path in (python, python.parent.parent / "lib", Path(sys.base_prefix).resolve() / "lib"):
            if not path.is_relative_to("/usr") and path.exists():
                self.show(str(path), str(path))
        self.argv += ["--symlink", str(python), f"{_OWN}/bin/python3"]

    def show(self, host: str, inside: str, *, writable: bool = False) -> None:
        if self.privileged:
            self.staged.append(host)
            host = f"{spawner.STAGE}/{len(self.staged) - 1}"
        self.argv += ["--bind" if writable else "--ro-bind", host, inside]

    def make_devices(self, limits: Limits) -> None:
        self.argv += ["--proc", "/proc", "--dev", "/dev"]
        self.argv += ["--size", str(limits.shared), "--perms", "1777", "--tmpfs", "/dev/shm"]  # noqa: S108
        self.argv += ["--size", str(limits.tmp), "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108

    def run(self, limits: Limits, folders: Sequence[Folder]) -> None:
        # What bubblewrap makes by itself lies in memory and has no bound: nobody may write to it.
        self.argv += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
        self.argv += ["--", str(Path(sys.executable).resolve()), "-I", "-S", "-B"]
        self.argv += [f"/dev/fd/{spawner.PROGRAM}", str(self._processes(limits))]
        self.argv += map(str, (limits.memory, limits.file, limits.files))
        self.argv += [folder.inside for folder in folders]

    def _given(self, content: bytes) -> str:
        """The number of the descriptor that it is read from: after the keeper's program."""
        self.data.append(content)
        return str(spawner.PROGRAM + len(self.data))

    def _processes(self, limits: Limits) -> int:
        """Before Linux 5.14 all that the user has is counted, outside of the box too."""
        major, minor = os.uname().release.split(".")[:2]
        countable = self.privileged or (int(major), int(minor)) >= (5, 14)
        return limits.processes if countable else 0


def _etc(home: str, *, network: bool) -> Iterator[tuple[str, bytes]]:
    shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"  # noqa: PTH110
    yield "passwd", f"{USER}:x:{ID}:{ID}:{USER}:{home}:{shell}\n".encode()
    yield "group", f"{USER}:x:{ID}:\n".encode()
    yield "hosts", b"127.0.0.1 localhost workspace\n::1 localhost\n"
    yield "nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n"
    resolvers = Path("/etc/resolv.conf")
    if network and resolvers.is_file():
        yield "resolv.conf", resolvers.read_bytes()


def _environment(ground: Ground) -> dict[str, str]:
    return {
        "PATH": _PATH,
        "HOME": ground.home.inside,
        "USER": USER,
        "LOGNAME": USER,
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",  # noqa: S108
    }


def _identity(folder: Folder) -> bytes:
    try:
        fd = spawner.opened(str(folder.host))
    except OSError as error:
        raise WorkspaceError(f"{folder.host} can't be shown in a box: {error.strerror}.") from error
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise WorkspaceError(f"{folder.host} can't be shown in a box: it is not a folder.")
        return identity(fd)
    finally:
        os.close(fd)
