"""What a provider's error means, in our own tree: told by status, by code, or by its words."""

import re

import msgspec

from roost.core.errors import (
    ContentRefused,
    ContextTooLong,
    KeyRefused,
    ModelError,
    ModelOverloaded,
    ModelUnknown,
    NoCredit,
    RateLimited,
    RequestRefused,
)

_LENGTH = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too many (input )?tokens|too long"
    r"|exceeds? .{0,40}(tokens|context)|reduce the length|input length",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"insufficient.{0,10}(quota|credit|balance|funds)|credit balance|billing|exceeded your current"
    r" quota|payment required|out of credits",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model.{0,80}(not found|does not exist|not exist|unknown|not supported|no such)"
    r"|(no such|unknown|invalid) model|model_not_found|no endpoints found",
    re.IGNORECASE,
)
_FILTER = re.compile(r"content.{0,3}(filter|policy|management)|safety|moderation", re.IGNORECASE)
_KEY = re.compile(r"api.?key|authentication|unauthorized|invalid.{0,10}token", re.IGNORECASE)
_STATUS = re.compile(r"[1-5][0-9]{2}", re.ASCII)

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a stranger's JSON can do to who reads it."""


class ErrorBody(msgspec.Struct):
    """The fields that vendors put into `error`; any of them may be missing or of another type."""

    message: str | None = None
    type: str | None = None
    code: str | int | None = None
    status: str | int | None = None


class _Envelope(msgspec.Struct):
    error: ErrorBody | str | None = None
    message: str | None = None
    detail: str | list[object] | dict[str, object] | None = None


def failure(
    status: int, body: bytes, retry_after: str | None, provider: str, model: str
) -> ModelError:
    """What an HTTP answer other than success means."""
    error = _read(body)
    return _classify(status, error, _seconds(retry_after), provider, model)


def failure_in_stream(error: ErrorBody | str, provider: str, model: str) -> ModelError:
    """What an error in the middle of a stream means."""
    if isinstance(error, str):
        error = ErrorBody(message=error)
    codes = [str(code) for code in (error.code, error.status)]
    code = next((int(code) for code in codes if _STATUS.fullmatch(code)), 0)
    return _classify(code, error, None, provider, model)


def _read(body: bytes) -> ErrorBody:
    try:
        envelope = msgspec.json.decode(body, type=_Envelope)
    except UNREADABLE:
        text = " ".join(body.decode("utf-8", "replace").split())
        return ErrorBody(message=_brief(text, 300) or None)
    if isinstance(envelope.error, ErrorBody):
        return envelope.error
    detail = envelope.detail if isinstance(envelope.detail, str) else None
    return ErrorBody(message=envelope.error or envelope.message or detail)


def _classify(
    status: int, error: ErrorBody, retry_after: float | None, provider: str, model: str
) -> ModelError:
    said = " ".join(filter(None, [error.message, error.type, str(error.code or "")]))
    detail = _brief((error.message or error.type or "").strip(), 500).rstrip(".")
    detail = detail or (f"status {status}" if status else "no reason given")
    facts: dict[str, object] = {"provider": provider, "model": model, "status": status}
    # By words first where several statuses are in use for one thing. A rate limit on tokens also
    # speaks of length, and one on quota of billing: the status decides between those.
    if status != 429 and _LENGTH.search(said):
        return ContextTooLong(detail, **facts)
    if status == 402 or _CREDIT.search(said):
        return NoCredit(detail, **facts)
    if status == 429 or "rate_limit" in said:
        return RateLimited(detail, retry_after=retry_after, **facts)
    if status == 404 or (status in (0, 400, 403, 422) and _MODEL.search(said)):
        return ModelUnknown(detail, **facts)
    if status == 401 or (status in (0, 400, 403) and _KEY.search(said)):
        return KeyRefused(detail, **facts)
    if status in (0, 400, 403, 422) and _FILTER.search(said):
        return ContentRefused(detail, **facts)
    if status in (408, 409, 425) or status >= 500 or "overloaded" in said or status == 0:
        return ModelOverloaded(detail, retry_after=retry_after, **facts)
    return RequestRefused(detail, **facts)


def _brief(text: str, most: int) -> str:
    """Up to a whole word: half of a key would not be known for one, and be shown."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0]


def _seconds(retry_after: str | None) -> float | None:
    """The header in seconds; its other form, a date, is rare enough to be ignored."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < 86_400 else None
