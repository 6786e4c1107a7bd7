"""When tools ask a person before they act, of each as a whole: of one call, its intent says it."""

from collections.abc import Mapping
from typing import NamedTuple

from roost.tools.base import Tool
from roost.tools.mcp.tool import McpTool


class Manner(NamedTuple):
    """Whether it asks each time, and if not, `when` it does; nothing is never."""

    asks: bool = False
    when: str = ""


_OUTSIDE = "For folders outside of the workspace."
_WHEN: Mapping[str, str] = {
    "terminal": "For commands that want the network.",
    "processes": "Before it writes to one that has the network.",
    "write_file": _OUTSIDE,
    "edit_file": _OUTSIDE,
    "apply_patch": _OUTSIDE,
    "browser": "Before it types into a page.",
    "schedule": "Before it adds, pauses, resumes or removes one.",
}
_LOCAL: Mapping[str, Manner] = {
    "terminal": Manner(asks=True),
    "processes": Manner(when="Before it writes to one."),
}


def manner(tool: Tool, *, local: bool) -> Manner:
    """`local` is without a sandbox, on the machine itself."""
    name = tool.schema.name
    if isinstance(tool, McpTool):
        return Manner(asks=not tool.reads_only)
    if name == "ask_user":
        return Manner(asks=True)
    return (_LOCAL.get(name) if local else None) or Manner(when=_WHEN.get(name, ""))
