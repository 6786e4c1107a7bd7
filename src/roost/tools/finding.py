"""The tools that look for files: `find_files` by name, `search_files` by what is in them."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import Meta

from roost.tools.base import Intent, Tool, ToolContext, ToolError
from roost.tools.file_access import FileAccess, Files
from roost.tools.schema import tool
from roost.workspace.files import content
from roost.workspace.files.paths import Refused
from roost.workspace.files.search import SECONDS, Findings, search
from roost.workspace.files.search import Finding as Found
from roost.workspace.files.searcher import Request

LISTED = 300
MATCHES = 150
CHARACTERS = 40_000
WIDTH = 400

Pattern = Annotated[str, Meta(min_length=1, max_length=1_000)]
Sort = Literal["name", "newest"]
Context = Annotated[int, Meta(ge=0, le=10)]


class Finding:
    def __init__(self, access: FileAccess, *, seconds: float = SECONDS) -> None:
        self._access = access
        self._seconds = seconds

    def tools(self) -> tuple[Tool, ...]:
        seconds = self._seconds + 10
        return (
            tool(self.find_files, parallel=True, seconds=seconds, intent=self._intent_to_find),
            tool(self.search_files, parallel=True, seconds=seconds, intent=self._intent_to_search),
        )

    async def _intent_to_find(
        self,
        context: ToolContext,
        pattern: Pattern = "*",
        path: str = ".",
        sort: Sort = "name",
        all: bool = False,
    ) -> Intent:
        return await self._access.intent(context, path, "Find files")

    async def _intent_to_search(
        self,
        context: ToolContext,
        regex: Pattern,
        path: str = ".",
        files: Pattern = "**",
        around: Context = 0,
        all: bool = False,
    ) -> Intent:
        return await self._access.intent(context, path, "Search files")

    async def find_files(
        self,
        context: ToolContext,
        pattern: Pattern = "*",
        path: str = ".",
        sort: Sort = "name",
        all: bool = False,
    ) -> str:
        """List the files in a folder that match a glob; `**/*.py` looks at any depth. `all`
        includes what git ignores, and caches."""
        asked = _request(glob=pattern, newest=sort == "newest", everything=all, limit=LISTED)
        findings, folder = await self._found(context, path, asked)
        return _listing(findings, folder, dated=sort == "newest")

    async def listed(self, context: ToolContext, path: str) -> str:
        """All that is in a folder."""
        return await self.find_files(context, path=path, all=True)

    async def search_files(
        self,
        context: ToolContext,
        regex: Pattern,
        path: str = ".",
        files: Pattern = "**",
        around: Context = 0,
        all: bool = False,
    ) -> str:
        """Find lines that match a (Python) regular expression, in a file or a folder's `files` (a
        glob such as *.py), with lines `around` them. `all` includes what git ignores, and caches.
        """
        glob = files if "/" in files else f"**/{files}"
        asked = _request(glob=glob, regex=regex, context=around, everything=all, limit=MATCHES)
        findings, folder = await self._found(context, path, asked)
        return _matches(findings, folder)

    async def _found(
        self, context: ToolContext, path: str, request: Request
    ) -> tuple[Findings, str]:
        """What was found, and what its paths begin with."""
        lists = not request["regex"]
        ground = await self._access.ground(context)
        opened: list[int] = []

        def work(files: Files) -> str:
            with files.find(path) as spot:
                is_file = not lists and not content.is_folder(spot)
                with (content.opened if is_file else content.opened_folder)(spot) as found:
                    opened.append(os.dup(found))
                home = files.view.home.inside
                named = "" if spot.path == home else files.named(spot)
                return named if is_file or not named else f"{named.rstrip('/')}/"

        try:
            folder = await self._access.run(context, path, work)
            asked: Request = {
                **request,
                "folder": opened[0],
                "owner": ground.owner,
                "seconds": self._seconds,
            }
            return await search(asked), folder
        except Refused as error:
            raise ToolError(str(error)) from error
        finally:
            for each in opened:
                with suppress(OSError):
                    os.close(each)


def _request(
    *,
    glob: str,
    limit: int,
    regex: str = "",
    context: int = 0,
    newest: bool = False,
    everything: bool = False,
) -> Request:
    return {
        "folder": -1,
        "glob": glob,
        "regex": regex,
        "context": context,
        "newest": newest,
        "everything": everything,
        "limit": limit,
        "seconds": SECONDS,
        "owner": None,
    }


def _listing(findings: Findings, folder: str, *, dated: bool) -> str:
    lines = [_line(each, folder, dated=dated) for each in findings.found]
    return _bounded(lines, findings, nothing="Nothing is there that matches.")


def _line(found: Found, folder: str, *, dated: bool) -> str:
    when = datetime.fromtimestamp(found.time, UTC).isoformat(" ", "minutes")[:16]
    date = f"  {when}" if dated else ""
    match found.kind:
        case "folder":
            return f"{folder}{found.path}/{date}"
        case "file":
            return f"{folder}{found.path}  {found.size}{date}"
        case kind:
            return f"{folder}{found.path}  ({kind}){date}"


def _matches(findings: Findings, folder: str) -> str:
    lines: list[str] = []
    for each in findings.found:
        lines.append(f"{folder}{each.path}")
        last = 0
        for line in each.lines:
            if last and line.number > last + 1 and any(not other.matches for other in each.lines):
                lines.append("--")
            last = line.number
            lines.append(f"{line.number}{':' if line.matches else '-'} {line.text[:WIDTH]}")
    return _bounded(lines, findings, nothing="No line matches.")


def _bounded(lines: Sequence[str], findings: Findings, *, nothing: str) -> str:
    kept: list[str] = []
    left = CHARACTERS
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            break
        kept.append(line)
    notes: list[str] = []
    if findings.cut or len(kept) < len(lines):
        notes.append("[There is more: narrow it down.]")
    if findings.late:
        notes.append("[It took too long and was stopped: not everything was looked at.]")
    return "\n".join([*(kept or [nothing]), *notes])
