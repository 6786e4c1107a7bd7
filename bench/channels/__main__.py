"""`python -m bench.channels FOLDER`: measure, and print the figures as JSON."""

import sys
from pathlib import Path

import msgspec

from bench.channels import backlog

if __name__ == "__main__":
    (folder,) = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(backlog.measure(Path(folder))))
