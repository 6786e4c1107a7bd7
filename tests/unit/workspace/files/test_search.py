"""The process that searches: it ends with whoever started it."""

import asyncio
import sys
from pathlib import Path

from tests.engine import eventually

_FOREVER = """
import asyncio, os, sys
from roost.workspace.files.search import search
folder = os.open(sys.argv[1], os.O_RDONLY)
asyncio.run(search(dict(folder=folder, glob="**", regex="^(a+)+$", context=0, newest=False,
    everything=True, limit=10, seconds=600.0, owner=None)))
"""


async def test_search_does_not_outlive_roost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 60 + "b")
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _FOREVER, str(tmp_path))

    async def searcher() -> int:
        pids = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        return int(pids[0]) if pids and _user_time(int(pids[0])) > 5 else 0

    pid = await eventually(searcher)
    parent.kill()
    await parent.wait()

    async def gone() -> bool:
        return not _runs(pid)

    await eventually(gone)


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
