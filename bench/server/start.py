"""A server that nobody asks anything: how soon it is ready, and what it holds."""

import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from bench.report import Figure, at_most
from bench.server.process import Server, started

ROUNDS = 7
_NO_MODEL = "http://127.0.0.1:9"

_BARE = """
import aiohttp, apsw, msgspec, starlette.applications, uvicorn, uvloop
import uvicorn.protocols.http.httptools_impl
"""


def measure(folder: Path) -> list[Figure]:
    seconds: list[float] = []
    held: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        with started(folder, _NO_MODEL) as server:
            _answers(server)
            seconds.append(server.seconds)
            held.append((server.memory(), server.memory("Pss")))
    resident, share = zip(*held[1:], strict=True)
    return [
        Figure(
            name="from exec to ready, without a local model",
            value=statistics.median(seconds[1:]),
            unit="s",
            limit=_imports(),
            against="a fresh interpreter that imports what it serves with",
            target=at_most(1.5),
        ),
        Figure(name="the same, the first time, with a folder to make", value=seconds[0], unit="s"),
        Figure(
            name="idle server: resident",
            value=statistics.median(resident),
            unit="MB",
            target=at_most(120),
        ),
        Figure(
            name="idle server: its share of what it shares with others (PSS)",
            value=statistics.median(share),
            unit="MB",
        ),
    ]


def _answers(server: Server) -> None:
    """That it said so is not enough."""
    with urllib.request.urlopen(str(server.url / "readyz"), timeout=5) as response:  # noqa: S310
        assert response.status == 200


def _imports() -> float:
    rounds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", _BARE], check=True)  # noqa: S603 (ours)
        rounds.append(time.perf_counter() - began)
    return statistics.median(rounds)
