"""Toolsets: which of the tools a session has, by the name it chose."""

from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from roost.core.errors import InvalidInput
from roost.core.settings import ToolsetName
from roost.tools.base import Tool, Toolbox

_FILES = frozenset({"read_file", "write_file", "edit_file", "apply_patch", "find_files"}) | {
    "search_files",
    "send_file",
}
_TERMINAL = frozenset({"terminal", "processes"})
_BROWSER = frozenset({"browser"})
_WORK = frozenset({"delegate"})

_WITHOUT: Mapping[ToolsetName, frozenset[str]] = {
    "chat": _FILES | _TERMINAL | _BROWSER | _WORK,
    "files": _TERMINAL | _BROWSER | _WORK,
    "terminal": _BROWSER,
    "browser": _FILES | _TERMINAL | _WORK,
    "full": frozenset(),
}
"""What a set leaves out. Whatever else there is, from a server of tools or a program that embeds
Roost, is in all of them: someone put it there."""


ABOUT: Mapping[ToolsetName, str] = {
    "chat": "To talk, look things up and remember.",
    "files": "To talk, and to read and write files.",
    "terminal": "Files, commands and subagents.",
    "browser": "To talk, and to use a browser.",
    "full": "Everything there is.",
}
"""What a set is for."""


def toolset(name: str) -> ToolsetName:
    for known in get_args(ToolsetName):
        if name == known:
            return known
    names = ", ".join(get_args(ToolsetName))
    raise InvalidInput(f"There is no toolset {name!r}. There are {names}.")


def includes(larger: ToolsetName, smaller: ToolsetName) -> bool:
    """Whether whoever has the one may hand on the other."""
    return _WITHOUT[larger] <= _WITHOUT[smaller]


class Toolsets:
    """`late` are tools that come and go while Roost runs. They do not change which set it is: a
    session keeps the schemas that it began with."""

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        default: ToolsetName = "full",
        late: Callable[[], Iterable[Tool]] = tuple,
    ) -> None:
        self.default: ToolsetName = default
        self._tools = tuple(tools)
        self._late = late
        self._made: dict[ToolsetName, tuple[tuple[Tool, ...], Toolbox]] = {}

    def named(self, chosen: str | None) -> ToolsetName:
        """The set that a session's configuration names; the default if it names none that is."""
        name, _, _ = (chosen or "").partition(":")
        return toolset(name) if name in get_args(ToolsetName) else self.default

    def of(self, name: ToolsetName) -> Toolbox:
        """Of tools with the same name the first counts: a late one can't take another's place."""
        there = tuple(self._late())
        made = self._made.get(name)
        if made is None or made[0] != there:
            made = self._made[name] = there, self._box(name, there)
        return made[1]

    def _box(self, name: ToolsetName, there: tuple[Tool, ...]) -> Toolbox:
        lasting = [tool for tool in self._tools if tool.schema.name not in _WITHOUT[name]]
        taken = {tool.schema.name for tool in lasting} | _WITHOUT[name]
        late = [tool for tool in there if tool.schema.name not in taken]
        return Toolbox(lasting, late, name=name)
