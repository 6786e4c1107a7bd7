"""A disk that fails when told to: every file that SQLite opens goes through it."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

import apsw

Call = Literal["write", "sync", "read"]
_NAME = "roost-failing"


class Disk(apsw.VFS):
    """Works until `fail` is called, and again after `mend`."""

    def __init__(self) -> None:
        self._failing: dict[Call, type[apsw.Error]] = {}
        self._after = 0
        self._times = 0
        self._beyond = 0
        self.failed = 0
        self.real = apsw.vfs_names()[0]
        super().__init__(_NAME, self.real, makedefault=True)

    def fail(
        self,
        error: type[apsw.Error],
        *calls: Call,
        after: int = 0,
        times: int = 1 << 30,
        beyond: int = 0,
    ) -> None:
        """From now on these calls fail, once `after` of them have succeeded, so many times. With
        `beyond`, only those further into a file than that."""
        self._failing = dict.fromkeys(calls, error)
        self._after, self._times, self._beyond = after, times, beyond
        self.failed = 0

    def mend(self) -> None:
        self._failing = {}

    def reach(self, call: Call, offset: int) -> None:
        error = self._failing.get(call)
        if error is None or offset < self._beyond or self.failed == self._times:
            return
        if self._after:
            self._after -= 1
            return
        self.failed += 1
        raise error("made by a test")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "File":  # noqa: N802
        return File(self, name, flags)


class File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__(disk.real, name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.reach("read", offset)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.reach("write", offset)
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] (names `Buffer`)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.reach("sync", 0)
        super().xSync(flags)


@contextmanager
def failing_disk() -> Generator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.mend()
        disk.unregister()
