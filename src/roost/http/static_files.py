"""The files of the web app as they were built, each in the smallest form that its reader takes."""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"
"""For files whose name changes with their content."""
ASK_AGAIN = "no-cache"
"""Kept, but never shown before the server said that it is still the same."""

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_TYPES: Mapping[str, str] = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_ENCODINGS: Mapping[str, str] = {"br": ".br", "gzip": ".gz"}
"""Smallest first, each with what it adds to a file's name."""


class _Form(NamedTuple):
    """`encoding` is None for the file itself."""

    body: bytes
    encoding: str | None
    tag: str


async def static_file(request: Request, folder: Path, name: str, *, cache: str) -> Response | None:
    """None if there is no such file right there in this folder, or none that a page would need."""
    media_type = _TYPES.get(Path(name).suffix)
    if media_type is None or not _NAME.fullmatch(name):
        return None
    accepted = _accepted(request.headers.get("accept-encoding", ""))
    form = await asyncio.to_thread(_smallest, folder / name, accepted)
    return None if form is None else _response(request, form, media_type, cache)


def _smallest(file: Path, accepted: frozenset[str]) -> _Form | None:
    forms = [(each, ending) for each, ending in _ENCODINGS.items() if each in accepted]
    for encoding, ending in (*forms, (None, "")):
        try:
            body = file.with_name(file.name + ending).read_bytes()
        except FileNotFoundError:
            continue
        # Over what is sent, so that each form has a tag of its own.
        return _Form(body, encoding, f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"')
    return None


def _response(request: Request, form: _Form, media_type: str, cache: str) -> Response:
    headers = {"Cache-Control": cache, "ETag": form.tag, "Vary": "Accept-Encoding"}
    if form.tag in _tags(request.headers.get("if-none-match", "")):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if form.encoding is not None:
        headers["Content-Encoding"] = form.encoding
    return Response(form.body, headers=headers, media_type=media_type)


def _accepted(header: str) -> frozenset[str]:
    """What may be sent; a weight of zero says what may not."""
    given = [each.lower().replace(" ", "").partition(";q=") for each in header.split(",")]
    return frozenset(name for name, _, weight in given if weight.strip("0.") or not weight)


def _tags(header: str) -> frozenset[str]:
    """A proxy that compresses anew marks our tags as weak."""
    return frozenset(each.strip().removeprefix("W/") for each in header.split(","))
