"""What went wrong, in the words of OpenAI's protocol: its clients know no others."""

import inspect
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ExceptionHandler

from roost.core.errors import Budget, ConfigError, InvalidInput, ModelError, RoostError
from roost.http.problems import Problem, ProblemError

PREFIX = "/v1/"
NO_RETRY = {"X-Should-Retry": "false"}
"""Clients try again by themselves after most errors. Where something was said, that would say it
twice."""


class Wrong(msgspec.Struct, frozen=True, kw_only=True):
    """`code` names the kind to programs, `param` the field that it is about."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorView(msgspec.Struct, frozen=True):
    error: Wrong


class OpenAIError(ProblemError):
    """A problem with what it is about, for those who speak OpenAI's protocol."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code
        self.param = param

    @property
    def view(self) -> ErrorView:
        kind = _kind(self.status)
        return ErrorView(Wrong(message=self.detail, type=kind, param=self.param, code=self.code))


def unsupported(param: str, said: str) -> OpenAIError:
    code = "unsupported_parameter"
    return OpenAIError(HTTPStatus.BAD_REQUEST, said, code=code, param=param)


def wrong_value(param: str, said: str) -> OpenAIError:
    return OpenAIError(HTTPStatus.BAD_REQUEST, said, code="invalid_value", param=param)


def turn_failed(reason: str | None) -> OpenAIError:
    """A turn that came to no answer: `reason` is a word for programs, a colon, and a sentence."""
    code, _, said = (reason or "failed: The turn failed.").partition(": ")
    status = next(
        (status for kind, status in _FAILURES.items() if code in _codes(kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    return OpenAIError(status, said, code=code.replace("-", "_"), headers=NO_RETRY)


_FAILURES: Mapping[type[RoostError], HTTPStatus] = {
    ModelError: HTTPStatus.BAD_GATEWAY,
    Budget: HTTPStatus.TOO_MANY_REQUESTS,
    InvalidInput: HTTPStatus.BAD_REQUEST,
    ConfigError: HTTPStatus.BAD_REQUEST,
}


def _codes(kind: type[RoostError]) -> set[str]:
    return {kind.code}.union(*[_codes(below) for below in kind.__subclasses__()])


def _kind(status: int) -> str:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "insufficient_quota"
    return "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"


def in_openais_words(
    handlers: Mapping[type[Exception], ExceptionHandler],
) -> Mapping[type[Exception], ExceptionHandler]:
    """The same problems, said to each path's clients in the way they know."""
    return {kind: _translating(handler) for kind, handler in handlers.items()}


def _translating(handler: ExceptionHandler) -> ExceptionHandler:
    async def answer(request: Request, error: Exception) -> Response:
        answered = handler(request, error)  # pyright: ignore[reportArgumentType]
        response = await answered if inspect.isawaitable(answered) else answered
        assert isinstance(response, Response)
        if not request.url.path.startswith(PREFIX):
            return response
        return _translated(response, error)

    return answer


def _translated(response: Response, error: Exception) -> Response:
    problem = msgspec.json.decode(bytes(response.body), type=Problem)
    view = error.view if isinstance(error, OpenAIError) else _view(problem)
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in ("content-type", "content-length")
    }
    return Response(
        msgspec.json.encode(view), problem.status, headers, media_type="application/json"
    )


def _view(problem: Problem) -> ErrorView:
    code = problem.type.rpartition(":")[2].replace("-", "_")
    if problem.status == HTTPStatus.UNAUTHORIZED:
        code = "invalid_api_key"
    elif code == "blank":
        code = HTTPStatus(problem.status).phrase.lower().replace(" ", "_")
    return ErrorView(Wrong(message=problem.detail, type=_kind(problem.status), code=code))
