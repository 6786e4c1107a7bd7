"""Sessions as files: exported as JSON or Markdown, and imported again."""

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal

import msgspec
from starlette.responses import Response, StreamingResponse

from roost.core.ids import SessionId
from roost.core.sessions import Session
from roost.http.bodies import body_chunks
from roost.http.calls import Call
from roost.http.downloads import disposition
from roost.http.endpoint import endpoint
from roost.http.problems import ProblemError
from roost.http.views import SessionView, session_view

IMPORT_LIMIT = 128 << 20
IMPORT_SECONDS = 300.0
PATIENCE = 20.0
"""Seconds that an import or an export waits for its place."""
_CHUNK = 1 << 16
_LONGEST_NAME = 60


class Format(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["json", "markdown"] = "json"


class ImportView(msgspec.Struct, frozen=True):
    """`created` is false if all of it was here already."""

    session: SessionView
    created: bool


async def exported(call: Call, session: SessionId, query: Format) -> Response:
    """Download a session: all of it as JSON, or what was said as Markdown."""
    name, files = file_name(await call.account.session(session)), call.account.files
    async with _place(call.callers.exports, "exported"):
        if await call.request.is_disconnected():
            return Response()  # to nobody: who waited has gone
        if query.format == "markdown":
            return _saved((await files.markdown(session)).encode(), "text/markdown", f"{name}.md")
        return _saved(await files.export(session), "application/json", f"{name}.json")


def _saved(data: bytes, kind: str, name: str) -> Response:
    headers = {
        "Content-Disposition": disposition("attachment", name),
        "Content-Length": str(len(data)),
    }
    return StreamingResponse(_pieces(data), headers=headers, media_type=kind)


def file_name(session: Session) -> str:
    """Its title, in what every file system takes, and the day when something last happened."""
    kept = [each if _is_plain(each) else " " for each in session.title or ""]
    title = " ".join("".join(kept)[:_LONGEST_NAME].split()).strip(".- ")
    day = datetime.fromtimestamp(session.active_at / 1000, UTC).strftime("%Y-%m-%d")
    return f"{title or 'Session'} {day}"


def _is_plain(letter: str) -> bool:
    """Letters of any script with their marks, digits, and a few signs."""
    return unicodedata.category(letter)[0] in "LMN" or letter in "-_.,()'+"


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    """At the client's pace."""
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


async def imported(call: Call) -> ImportView:
    """Take in a session that was exported here or elsewhere. Again, it changes nothing."""
    async with _place(call.callers.imports, "imported"):
        document = bytearray()  # which grows where it is: to join so much takes long
        async for chunk in body_chunks(call.request, IMPORT_LIMIT, seconds=IMPORT_SECONDS):
            document += chunk
        loaded = await call.account.files.load(document)
    return ImportView(session_view(loaded.session, call.providers), loaded.created)


@asynccontextmanager
async def _place(places: asyncio.Semaphore, what: str) -> AsyncGenerator[None]:
    """Sessions that are imported or exported are held in memory, and each export keeps one of the
    store's few readers busy: those that there is no place for are not read before there is, and not
    waited for without end."""
    try:
        async with asyncio.timeout(PATIENCE):
            await places.acquire()
    except TimeoutError:
        said = f"Others are being {what}. Try again in a minute."
        headers = {"Retry-After": "60"}
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, said, headers) from None
    try:
        yield
    finally:
        places.release()


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
