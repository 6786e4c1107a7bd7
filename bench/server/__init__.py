"""The server's part: a real `roost run`, asked over HTTP by clients in another process."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import msgspec

from bench.report import RESULTS, Figure

_decode = msgspec.json.Decoder(list[Figure]).decode


def measure(tell: Callable[[str], None]) -> Sequence[Figure]:
    figures: list[Figure] = []
    for what in ("start", "first", "turns", "streams"):
        tell(what)
        figures += _alone(what)
    return figures


def _alone(what: str) -> list[Figure]:
    """Its clients in a fresh process, and an empty folder."""
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="scratch-") as folder:
        command = [sys.executable, "-m", "bench.server", what, folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)  # noqa: S603 (ours)
    return _decode(done.stdout)
