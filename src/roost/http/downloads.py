"""Files on their way out, so that none of them can run script: whatever they claim to be."""

import codecs
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.responses import StreamingResponse

from roost.workspace.files.pictures import picture_of

HEAD = 4096
"""Bytes that tell what a file is."""
PLAIN = "text/plain"
UNKNOWN = "application/octet-stream"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SHOWN = PICTURES | {PLAIN}
PDF = "application/pdf"
KINDS = (*sorted(_SHOWN), PDF, UNKNOWN)
"""All that a file can be served as."""
_POLICY = "sandbox; default-src 'none'"


def sniffed(head: bytes) -> str:
    """What a file is, by its first bytes. What its sender says does not count: a page that came as
    a picture would be one of ours."""
    picture = picture_of(head)
    if picture is not None and picture.media_type in PICTURES:
        return picture.media_type
    if head.startswith(b"%PDF-"):
        return PDF
    return PLAIN if _is_text(head) else UNKNOWN


def _is_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def download(
    chunks: AsyncIterator[bytes],
    *,
    media_type: str,
    name: str | None,
    size: int | None,
    cache: str,
    save: bool,
) -> StreamingResponse:
    """Pictures and plain text are shown, unless one wants to `save` them; the rest is saved."""
    shown = media_type in _SHOWN and not save
    headers = {
        "Content-Disposition": disposition("inline" if shown else "attachment", name),
        "Content-Security-Policy": _POLICY,
        "Cache-Control": cache,
    }
    if size is not None:
        headers["Content-Length"] = str(size)
    kind = media_type if media_type in KINDS else UNKNOWN
    return StreamingResponse(chunks, headers=headers, media_type=kind)


def disposition(kind: str, name: str | None) -> str:
    return kind if not name else f"{kind}; filename*=UTF-8''{quote(name, safe='')}"
