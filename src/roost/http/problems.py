"""What went wrong, as HTTP problem details (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    status: int
    detail: str


def _respond(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    body = msgspec.json.encode(Problem(title=status.phrase, status=status, detail=detail))
    return Response(body, status, headers, media_type="application/problem+json")


async def _refused(request: Request, error: Exception) -> Response:
    """Starlette turned the request away before a handler saw it."""
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus(error.status_code)
    path = request.url.path
    details = {
        HTTPStatus.NOT_FOUND: f"There is nothing at {path}.",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{path} does not take {request.method}.",
    }
    return _respond(status, details.get(status, error.detail), error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """A defect; Starlette raises it again after this answer, and so it is logged."""
    return _respond(HTTPStatus.INTERNAL_SERVER_ERROR, "Roost failed here. Its log says why.")


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    HTTPException: _refused,
    Exception: _failed,
}
