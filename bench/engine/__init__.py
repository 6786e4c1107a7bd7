"""The engine's part: what a turn adds to its model's time, agents, many streams, memory."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import msgspec

from bench.report import RESULTS, Figure

_decode = msgspec.json.Decoder(list[Figure]).decode


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    figures: list[Figure] = []
    for what in ("turns", "agents", "compaction", "streams", "growth"):
        tell(what)
        figures += _alone(what)
    return figures


def _alone(what: str) -> list[Figure]:
    """In a fresh process, which has nothing in memory but Roost, and an empty folder."""
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder:
        command = [sys.executable, "-m", "bench.engine", what, folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 (ours)
    return _decode(done.stdout)
