"""Attachments: uploaded before the message that names them, and read again by whose they are."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import msgspec
from starlette.responses import Response

from roost.core.ids import BlobId
from roost.http.bodies import body_chunks
from roost.http.calls import Call
from roost.http.downloads import HEAD, KINDS, UNKNOWN, download, sniffed
from roost.http.endpoint import endpoint
from roost.http.fields import Phrase

UPLOAD_LIMIT = 100 << 20
UPLOAD_SECONDS = 600.0


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """`id` names it in a message. One that no message names is forgotten after a day."""

    id: BlobId
    media_type: str
    size: int


class HowToSend(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`name` is what to save it as; `save` has even a picture saved rather than shown."""

    name: Phrase | None = None
    save: bool = False


async def uploaded(call: Call) -> FileView:
    """Upload a file: its bytes are the body. What it is, is told by its content."""
    chunks = body_chunks(call.request, UPLOAD_LIMIT, seconds=UPLOAD_SECONDS)
    async with aclosing(chunks):
        head = b""
        async for chunk in chunks:
            head += chunk
            if len(head) >= HEAD:
                break
        blob = await call.account.files.keep(_whole(head, chunks), sniffed(head[:HEAD]))
    return FileView(id=blob.id, media_type=blob.media_type, size=blob.size)


async def _whole(head: bytes, rest: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    if head:
        yield head
    async for chunk in rest:
        yield chunk


async def described(call: Call, file: BlobId) -> FileView:
    """Read what a file is."""
    blob = await call.account.files.get(file)
    return FileView(id=blob.id, media_type=blob.media_type, size=blob.size)


async def downloaded(call: Call, file: BlobId, query: HowToSend) -> Response:
    """Download a file. Pictures and plain text may be shown, everything else is saved."""
    blob = await call.account.files.get(file)
    return download(
        call.account.files.read(blob.id),
        media_type=blob.media_type,
        name=query.name,
        size=blob.size,
        cache="private, max-age=86400, immutable",  # its id names its content
        save=query.save,
    )


ENDPOINTS = (
    endpoint("POST", "/api/files", uploaded, scope="chat", status=201, takes=UNKNOWN),
    endpoint("GET", "/api/files/{file}", described, scope="read"),
    endpoint("GET", "/api/files/{file}/content", downloaded, scope="read", answers=KINDS),
)
