"""What a box is: somewhere a workspace's processes run and can't leave, found and killed whole."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

SandboxKind = Literal["bubblewrap", "local"]


class Folder(msgspec.Struct, frozen=True):
    """A folder of the host, and where processes in a box find it. Only what is `writable` may be
    changed through it."""

    host: Path
    inside: str
    writable: bool = False


class Ground(msgspec.Struct, frozen=True):
    """What a box is put on. The first folder is the workspace's own and where a shell begins;
    `scratch` is for what is thrown away with the box: its /var/tmp, or $TMPDIR. `owner` is who its
    processes are, where Roost is root."""

    folders: tuple[Folder, ...]
    scratch: Path
    owner: int | None = None

    @property
    def home(self) -> Folder:
        return self.folders[0]


class Child(Protocol):
    """A process in a box, with everything that it starts."""

    @property
    def pid(self) -> int:
        """As the box sees it."""
        ...

    @property
    def tty(self) -> int | None:
        """The other end of its terminal, if it has one: a file descriptor that does not block."""
        ...

    @property
    def stdin(self) -> int | None: ...

    @property
    def output(self) -> int | None:
        """Standard output and errors together, without a terminal."""
        ...

    async def wait(self) -> int:
        """Its exit status; minus the signal that ended it."""
        ...

    async def interrupt(self) -> None:
        """SIGINT to what runs in the foreground of its terminal, or to its group."""
        ...

    async def kill(self, *, spare: Sequence[int] = ()) -> None:
        """End it and all that it started, however deep, daemons too, ignoring no one's wishes. Once
        this returns nothing of it runs. `spare` leaves these processes of the tree alive: its own
        pid, say, to end a shell's command and not the shell."""
        ...

    def close(self) -> None:
        """Let go of its file descriptors."""
        ...


class Box(Protocol):
    """A place with one root of all its processes. When that goes, they go; when Roost dies, however
    it dies, it goes."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def ground(self) -> Ground: ...

    @property
    def network(self) -> bool: ...

    @property
    def is_open(self) -> bool: ...

    async def start(
        self,
        argv: Sequence[str],
        *,
        directory: str,
        environment: Mapping[str, str],
        tty: bool,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Start a process. `directory` is as seen inside. The descriptors of `pass_fds` become 3, 4
        and so on in it, and stay open here."""
        ...

    async def wait(self) -> None:
        """Until it is closed, by whomever, or has ended by itself."""
        ...

    async def close(self) -> None:
        """Kill everything in it. Again, it does nothing."""
        ...


class Sandbox(Protocol):
    """Opens boxes."""

    @property
    def kind(self) -> SandboxKind: ...

    async def open(self, ground: Ground, *, network: bool) -> Box: ...

    async def close(self) -> None:
        """Close all its boxes, and what they are started from."""
        ...
