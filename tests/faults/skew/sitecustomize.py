"""On the path of a server, this sets its clock wrong: by the seconds that its home says."""

import time
from pathlib import Path

_wrong = Path.home() / "skew"
if _wrong.exists():
    _seconds = float(_wrong.read_text())
    _time, _time_ns = time.time, time.time_ns
    time.time = lambda: _time() + _seconds
    time.time_ns = lambda: _time_ns() + round(_seconds * 1e9)
