"""Patterns of file names, matched name by name, so that none of them can take long.

Used in a process of its own too, without anything but the standard library."""

import fnmatch
import re
from collections.abc import Sequence

_MOST = 64
"""Patterns that the braces of one may stand for."""

States = frozenset[int]


class Glob:
    """`*`, `?` and `[abc]` within a name, `**` for any number of folders, `{a,b}` for either.

    It is walked along with a path: `start`, then `step` for each name. What is left is where in the
    pattern one may be; if that is nowhere, nothing below matches either.
    """

    def __init__(self, pattern: str) -> None:
        self._parts: list[re.Pattern[str] | str] = []
        starts: list[int] = []
        for each in _spread(pattern):
            starts.append(len(self._parts))
            names = [name for name in each.split("/") if name not in ("", ".")]
            self._parts += [_compiled(name) for name in names]
            self._parts.append("end")
        self.start = self._closed(starts)

    def step(self, states: States, name: str) -> States:
        following: list[int] = []
        for state in states:
            part = self._parts[state]
            if part == "**":
                following.append(state)
            elif isinstance(part, re.Pattern) and part.match(name):
                following.append(state + 1)
        return self._closed(following)

    def accepts(self, states: States) -> bool:
        return any(self._parts[state] == "end" for state in states)

    def matches(self, names: Sequence[str]) -> bool:
        states = self.start
        for name in names:
            states = self.step(states, name)
        return self.accepts(states)

    def _closed(self, states: list[int]) -> States:
        """`**` may also stand for no folder at all."""
        found: set[int] = set()
        for state in states:
            at = state
            found.add(at)
            while self._parts[at] == "**":
                at += 1
                found.add(at)
        return frozenset(found)


def _compiled(name: str) -> re.Pattern[str] | str:
    return "**" if name == "**" else re.compile(fnmatch.translate(name))


def _spread(pattern: str) -> list[str]:
    """Every pattern that one with braces stands for."""
    waiting, done = [pattern], list[str]()
    while waiting:
        if len(waiting) + len(done) > _MOST:
            raise ValueError(f"the braces of {pattern[:100]} stand for too many patterns")
        each = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if found is None:
            done.append(each)
            continue
        choices = found[1].split(",")
        waiting += [each[: found.start()] + choice + each[found.end() :] for choice in choices]
    return done


class Ignored:
    """What a `.gitignore` file says about the folder that it is in and those below."""

    def __init__(self, text: str, *, most: int = 500) -> None:
        lines = [line.strip() for line in text.splitlines()]
        kept = [line for line in lines if line and not line.startswith("#")]
        self._rules = [_rule(line) for line in kept[:most]]

    def decides(self, names: Sequence[str], *, folder: bool) -> bool | None:
        """Whether it is ignored; None if nothing is said of it. The last word counts."""
        for wanted, folders_only, glob in reversed(self._rules):
            if (folder or not folders_only) and glob.matches(names):
                return not wanted
        return None


def _rule(line: str) -> tuple[bool, bool, Glob]:
    wanted = line.startswith("!")
    pattern = line.removeprefix("!").removeprefix("\\")
    folders_only = pattern.endswith("/")
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.strip("/").replace("{", "[{]")
    return wanted, folders_only, Glob(pattern if anchored else f"**/{pattern}")
