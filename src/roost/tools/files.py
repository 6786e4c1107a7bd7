"""The file tools: reading, editing, finding and sending what is in a session's workspace."""

from roost.tools.base import Tool
from roost.tools.editing import Editing
from roost.tools.file_access import FileAccess, HasRoom
from roost.tools.finding import Finding
from roost.tools.reading import Reading
from roost.tools.sending import Sending
from roost.workspace.files.search import SECONDS
from roost.workspace.workspaces import Workspaces


def file_tools(
    workspaces: Workspaces, *, has_room: HasRoom | None = None, search_seconds: float = SECONDS
) -> tuple[Tool, ...]:
    access = FileAccess(workspaces, has_room=has_room)
    finding = Finding(access, seconds=search_seconds)
    return (
        Reading(access, finding).tool(),
        *Editing(access).tools(),
        *finding.tools(),
        Sending(access).tool(),
    )
