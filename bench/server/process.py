"""`roost run` in a process of its own, and what the system says of that process."""

import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from yarl import URL

from roost.client.place import find

_CONFIG = """
[models]
default = "bench/plain"

[providers.bench]
vendor = "compatible"
base_url = "{url}/v1"
context = 1000000
"""
_NOTHING: Mapping[str, str] = MappingProxyType({})
_TICKS = os.sysconf("SC_CLK_TCK")
_CORES = os.sched_getaffinity(0)
"""As they are before anything is pinned."""


class Server(NamedTuple):
    """`seconds` is how long it took from its exec until it said that it is ready."""

    pid: int
    url: URL
    token: str
    seconds: float

    def used(self) -> float:
        """Seconds of processor, of all its threads."""
        return used_by(self.pid)

    def memory(self, what: str = "Rss") -> float:
        """Megabytes, of what it has in memory (`Rss`), or its share of that (`Pss`)."""
        for line in Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise LookupError(what)


def used_by(pid: int, *, ended: bool = False) -> float:
    """Seconds of processor, and if `ended` also those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if ended else 13])) / _TICKS


@contextmanager
def started(folder: Path, model: str) -> Generator[Server]:
    """With its default configuration, but for the model, which is at this address."""
    with running(folder, model) as server, _beside(server.pid):
        yield server


@contextmanager
def running(
    folder: Path, model: str, *, environ: Mapping[str, str] = _NOTHING
) -> Generator[Server]:
    """The same, on whichever core is free."""
    config, data = folder / "roost.toml", folder / "data"
    config.write_text(_CONFIG.format(url=model))
    command = [sys.executable, "-m", "roost", "run", "--port", "0", "--config", str(config)]
    basic = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    began = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 (ours)
        [*command, "--data", str(data), "--log-level", "error"],
        stdout=subprocess.PIPE,
        env={**basic, **environ},
        text=True,
    ) as process:
        try:
            seconds = _ready(process, began)
            place = find(data)
            assert place is not None
            yield Server(process.pid, place.url, place.token.reveal(), seconds)
        finally:
            process.kill()  # at a stop it would ask the model what is worth remembering


@contextmanager
def _beside(pid: int) -> Generator[None]:
    """The server alone on the first core, its model and its clients on the rest, where there are
    several."""
    rest = _CORES - {min(_CORES)} or _CORES
    before = os.sched_getaffinity(0)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {min(_CORES)})
    os.sched_setaffinity(0, rest)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _ready(process: "subprocess.Popen[str]", began: float) -> float:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Stop with"):
            return time.perf_counter() - began
    raise RuntimeError("Roost did not start. What it said stands above.")
