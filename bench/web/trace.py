"""What Chromium says that the page's thread did, and when; times are microseconds."""

from collections.abc import Sequence

import msgspec

CATEGORIES = ("toplevel", "devtools.timeline")
_SCRIPTS = frozenset(
    {"FunctionCall", "EvaluateScript", "RunMicrotasks", "FireAnimationFrame", "TimerFire"}
)


class Event(msgspec.Struct):
    """One of a trace. `tdur` is what its thread ran of `dur`: others have the core at times."""

    name: str
    ph: str
    pid: int
    tid: int
    ts: float = 0
    dur: float = 0
    tdur: float = 0


class _Trace(msgspec.Struct):
    traceEvents: list[Event]  # noqa: N815 (theirs)


class Work(msgspec.Struct, frozen=True):
    """The tasks of the thread, and the scripts in them; one inside of another is not counted."""

    tasks: Sequence[Event]
    scripts: Sequence[Event]

    @property
    def longest(self) -> float:
        """Of its tasks, by the thread's own time."""
        return max(event.tdur for event in self.tasks)

    @property
    def longest_by_clock(self) -> float:
        return max(event.dur for event in self.tasks)

    def scripting(self, since: float = 0, until: float = 1) -> float:
        """The thread's time in scripts, in a part of all the time."""
        start, end = self.scripts[0].ts, self.scripts[-1].ts
        first, last = start + (end - start) * since, start + (end - start) * until
        return sum(event.tdur for event in self.scripts if first <= event.ts <= last)


def work(trace: bytes) -> Work:
    """Of the page's main thread: it is the one with most scripts."""
    by_thread: dict[tuple[int, int], list[Event]] = {}
    for event in msgspec.json.decode(trace, type=_Trace).traceEvents:
        if event.ph == "X":
            by_thread.setdefault((event.pid, event.tid), []).append(event)
    main = max(by_thread.values(), key=lambda each: sum(e.name in _SCRIPTS for e in each))
    main.sort(key=lambda event: (event.ts, -event.dur))
    return Work(
        tasks=[event for event in main if event.name.endswith("RunTask")],
        scripts=_outermost([event for event in main if event.name in _SCRIPTS]),
    )


def _outermost(events: Sequence[Event]) -> list[Event]:
    kept: list[Event] = []
    for event in events:
        if not kept or event.ts >= kept[-1].ts + kept[-1].dur:
            kept.append(event)
    return kept
