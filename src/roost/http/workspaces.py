"""What a user's agents have running, and the way to end it."""

from collections.abc import AsyncIterator, Sequence

import msgspec
from starlette.responses import Response

from roost.core.errors import NotFound
from roost.core.ids import SessionId
from roost.http.calls import Call
from roost.http.downloads import download
from roost.http.endpoint import endpoint
from roost.workspace.glance import TabView
from roost.workspace.processes import ProcessView
from roost.workspace.workspace import WorkspaceView

PNG = "image/png"


async def listed(call: Call) -> Sequence[WorkspaceView]:
    """List the workspaces that are in use on this server, with their processes. Of several servers
    each lists its own."""
    return call.account.workspaces()


async def processes(call: Call, session: SessionId) -> Sequence[ProcessView]:
    """List what runs, or ran, in the background of a session."""
    return (await call.account.workspace(session)).processes.views()


async def stop(call: Call, session: SessionId, process: str) -> None:
    """End a process, and all that it started."""
    await (await call.account.workspace(session)).processes.find(process).kill()


class BrowserView(msgspec.Struct, frozen=True):
    """The tabs of a session's browser; none if it has none open. With a `picture` there is one of
    the current tab."""

    tabs: Sequence[TabView]
    picture: bool


async def browser(call: Call, session: SessionId) -> BrowserView:
    """List the tabs of a session's browser, looked at anew once a second at most."""
    found = await call.account.glance(session)
    return BrowserView(found.tabs, found.picture is not None)


async def picture(call: Call, session: SessionId) -> Response:
    """See the current tab of a session's browser, as a PNG. The agent is not disturbed."""
    taken = (await call.account.glance(session)).picture
    if taken is None:
        raise NotFound("page in the browser of session", session)
    return download(
        _whole(taken),
        media_type=PNG,
        name=None,
        size=len(taken),
        cache="no-store",
        save=False,
    )


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def close(call: Call, session: SessionId) -> None:
    """End a session's shell, processes and tabs. Its files stay."""
    await call.account.close_workspace(session)


ENDPOINTS = (
    endpoint("GET", "/api/workspaces", listed, scope="read"),
    endpoint("GET", "/api/sessions/{session}/processes", processes, scope="read"),
    endpoint("DELETE", "/api/sessions/{session}/processes/{process}", stop, scope="chat"),
    endpoint("GET", "/api/sessions/{session}/browser", browser, scope="read"),
    endpoint("GET", "/api/sessions/{session}/browser/picture", picture, scope="read", answers=PNG),
    endpoint("DELETE", "/api/sessions/{session}/workspace", close, scope="chat"),
)
