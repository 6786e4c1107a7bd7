"""What went wrong, as HTTP problem details (RFC 9457): here alone errors become statuses."""

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from roost.core import errors

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`type` names the kind to programs, `detail` says to people what to do."""

    type: str
    title: str
    status: int
    detail: str


class ProblemError(Exception):
    """A request that is answered with a problem, before anything was done."""

    def __init__(
        self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers


_STATUSES: Mapping[type[errors.RoostError], HTTPStatus] = {
    errors.InvalidInput: HTTPStatus.BAD_REQUEST,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.Fenced: HTTPStatus.CONFLICT,
    errors.AccessRefused: HTTPStatus.FORBIDDEN,
    errors.NotSignedIn: HTTPStatus.UNAUTHORIZED,
    errors.SignInRefused: HTTPStatus.FORBIDDEN,
    errors.TooManyTries: HTTPStatus.TOO_MANY_REQUESTS,
    errors.Budget: HTTPStatus.TOO_MANY_REQUESTS,
    errors.FilesFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.DataFolderError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.SummaryFailed: HTTPStatus.BAD_GATEWAY,
    errors.WorkspaceError: HTTPStatus.CONFLICT,
    errors.WorkspaceGone: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ConfigError: HTTPStatus.BAD_REQUEST,
    errors.ModelError: HTTPStatus.BAD_GATEWAY,
    errors.MemoryFailed: HTTPStatus.BAD_GATEWAY,
    errors.StoreFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.StoreError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RoostError: HTTPStatus.INTERNAL_SERVER_ERROR,
}


def status_of(error: errors.RoostError) -> HTTPStatus:
    return next(_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES)


def respond(
    status: HTTPStatus,
    detail: str,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    kind = f"urn:roost:{code}" if code else "about:blank"
    problem = Problem(type=kind, title=status.phrase, status=status, detail=detail)
    return Response(msgspec.json.encode(problem), status, headers, media_type=MEDIA_TYPE)


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
    return respond(status, details.get(status, error.detail), headers=error.headers)


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return respond(error.status, error.detail, headers=error.headers)


async def _known(_: Request, error: Exception) -> Response:
    """An error of ours: its words are for people, its kind for programs."""
    assert isinstance(error, errors.RoostError)
    return respond(status_of(error), str(error), code=error.code, headers=_headers(error))


def _headers(error: errors.RoostError) -> Mapping[str, str]:
    if isinstance(error, errors.NotSignedIn):
        return {"WWW-Authenticate": "Bearer"}
    name = "seconds" if isinstance(error, errors.TooManyTries) else "retry_after"
    wait = error.facts.get(name)
    return {"Retry-After": str(math.ceil(wait))} if isinstance(wait, int | float) else {}


async def _failed(request: Request, error: Exception) -> Response:
    """A defect; Starlette raises it again after this answer, and so it is logged."""
    return respond(HTTPStatus.INTERNAL_SERVER_ERROR, "Roost failed here. Its log says why.")


HANDLERS: Mapping[type[Exception], ExceptionHandler] = {
    HTTPException: _refused,
    ProblemError: _problem,
    errors.RoostError: _known,
    Exception: _failed,
}
