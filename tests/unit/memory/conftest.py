"""The real OpenViking server takes a gigabyte to install: what needs it runs where it is."""

from tests.unit.memory.real_viking import PROGRAM

collect_ignore = [] if PROGRAM is not None else ["test_openviking_restart.py"]
