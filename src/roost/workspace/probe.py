"""Which sandbox works on this machine, found out by trying it, and which one Roost uses."""

import asyncio
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from roost.core.config import WorkspacesConfig
from roost.core.errors import ConfigError, RoostError
from roost.workspace.base import Box, Folder, Ground, Sandbox, SandboxKind
from roost.workspace.bubblewrap import BubblewrapSandbox, Limits
from roost.workspace.local import LocalSandbox

_MB = 1 << 20
_DEADLINE = 30.0
"""Seconds. A server that starts with its machine is in a crowd, and what it finds now holds for
months."""
_HOME = "/workspace"

log = structlog.stdlib.get_logger()


class Probe(msgspec.Struct, frozen=True):
    """What came of trying a sandbox; `advice` is what makes it work."""

    kind: SandboxKind
    works: bool
    why_not: str = ""
    advice: str = ""


async def probe(config: WorkspacesConfig, data: Path) -> Probe:
    """Open a box as bubblewrap makes them, run something in it, and look for the data folder."""
    if shutil.which("bwrap") is None:
        return _fails("bubblewrap is not installed", "Install it: apt install bubblewrap.")
    sandbox = bubblewrap(config, data)
    try:
        async with asyncio.timeout(_DEADLINE):
            with _ground() as ground:
                return await _tried(sandbox, ground, data)
    except TimeoutError:
        return _fails("a box did not start in time", "Look at how busy the machine is.")
    except (RoostError, OSError) as error:
        return _fails(str(error), _advice(str(error)))
    finally:
        await sandbox.close()


async def choose(config: WorkspacesConfig, data: Path) -> Sandbox | None:
    """The sandbox that the configuration asks for; None if there is to be none, and no tools that
    need one."""
    if config.sandbox == "none":
        return None
    if config.sandbox == "local":
        return LocalSandbox()
    found = await probe(config, data)
    if found.works:
        return bubblewrap(config, data)
    if config.sandbox == "bubblewrap":
        raise ConfigError(
            f"workspaces.sandbox is bubblewrap, and that does not work here: {found.why_not}. "
            f"{found.advice}"
        )
    log.warning(
        "commands run without a sandbox, and each is asked about",
        why=found.why_not,
        advice=found.advice,
    )
    return LocalSandbox()


def bubblewrap(config: WorkspacesConfig, data: Path) -> BubblewrapSandbox:
    limits = Limits(processes=config.processes, memory=(config.memory or 0) * _MB)
    return BubblewrapSandbox(limits, hidden=hidden(data))


def hidden(data: Path) -> Sequence[Path]:
    """What no box may show: where Roost keeps everything, and the home of whoever runs it."""
    return [data.resolve(), Path.home().resolve()]


async def _tried(sandbox: Sandbox, ground: Ground, data: Path) -> Probe:
    box = await sandbox.open(ground, network=False)
    try:
        if status := await _status(box, "true"):
            return _fails(f"`true` ended with {status} in a box", "")
        if not await _status(box, f"test -e {_quoted(data)}"):
            return _fails("a box sees the data folder", "Put it elsewhere, with --data.")
    finally:
        await box.close()
    return Probe(sandbox.kind, works=True)


async def _status(box: Box, command: str) -> int:
    child = await box.start(["/bin/sh", "-c", command], directory=_HOME, environment={}, tty=False)
    try:
        return await child.wait()
    finally:
        child.close()


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


@contextmanager
def _ground() -> Generator[Ground]:
    with tempfile.TemporaryDirectory(prefix="roost-") as name:
        folder = Path(name).resolve()
        # Whoever the box runs as must be able to enter it.
        folder.chmod(0o755)
        yield Ground((Folder(folder, _HOME, writable=True),), scratch=folder)


def _fails(why_not: str, advice: str) -> Probe:
    return Probe("bubblewrap", works=False, why_not=why_not, advice=advice)


def _advice(why_not: str) -> str:
    """For what commonly stands in its way."""
    if "disable-userns" in why_not or "Unknown option" in why_not:
        return "Install bubblewrap 0.8 or newer."
    if "Operation not permitted" in why_not or "No permissions" in why_not:
        return (
            "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or "
            "kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with "
            "--security-opt seccomp=unconfined."
        )
    if "Permission denied" in why_not:
        return "Use a Python that every user can read."
    return "Run `bwrap --ro-bind / / --unshare-all true` to see whether bubblewrap works at all."
