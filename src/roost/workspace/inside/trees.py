"""A process and all that descends from it, however far they have run: found, and ended."""

from __future__ import annotations

import ctypes
import os
import time

# The module beneath has the same names without `enum`, which takes a fifth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable, Iterator, Sequence
else:
    import _signal as signal

_PATIENCE = 5.0
_PATIENCE_SPARING = 0.5
_FREEZING = 0.2
_ROUND = 0.005
_ROUNDS_BEFORE_FREEZING = 4
_QUIET_ROUNDS = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def follow_parent(parent: int, number: int) -> None:
    """Get the signal when the parent ends, be it before this was asked for."""
    prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Whoever loses its parent below this process becomes its child, instead of init's."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())
        except OSError:
            continue


def runs(pid: int) -> bool:
    """Whether any thread of it does. One that nobody has asked the end of yet does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[0] not in b"ZX" or int(fields[17]) > 1


def below(root: int, spare: Iterable[int] = ()) -> list[int]:
    """All that run below a process, whatever their depth, the spared ones left out. Parents come
    before their children: who is ended in this order never lives to see a child of its own end, and
    to go on as if that had been the child's wish."""
    found: dict[int, None] = {}
    todo = [root]
    while todo:
        new = [pid for pid in children(todo.pop()) if pid not in found]
        found.update(dict.fromkeys(new))
        todo += new
    return [pid for pid in found if pid not in spare and runs(pid)]


def signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_below(
    spare: Sequence[int], reap: Callable[[], bool], pause: Callable[[float], None]
) -> int:
    """End all that run below this process, which adopts orphans; how many could not be ended.

    Whoever forks while its parent is killed is found in the next round. One that does so again and
    again is frozen first: frozen ones fork no more and keep their places from those that would.
    `reap` collects who has ended and says whether anyone is left at all. Those who are spared may
    start others, which are nobody's to chase for long.
    """
    deadline = time.monotonic() + (_PATIENCE_SPARING if spare else _PATIENCE)
    rounds = quiet = 0
    doomed: set[int] = set()
    while reap() and quiet < _QUIET_ROUNDS and time.monotonic() < deadline:
        found = below(os.getpid(), spare)
        if rounds > _ROUNDS_BEFORE_FREEZING:
            found = _frozen(found, spare)
        signal_all(found, signal.SIGKILL)
        doomed.update(found)
        rounds += 1
        # One empty round may be a look between a fork and the end of its parent. Where nobody is
        # spared, only `reap` decides.
        quiet = quiet + 1 if spare and not found else 0
        pause(_ROUND)
    return sum(map(runs, doomed))


def _frozen(pids: list[int], spare: Sequence[int]) -> list[int]:
    """Stop them, and all whom they have started meanwhile."""
    frozen: set[int] = set()
    deadline = time.monotonic() + _FREEZING
    while (new := set(pids) - frozen) and time.monotonic() < deadline:
        signal_all(new, signal.SIGSTOP)
        frozen |= new
        pids = below(os.getpid(), spare)
    return [*frozen, *pids]
