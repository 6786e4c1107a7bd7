"""What a server says went wrong, as the error that it was there."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus

import msgspec

from roost.core import errors
from roost.core.errors import RoostError

_PREFIX = "urn:roost:"
_BY_STATUS: Mapping[int, type[RoostError]] = {
    HTTPStatus.BAD_REQUEST: errors.InvalidInput,
    HTTPStatus.UNAUTHORIZED: errors.NotSignedIn,
    HTTPStatus.FORBIDDEN: errors.AccessRefused,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.InvalidInput,
}
"""What has no name of its own was refused before anything was done."""


class _Problem(msgspec.Struct, frozen=True):
    type: str = "about:blank"
    detail: str = ""


def error_of(status: int, body: bytes) -> RoostError:
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except msgspec.MsgspecError:
        problem = _Problem()
    kind = _CODES.get(problem.type.removeprefix(_PREFIX)) or _BY_STATUS.get(status, RoostError)
    return _said(kind, problem.detail or f"It answered with {status}.")


def _said(kind: type[RoostError], sentence: str) -> RoostError:
    """With the sentence that was made there: the facts in it have not come along."""
    error = kind.__new__(kind, sentence)
    error.facts = {}
    return error


def _kinds(kind: type[RoostError] = RoostError) -> Iterator[type[RoostError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


_CODES = {kind.code: kind for kind in _kinds()}
