"""The process that searches: it ends with whoever started it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from roost.workspace.files import search
from roost.workspace.files.searcher import Request
from tests.engine import eventually

_FOREVER = """
import asyncio, os, sys
from roost.workspace.files.search import search
folder = os.open(sys.argv[1], os.O_RDONLY)
asyncio.run(search(dict(folder=folder, glob="**", regex="^(a+)+$", context=0, newest=False,
    everything=True, limit=10, seconds=600.0, owner=int(sys.argv[2]) or None)))
"""
_OWNER = 1_900_000_123 if os.geteuid() == 0 else 0


async def test_search_is_bound_and_does_not_outlive_roost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 60 + "b")
    tmp_path.chmod(0o755)
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _FOREVER, str(tmp_path), str(_OWNER)
    )

    async def searcher() -> int:
        pids = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        return int(pids[0]) if pids and _user_time(int(pids[0])) > 5 else 0

    pid = await eventually(searcher)
    assert _said_of(pid, "Max address space", "limits")[:2] == [str(1 << 30)] * 2
    assert _said_of(pid, "Max core file size", "limits")[:2] == ["0", "0"]
    assert Path(f"/proc/{pid}/environ").read_bytes() == b"", "there are keys in Roost's own"
    if _OWNER:
        assert _said_of(pid, "Uid:") == _said_of(pid, "Gid:") == [str(_OWNER)] * 4
        assert _said_of(pid, "Groups:") == []
    parent.kill()
    await parent.wait()

    async def gone() -> bool:
        return not _runs(pid)

    await eventually(gone)


async def test_search_ends_by_itself_at_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_SETTLE", 600.0)  # nobody else ends it meanwhile
    (tmp_path / "a").write_text("a" * 60 + "b")
    request = Request(
        folder=os.open(tmp_path, os.O_RDONLY),
        glob="**",
        regex="^(a+)+$",
        context=0,
        newest=False,
        everything=True,
        limit=10,
        seconds=0.2,
        owner=None,
    )
    try:
        async with asyncio.timeout(60):
            assert (await search.search(request)).late
    finally:
        os.close(request["folder"])


def _said_of(pid: int, what: str, where: str = "status") -> list[str]:
    lines = Path(f"/proc/{pid}/{where}").read_text().splitlines()
    return next(line.removeprefix(what).split() for line in lines if line.startswith(what))


def _user_time(pid: int) -> int:
    """In hundredths of a second: a while after its start it is at the pattern."""
    return int(_stat(pid)[11])


def _runs(pid: int) -> bool:
    try:
        return _stat(pid)[0] != "Z"
    except OSError:
        return False


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
