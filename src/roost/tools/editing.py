"""The tools that change files: `write_file`, `edit_file` and `apply_patch`."""

from collections.abc import Callable

from roost.tools.base import Intent, Tool, ToolContext
from roost.tools.file_access import FileAccess, Files
from roost.tools.schema import tool
from roost.workspace.files import content
from roost.workspace.files.edits import difference, edited
from roost.workspace.files.patches import parsed, patched
from roost.workspace.files.paths import Refused, Spot
from roost.workspace.files.text import Text, decoded


class Editing:
    def __init__(self, access: FileAccess) -> None:
        self._access = access

    def tools(self) -> tuple[Tool, ...]:
        return (
            tool(self.write_file, seconds=60, intent=self._intent_to_write),
            tool(self.edit_file, seconds=60, intent=self._intent_to_edit),
            tool(self.apply_patch, seconds=60, intent=self._intent_to_patch),
        )

    async def _intent_to_write(self, context: ToolContext, path: str, content: str) -> Intent:
        return await self._access.intent(context, path, "Write a file", writes=True)

    async def _intent_to_edit(
        self, context: ToolContext, path: str, old: str, new: str, all: bool = False
    ) -> Intent:
        return await self._access.intent(context, path, "Edit a file", writes=True)

    async def _intent_to_patch(self, context: ToolContext, path: str, patch: str) -> Intent:
        return await self._access.intent(context, path, "Patch a file", writes=True)

    async def write_file(self, context: ToolContext, path: str, content: str) -> str:
        """Make a file with this content, or replace one that you have read. Folders on the way are
        made. To change part of a file, use edit_file."""
        data = content.encode("utf-8", "replace")
        await self._access.must_have_room(len(data))
        return await self._access.run(context, path, lambda files: _written(files, path, data))

    async def edit_file(
        self, context: ToolContext, path: str, old: str, new: str, all: bool = False
    ) -> str:
        """Replace the exact text `old` by `new` in a file that you have read. `old` must be there
        once (without line numbers), or set `all`."""
        return await self._change(context, path, lambda text: edited(text, old, new, every=all))

    async def apply_patch(self, context: ToolContext, path: str, patch: str) -> str:
        """Change several parts of a file that you have read, by the hunks of a unified diff. All
        of them are applied, or none."""
        return await self._change(context, path, lambda text: patched(text, parsed(patch)))

    async def _change(self, context: ToolContext, path: str, change: Callable[[Text], Text]) -> str:
        await self._access.must_have_room(content.MOST)
        return await self._access.run(context, path, lambda files: _changed(files, path, change))


def _written(files: Files, path: str, data: bytes) -> str:
    with files.find(path, writes=True) as spot:
        was = None
        if spot.look() is not None:
            was = content.read(spot, files.check)
            files.seen.must_know(spot, was)
            if was.data == data:
                return f"{files.named(spot)} holds just this already."
        _put(files, spot, data, was)
        if was is None:
            lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            return f"Wrote {files.named(spot)}: {lines} lines, {len(data)} bytes."
        before, after = decoded(was.data), decoded(data)
        if before is None or after is None:
            return f"Replaced {files.named(spot)}: {len(data)} bytes."
        return f"Replaced {files.named(spot)}.\n{difference(before, after)}"


def _changed(files: Files, path: str, change: Callable[[Text], Text]) -> str:
    with files.find(path, writes=True) as spot:
        was = content.read(spot, files.check)
        files.seen.must_know(spot, was)
        before = decoded(was.data)
        if before is None:
            raise Refused(f"{spot.path} is not text.")
        after = change(before)
        _put(files, spot, after.encoded(), was)
        return f"Changed {files.named(spot)}.\n{difference(before, after)}"


def _put(files: Files, spot: Spot, data: bytes, was: content.Content | None) -> None:
    content.replace(spot, data, files.check, was=was)
    files.seen.note(spot, content.digest_of(data))
