"""`python -m bench.engine WHAT FOLDER`: measure one thing, and print its figures as JSON."""

import sys
from pathlib import Path

import msgspec

from bench.engine import agents, compaction, growth, overhead, streams
from roost.cli.logs import configure_logs

MEASURES = {
    "turns": overhead.measure,
    "agents": agents.measure,
    "compaction": compaction.measure,
    "streams": streams.measure,
    "growth": growth.measure,
}

if __name__ == "__main__":
    what, folder = sys.argv[1:]
    configure_logs("warning", sys.stderr, color=False)
    sys.stdout.buffer.write(msgspec.json.encode(MEASURES[what](Path(folder))))
