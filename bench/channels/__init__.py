"""The channels' part: a backlog of messages that waited on a platform while Roost was away."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import msgspec

from bench.report import RESULTS, Figure

_decode = msgspec.json.Decoder(list[Figure]).decode


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    """In a fresh process, which has nothing in memory but Roost, and an empty folder."""
    tell("backlog")
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder:
        command = [sys.executable, "-m", "bench.channels", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 (ours)
    return _decode(done.stdout)
