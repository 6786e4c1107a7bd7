"""What a user's agents have running, and the way to end it."""

from collections.abc import Sequence

from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.workspace.processes import ProcessView
from roost.workspace.workspace import WorkspaceView


async def listed(call: Call) -> Sequence[WorkspaceView]:
    """List the workspaces that are in use, with their processes."""
    return call.account.workspaces()


async def processes(call: Call, session: SessionId) -> Sequence[ProcessView]:
    """List what runs, or ran, in the background of a session."""
    return (await call.account.workspace(session)).processes.views()


async def stop(call: Call, session: SessionId, process: str) -> None:
    """End a process, and all that it started."""
    await (await call.account.workspace(session)).processes.find(process).kill()


async def close(call: Call, session: SessionId) -> None:
    """End a session's shell, processes and tabs. Its files stay."""
    await call.account.close_workspace(session)


ENDPOINTS = (
    endpoint("GET", "/api/workspaces", listed, scope="read"),
    endpoint("GET", "/api/sessions/{session}/processes", processes, scope="read"),
    endpoint("DELETE", "/api/sessions/{session}/processes/{process}", stop, scope="chat"),
    endpoint("DELETE", "/api/sessions/{session}/workspace", close, scope="chat"),
)
