"""Trees of processes, seen and ended from their root."""

import os
import signal
import subprocess
import time

from roost.workspace.inside.trees import below, children, end_below, runs


def started(script: str) -> subprocess.Popen[bytes]:
    """A shell that has said that it is ready."""
    process = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(2) == b"up"
    process.stdout.close()
    return process


def test_all_generations_are_found() -> None:
    process = started("sh -c 'sleep 1000 & sleep 1000 & printf up; wait' & wait")
    try:
        (inner,) = children(process.pid)
        found = below(process.pid)
        assert set(found) == {inner, *children(inner)}
        assert len(found) == 3
        assert sorted(below(process.pid, [inner])) == sorted(set(found) - {inner})
    finally:
        for pid in below(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(10)
    assert below(process.pid) == []


DEEP = """
deep() { if [ "$1" = 0 ]; then printf up; exec sleep 1000; else (deep $(($1 - 1)); :) & wait; fi; }
deep 12
"""


def test_parents_come_before_their_children() -> None:
    """Who saw its child end first would take that for the end of its command."""
    for _ in range(10):  # of many numbers, some are not in the order of their kin by chance
        process = started(DEEP)
        try:
            found = below(process.pid)
            assert len(found) >= 12
            for child, parent in [(each, p) for p in found for each in children(p)]:
                assert child not in found or found.index(child) > found.index(parent)
        finally:
            for pid in [process.pid, *below(process.pid)]:
                os.kill(pid, signal.SIGKILL)
            process.wait(10)


def test_one_that_has_ended_does_not_run_though_nobody_has_asked() -> None:
    process = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not runs(process.pid)
    assert process.pid in children(os.getpid())
    assert process.pid not in below(os.getpid())
    assert process.wait(10) == 0
    assert not runs(process.pid)
    assert runs(os.getpid())


def test_nobody_below_is_nobody_to_end() -> None:
    assert end_below((), lambda: False, time.sleep) == 0
