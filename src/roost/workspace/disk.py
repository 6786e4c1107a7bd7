"""A floor of free disk that stays free: below it nothing new is written, and whoever fills it is
stopped."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import structlog

_MB = 1 << 20
_USUALLY = 1.0
_SOON = 0.05
_NEAR = 8
"""So many times the floor, and it is looked at often."""

log = structlog.stdlib.get_logger()

Stop = Callable[[str], Awaitable[None]]


class _Tenant(msgspec.Struct, frozen=True, eq=False):
    folders: tuple[Path, ...]
    stop: Stop


class DiskFloor:
    """Watches the file system of a folder while someone may write to it. `floor` is in bytes."""

    def __init__(self, folder: Path, floor: int) -> None:
        self._folder = folder
        self._floor = floor
        self._tenants: list[_Tenant] = []
        self._sizes: dict[Path, int] = {}
        """Of the tenants' folders when they were last looked at: each once, however many share it.
        """
        self._let = asyncio.Event()
        self._low = False

    async def has_room(self, size: int = 0) -> bool:
        """Whether so many bytes can be written and the floor stays free."""
        return await asyncio.to_thread(free, self._folder) - size >= self._floor

    @contextmanager
    def let(self, folders: tuple[Path, ...], stop: Stop) -> Generator[None]:
        """Meanwhile someone may write to these folders; `stop` is called with the reason if that
        fills the disk."""
        tenant = _Tenant(folders, stop)
        for folder in set(folders) - _folders(self._tenants):
            self._sizes.pop(folder, None)  # what it holds by now nobody has just written
        self._tenants.append(tenant)
        self._let.set()
        try:
            yield
        finally:
            self._tenants.remove(tenant)
            if not self._tenants:
                self._let.clear()

    async def run(self) -> None:
        """Watch, until cancelled; without tenants there is nothing to watch."""
        while True:
            await self._let.wait()
            try:
                near = await self._look()
            except Exception:
                log.exception("the disk could not be looked at; trying again")
                near = False
            await asyncio.sleep(_SOON if near else _USUALLY)

    async def _look(self) -> bool:
        """Whether it may be full soon."""
        folders = _folders(self._tenants)
        for folder in self._sizes.keys() - folders:
            del self._sizes[folder]
        for folder in folders - self._sizes.keys():
            self._sizes[folder] = await asyncio.to_thread(size_of, folder)
        room = await asyncio.to_thread(free, self._folder)
        self._say(room)
        if room < self._floor:
            await self._stop_largest()
        return room < self._floor * _NEAR

    def _say(self, room: int) -> None:
        low = room < self._floor
        if low and not self._low:
            log.warning("the disk is nearly full", free_mb=room // _MB, floor_mb=self._floor // _MB)
        self._low = low

    async def _stop_largest(self) -> None:
        """The one whose folders have grown most since they were last looked at; those who share
        them are as guilty. If nobody grows there is nobody to stop: what fills the disk comes from
        elsewhere."""
        tenants = list(self._tenants)
        growth = await self._growth(_folders(tenants))
        grew = {tenant: sum([growth[folder] for folder in tenant.folders]) for tenant in tenants}
        grown = max(grew.values(), default=0)
        if grown <= 0:
            return
        floor = self._floor // _MB
        reason = (
            f"less than {floor} MB of disk is free, and this workspace has just written "
            f"{grown // _MB} MB. Remove what is not needed."
        )
        log.warning("a workspace is stopped, for it fills the disk", written_mb=grown // _MB)
        for tenant, each in grew.items():
            if each == grown:
                await _stopped(tenant, reason)

    async def _growth(self, folders: set[Path]) -> dict[Path, int]:
        before = self._sizes
        self._sizes = {folder: await asyncio.to_thread(size_of, folder) for folder in folders}
        return {folder: size - before.get(folder, size) for folder, size in self._sizes.items()}


def _folders(tenants: list[_Tenant]) -> set[Path]:
    return {folder for tenant in tenants for folder in tenant.folders}


async def _stopped(tenant: _Tenant, reason: str) -> None:
    try:
        await tenant.stop(reason)
    except Exception:
        log.exception("a workspace that fills the disk could not be stopped")


def free(folder: Path) -> int:
    """What anyone but root may still write, in bytes."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def size_of(folder: Path) -> int:
    """What lies in a folder, in bytes of the disk. Links are not followed."""
    size = 0
    todo = [str(folder)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                # One that was removed meanwhile hides no other.
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
    return size
