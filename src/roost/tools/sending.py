"""The `send_file` tool: a file of the workspace for the person, wherever they talk to the agent."""

import mimetypes

from roost.core.messages import FilePart
from roost.tools.base import Intent, Tool, ToolContext, ToolError, ToolOutput
from roost.tools.file_access import FileAccess, Files
from roost.tools.schema import tool
from roost.workspace.files import content
from roost.workspace.files.pictures import picture_of
from roost.workspace.plain import as_text

LARGEST = 32 << 20
"""Bytes. Some channels take less, and say so there."""
_UNKNOWN = "application/octet-stream"


class Sending:
    def __init__(self, access: FileAccess) -> None:
        self._access = access

    def tool(self) -> Tool:
        return tool(self.send_file, seconds=60, intent=self._intent)

    async def _intent(self, context: ToolContext, path: str) -> Intent:
        return await self._access.intent(context, path, "Send a file")

    async def send_file(self, context: ToolContext, path: str) -> ToolOutput:
        """Give the user a file of the workspace: a picture is shown to them, anything else is
        theirs to open or save. They can't see the workspace's files otherwise."""

        if await self._access.are_lent(context):
            raise ToolError("You are a subagent. Name the file, and let your caller send it.")

        def work(files: Files) -> tuple[str, bytes]:
            with files.find(path) as spot:
                return spot.name, content.read(spot, files.check, most=LARGEST).data

        found, data = await self._access.run(context, path, work)
        name = as_text(found)
        if not data:
            raise ToolError(f"{name} is empty: there is nothing to send.")
        media_type = _media_type(name, data)
        file = FilePart(
            await context.keep(data, media_type), media_type, name, len(data), sent=True
        )
        return ToolOutput((*ToolOutput.of(f"Sent {name}.").content, file))


def _media_type(name: str, data: bytes) -> str:
    """A picture is one by its bytes; for the rest its name has to do."""
    picture = picture_of(data)
    if picture is not None and picture.width:
        return picture.media_type
    guessed = mimetypes.guess_type(name)[0] or _UNKNOWN
    return _UNKNOWN if guessed.startswith("image/") else guessed
