"""A box with a keeper in it, as Roost sees it."""

import asyncio
import contextlib
import os
from collections.abc import Generator, Mapping, Sequence

import structlog

from roost.core.errors import WorkspaceError, WorkspaceGone
from roost.workspace.base import Ground, SandboxKind
from roost.workspace.channel import Channel, pair
from roost.workspace.child import KeptChild
from roost.workspace.inside.packets import LARGEST
from roost.workspace.spawning import Launch, Spawner

_DEADLINE = 10.0
_CLOSE_SECONDS = 4.0
"""Less than whoever closes a box waits for it: what has not ended by then is killed."""
_MOST_PASSED = 60

log = structlog.stdlib.get_logger()


class KeptBox:
    """`environment` is what every process in it has, besides what it is started with."""

    def __init__(
        self,
        kind: SandboxKind,
        ground: Ground,
        *,
        network: bool,
        environment: Mapping[str, str],
        spawner: Spawner,
    ) -> None:
        self._kind: SandboxKind = kind
        self._ground = ground
        self._network = network
        self._environment = environment
        self._spawner = spawner
        self._number = 0
        self._channel: Channel | None = None
        self._ready: asyncio.Future[list[bytes]] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()

    @property
    def kind(self) -> SandboxKind:
        return self._kind

    @property
    def ground(self) -> Ground:
        return self._ground

    @property
    def network(self) -> bool:
        return self._network

    @property
    def is_open(self) -> bool:
        return self._channel is not None and not self._ended.is_set()

    async def open(self, launch: Launch, folders: Sequence[bytes] = ()) -> None:
        """`folders` is what the keeper must find where it was told to look."""
        ours, theirs = pair()
        errors, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._channel = Channel(ours, self._hear, self._end)
        try:
            with theirs, _closing(write):
                self._number = await self._spawner.launch(launch, theirs.fileno(), write)
            async with asyncio.timeout(_DEADLINE):
                found = await self._ready
            if found != list(folders):
                raise WorkspaceError("one of its folders was replaced while it was opened.")
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError | OSError | WorkspaceGone):
                raise WorkspaceError(f"a box did not start: {_said(errors)}") from error
            raise
        finally:
            os.close(errors)

    async def start(
        self,
        argv: Sequence[str],
        *,
        directory: str,
        environment: Mapping[str, str],
        tty: bool,
        pass_fds: Sequence[int] = (),
    ) -> KeptChild:
        if self._channel is None or not self.is_open:
            raise WorkspaceGone("nothing can be started in it any more.")
        variables = {**self._environment, **environment}
        fields = [
            *(b"start", b"%d" % tty, os.fsencode(directory), b"%d" % len(argv)),
            *map(os.fsencode, argv),
            *(os.fsencode(f"{name}={value}") for name, value in variables.items()),
        ]
        _check(fields)
        if len(pass_fds) > _MOST_PASSED:
            raise WorkspaceError(f"it takes no more than {_MOST_PASSED} open files along.")
        ours, theirs = pair()
        child = KeptChild(ours, self)
        try:
            with theirs:
                await self._channel.send(fields, [theirs.fileno(), *pass_fds])
            await child.started()
        except OSError as error:
            child.abandon()
            raise WorkspaceGone("nothing can be started in it any more.") from error
        except BaseException:
            child.abandon()
            raise
        return child

    async def wait(self) -> None:
        await self._ended.wait()

    async def close(self) -> None:
        if self._channel is None or self._ended.is_set():
            return
        self._channel.finish()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            log.warning("a box did not close and is killed", kind=self._kind)
            with contextlib.suppress(OSError):
                await self._spawner.kill(self._number)
            self._channel.close()

    def _hear(self, fields: list[bytes], fds: list[int]) -> None:
        for fd in fds:
            os.close(fd)
        if fields[0] == b"ready" and not self._ready.done():
            self._ready.set_result(fields[1:])

    def _end(self) -> None:
        self._ended.set()
        if not self._ready.done():
            self._ready.set_exception(WorkspaceGone("it did not start."))


def _check(fields: Sequence[bytes]) -> None:
    if any(b"\0" in field for field in fields):
        raise WorkspaceError("a command can't have a NUL character in it.")
    if sum(map(len, fields)) + len(fields) > LARGEST:
        raise WorkspaceError("the command is too long. Write it to a file and run that.")


def _said(errors: int) -> str:
    """What the programs that make a box had to say."""
    with contextlib.suppress(BlockingIOError):
        if words := os.read(errors, 4000).decode(errors="replace").strip():
            return words.splitlines()[-1]
    return "it said nothing about why."


@contextlib.contextmanager
def _closing(fd: int) -> Generator[None]:
    try:
        yield
    finally:
        os.close(fd)
