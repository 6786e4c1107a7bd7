"""Sessions as files: exported as JSON or Markdown, and imported again."""

from collections.abc import AsyncIterator
from typing import Literal

import msgspec
from starlette.responses import Response, StreamingResponse

from roost.core.ids import SessionId
from roost.http.bodies import body_chunks
from roost.http.calls import Call
from roost.http.endpoint import endpoint
from roost.http.views import SessionView, session_view

IMPORT_LIMIT = 128 << 20
IMPORT_SECONDS = 300.0
_CHUNK = 1 << 16


class Format(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["json", "markdown"] = "json"


class ImportView(msgspec.Struct, frozen=True):
    """`created` is false if all of it was here already."""

    session: SessionView
    created: bool


async def exported(call: Call, session: SessionId, query: Format) -> Response:
    """Download a session: all of it as JSON, or what was said as Markdown."""
    if query.format == "markdown":
        data, kind, ending = (
            (await call.account.files.markdown(session)).encode(),
            "text/markdown",
            "md",
        )
    else:
        data, kind, ending = await call.account.files.export(session), "application/json", "json"
    headers = {
        "Content-Disposition": f'attachment; filename="{session}.{ending}"',
        "Content-Length": str(len(data)),
    }
    return StreamingResponse(_pieces(data), headers=headers, media_type=kind)


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    """At the client's pace."""
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


async def imported(call: Call) -> ImportView:
    """Take in a session that was exported here or elsewhere. Again, it changes nothing."""
    chunks = body_chunks(call.request, IMPORT_LIMIT, seconds=IMPORT_SECONDS)
    document = b"".join([chunk async for chunk in chunks])
    loaded = await call.account.files.load(document)
    return ImportView(session_view(loaded.session, call.providers), loaded.created)


ENDPOINTS = (
    endpoint(
        "GET",
        "/api/sessions/{session}/export",
        exported,
        scope="read",
        answers=("application/json", "text/markdown"),
    ),
    endpoint("POST", "/api/import", imported, scope="chat", takes="application/json"),
)
