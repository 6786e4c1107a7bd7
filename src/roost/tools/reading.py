"""The `read_file` tool: text by lines, pictures as pictures, folders as lists."""

import os
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from roost.core.messages import ImagePart
from roost.tools.base import Intent, Tool, ToolContext, ToolOutput
from roost.tools.file_access import FileAccess, Files
from roost.tools.finding import Finding
from roost.tools.schema import tool
from roost.workspace.files import content
from roost.workspace.files.paths import Refused, Spot
from roost.workspace.files.pictures import Picture, picture_of
from roost.workspace.files.text import Text, decoded, what_instead

LINES = 2_000
CHARACTERS = 60_000
WIDTH = 2_000
PICTURE = 5 << 20
SIDE = 8_000
"""Pixels: more is refused by the models that see."""

Start = Annotated[int, Meta(ge=1)]
Lines = Annotated[int, Meta(ge=1, le=LINES)]


class _Shown(msgspec.Struct, frozen=True):
    """Text, a picture with its bytes, or neither for a folder."""

    words: str = ""
    picture: Picture | None = None
    data: bytes = b""


class Reading:
    def __init__(self, access: FileAccess, finding: Finding) -> None:
        self._access = access
        self._finding = finding

    def tool(self) -> Tool:
        return tool(self.read_file, parallel=True, seconds=60, intent=self._intent)

    async def _intent(
        self, context: ToolContext, path: str, start: Start = 1, lines: Lines = LINES
    ) -> Intent:
        return await self._access.intent(context, path, "Read a file")

    async def read_file(
        self, context: ToolContext, path: str, start: Start = 1, lines: Lines = LINES
    ) -> ToolOutput:
        """Read a text file (numbered lines from `start` on), see a picture, or list a folder.
        Paths are relative to the workspace or absolute."""

        def work(files: Files) -> _Shown | None:
            with files.find(path) as spot:
                return None if content.is_folder(spot) else _read(files, spot, start, lines)

        shown = await self._access.run(context, path, work)
        if shown is None:
            return ToolOutput.of(await self._finding.listed(context, path))
        if shown.picture is None:
            return ToolOutput.of(shown.words)
        blob = await context.keep(shown.data, shown.picture.media_type)
        name = path.rpartition("/")[2]
        image = ImagePart(blob, shown.picture.media_type, name)
        return ToolOutput((*ToolOutput.of(shown.words).content, image))


def _read(files: Files, spot: Spot, start: int, lines: int) -> _Shown:
    with content.opened(spot) as file:
        size = os.fstat(file).st_size
        head = os.pread(file, 8192, 0)
        if size > content.MOST:
            return _Shown(_excerpt(files, file, head, start, lines))
    picture = picture_of(head)
    if picture is not None and size > PICTURE:
        raise Refused(f"The picture is too large: {size >> 20} MB; up to {PICTURE >> 20} are.")
    found = content.read(spot, files.check)
    files.seen.note(spot, found.digest)
    if picture is not None:
        return _seen_picture(found.data)
    text = decoded(found.data)
    if text is None:
        raise Refused(f"{spot.path} is {what_instead(head)} ({size} bytes).")
    return _Shown(numbered(text, start, lines))


def _seen_picture(data: bytes) -> _Shown:
    picture = picture_of(data)
    if picture is None or not max(picture.width, picture.height) > 0:
        raise Refused("The picture is damaged.")
    size = f"{picture.width} x {picture.height}"
    if max(picture.width, picture.height) > SIDE:
        raise Refused(f"The picture has {size} pixels; up to {SIDE} on a side are. Scale it down.")
    return _Shown(f"{picture.media_type}, {size} pixels", picture, data)


def numbered(text: Text, start: int, count: int) -> str:
    lines = text.lines
    if start > max(1, len(lines)):
        raise Refused(f"The file has {len(lines)} lines.")
    shown = _fitting(start, lines[start - 1 : start - 1 + count])
    last = start - 1 + len(shown)
    notes: list[str] = []
    if text.encoding != "utf-8":
        notes.append(f"[The file is {text.encoding}.]")
    if last < len(lines):
        notes.append(f"[Lines {start}-{last} of {len(lines)}. Go on with start={last + 1}.]")
    return "\n".join([*shown, *notes]) or "[The file is empty.]"


def _fitting(start: int, lines: Iterable[str]) -> list[str]:
    """Lines with their numbers, as many as may be shown; at least one."""
    shown: list[str] = []
    left = CHARACTERS
    for number, line in enumerate(lines, start):
        cut = f"{line[:WIDTH]}[+{len(line) - WIDTH} characters]" if len(line) > WIDTH else line
        shown.append(f"{number}\t{cut}")
        left -= len(shown[-1]) + 1
        if left < 0 and len(shown) > 1:
            return shown[:-1]
    return shown


def _excerpt(files: Files, file: int, head: bytes, start: int, count: int) -> str:
    """Some lines of a file that is too large to be held as a whole."""
    if decoded(head[: head.rfind(b"\n") + 1] or head[:-4]) is None:
        raise Refused(f"The file is {what_instead(head)} ({os.fstat(file).st_size >> 20} MB).")
    skip = start - 1
    taken = bytearray()
    while taken.count(b"\n") < count and len(taken) < CHARACTERS:
        files.check()
        if not (chunk := os.read(file, 1 << 18)):
            break
        there = chunk.count(b"\n")
        if there < skip:
            skip -= there
            continue
        taken += chunk.split(b"\n", skip)[skip] if skip else chunk
        skip = 0
    if not taken:
        raise Refused(f"The file has fewer than {start} lines.")
    lines = taken.decode("utf-8", "replace").split("\n")[:count]
    shown = _fitting(start, lines)
    note = f"[The file has {os.fstat(file).st_size >> 20} MB. Go on with start={start + len(shown)}"
    return "\n".join([*shown, f"{note}, or use search_files.]"])
