"""`python -m bench.server WHAT FOLDER`: measure one thing, and print its figures as JSON."""

import sys
from pathlib import Path

import msgspec

from bench.server import first, start, streams, turns

MEASURES = {
    "start": start.measure,
    "first": first.measure,
    "turns": turns.measure,
    "streams": streams.measure,
}

if __name__ == "__main__":
    what, folder = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(MEASURES[what](Path(folder))))
