"""Typed handlers: a function's signature says what a request must have and what it answers.

    async def rename(call: Call, session: SessionId, body: NewTitle) -> SessionView:
        \"\"\"Give a session a title.\"\"\"

`call` is who asks. A name that the path has is read from there, `query` from the query string,
`body` from a JSON body, which may be left out if it needs nothing; a parameter marked with `Header`
from that header. What is returned is JSON; None is an empty answer. Everything that is wrong with a
request is a problem (400 and up) before the handler runs.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args, get_origin, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roost.core.identities import Need
from roost.core.ids import (
    API_TOKEN_ID,
    APPROVAL_ID,
    BLOB_ID,
    FACT_ID,
    MESSAGE_ID,
    SCHEDULE_ID,
    SESSION_ID,
    SIGN_IN_ID,
    TURN_ID,
    USER_ID,
    ApiTokenId,
    ApprovalId,
    BlobId,
    FactId,
    MessageId,
    RuleId,
    ScheduleId,
    SessionId,
    SignInId,
    TurnId,
    UserId,
)
from roost.http.bodies import read_body
from roost.http.calls import Call, Callers
from roost.http.problems import Problem, ProblemError

BODY_LIMIT = 1 << 20
_LONGEST_SAID = 300

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Answer = Callable[[Request], Awaitable[Response]]

PATTERNS: Mapping[object, str] = {
    SessionId: SESSION_ID,
    TurnId: TURN_ID,
    MessageId: MESSAGE_ID,
    ApprovalId: APPROVAL_ID,
    FactId: FACT_ID,
    ScheduleId: SCHEDULE_ID,
    BlobId: BLOB_ID,
    SignInId: SIGN_IN_ID,
    ApiTokenId: API_TOKEN_ID,
    UserId: USER_ID,
    RuleId: r"^rul_[0-9a-z_]{1,64}$(?!\n)",
}
"""What an id in a path looks like; one that does not is not found."""
_ANY = re.compile(r"[^\0]{1,200}")


class Header(NamedTuple):
    """Marks a parameter that comes from a header: `Annotated[str | None, Header("If-Match")]`."""

    name: str


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`scope` is what a token needs to call it; None is open to anyone. `takes` and `answers` are
    the media types of what is not JSON; a body of such a kind is the handler's to read."""

    method: Method
    path: str
    handler: Callable[..., Awaitable[object]]
    scope: Need | None
    status: int
    takes: str | None
    answers: tuple[str, ...]
    sends: Any
    """What a stream's events are, if it answers with one."""
    limit: int
    names: tuple[str, ...]
    """Of the parameters in the path."""
    kinds: dict[str, Any]
    headers: dict[str, str]
    returns: Any
    wrong: type[msgspec.Struct]
    """What is answered if it goes wrong: a problem, unless its clients expect something else."""

    @property
    def body_optional(self) -> bool:
        body = self.kinds.get("body")
        if not isinstance(body, type) or not issubclass(body, msgspec.Struct):
            return False
        return not any(field.required for field in msgspec.structs.fields(body))


def endpoint(
    method: Method,
    path: str,
    handler: Callable[..., Awaitable[object]],
    *,
    scope: Need | None,
    status: int | None = None,
    takes: str | None = None,
    answers: str | tuple[str, ...] = (),
    sends: object = None,
    limit: int = BODY_LIMIT,
    wrong: type[msgspec.Struct] = Problem,
) -> Endpoint:
    kinds = get_type_hints(handler, include_extras=True)
    returns = _returned(kinds.pop("return"))
    if not handler.__doc__:
        raise TypeError(f"{method} {path} says nothing of itself")
    headers = {
        name: marked.name
        for name, kind in kinds.items()
        if get_origin(kind) is Annotated
        for marked in get_args(kind)[1:]
        if isinstance(marked, Header)
    }
    return Endpoint(
        method=method,
        path=path,
        handler=handler,
        scope=scope,
        status=status or (204 if returns is type(None) else 200),
        takes=takes,
        answers=(answers,) if isinstance(answers, str) else answers,
        sends=sends,
        limit=limit,
        names=tuple(re.findall(r"{(\w+)(?::path)?}", path)),
        kinds=kinds,
        headers=headers,
        returns=returns,
        wrong=wrong,
    )


def _returned(kind: Any) -> Any:  # noqa: ANN401
    """What is returned as JSON, if it may also be a response that says by itself what it is."""
    choices = get_args(kind) if get_origin(kind) is UnionType else ()
    if Response not in choices:
        return kind
    (rest,) = [choice for choice in choices if choice is not Response]
    return rest


def routes(endpoints: Iterable[Endpoint], callers: Callers) -> list[Route]:
    """One route for each path, so that Starlette can tell which methods it takes."""
    paths: dict[str, dict[str, Answer]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method] = _answering(each, callers)
    return [Route(path, _by_method(answers), methods=[*answers]) for path, answers in paths.items()]


def _by_method(answers: Mapping[str, Answer]) -> Answer:
    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await answers[method](request)

    return answer


def _answering(endpoint: Endpoint, callers: Callers) -> Answer:
    read = _Reader(endpoint)
    encode = msgspec.json.Encoder(enc_hook=str).encode

    async def answer(request: Request) -> Response:
        call = await callers.identify(request, endpoint.scope)
        answered = await endpoint.handler(call, **await read(request))
        if isinstance(answered, Response):
            return answered
        if answered is None:
            return Response(status_code=endpoint.status)
        return Response(encode(answered), endpoint.status, media_type="application/json")

    return answer


class _Reader:
    """Reads the arguments of a handler out of a request."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        kinds = endpoint.kinds
        self._query = cast("type[msgspec.Struct] | None", kinds.get("query"))
        body = kinds.get("body")
        self._body = None if body is None else msgspec.json.Decoder(body)
        self._may_lack_body = endpoint.body_optional
        self._patterns = {
            name: re.compile(PATTERNS[kinds[name]])
            for name in endpoint.names
            if kinds[name] in PATTERNS
        }

    async def __call__(self, request: Request) -> dict[str, object]:
        given: dict[str, object] = {}
        for name in self._endpoint.names:
            given[name] = self._from_path(name, cast("str", request.path_params[name]))
        for name, header in self._endpoint.headers.items():
            given[name] = request.headers.get(header)
        if self._query is not None:
            given["query"] = _query(request, self._query)
        elif request.scope["query_string"]:
            raise ProblemError(HTTPStatus.BAD_REQUEST, "This address takes no query.")
        if self._body is not None:
            given["body"] = await self._read_body(request, self._body)
        return given

    def _from_path(self, name: str, text: str) -> object:
        if self._endpoint.kinds[name] is int:
            if not re.fullmatch("[0-9]{1,15}", text):
                raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no {name} {text[:80]!r} here.")
            return int(text)
        pattern = self._patterns.get(name, _ANY)
        if not pattern.fullmatch(text):
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no {name} {text[:80]!r} here.")
        return text

    async def _read_body(self, request: Request, decoder: msgspec.json.Decoder[Any]) -> object:
        if self._may_lack_body and _is_empty(request):
            return decoder.decode(b"{}")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            said = "Send JSON, with the content type application/json."
            raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, said)
        body = await read_body(request, self._endpoint.limit)
        try:
            return decoder.decode(body)
        except msgspec.ValidationError as error:
            raise ProblemError(
                HTTPStatus.BAD_REQUEST, f"The body is wrong: {_said(error)}."
            ) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProblemError(
                HTTPStatus.BAD_REQUEST, f"The body is not JSON: {_said(error)}."
            ) from error


def _said(error: Exception) -> str:
    """Without all that a stranger may have written into it."""
    return str(error)[:_LONGEST_SAID]


def _is_empty(request: Request) -> bool:
    headers = request.headers
    return "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"


def _query(request: Request, kind: type[msgspec.Struct]) -> msgspec.Struct:
    given: dict[str, str] = {}
    for name, text in request.query_params.multi_items():
        if name in given:
            raise ProblemError(HTTPStatus.BAD_REQUEST, f"{name[:80]!r} is given twice.")
        given[name] = text
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ProblemError(
            HTTPStatus.BAD_REQUEST, f"The query is wrong: {_said(error)}."
        ) from error


__all__ = ["Call", "Endpoint", "Header", "endpoint", "routes"]
