"""What goes wrong, in the words of OpenAI and of Anthropic."""

import msgspec

from roost.testing.models.prompt import Json
from roost.testing.models.script import Fail, Problem

_OF_STATUS: dict[int, Problem] = {
    401: "bad_key",
    402: "no_credit",
    403: "forbidden",
    404: "unknown_model",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}

# Status, type, code and message of each.
_OPENAI: dict[Problem, tuple[int, str, str | None, str]] = {
    "bad_request": (400, "invalid_request_error", None, "Invalid request."),
    "bad_key": (
        401,
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided. You can find your API key in your account.",
    ),
    "no_credit": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "forbidden": (403, "request_forbidden", "forbidden", "You do not have access."),
    "unknown_model": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model does not exist or you do not have access to it.",
    ),
    "timeout": (408, "timeout", None, "Request timed out."),
    "conflict": (409, "conflict", None, "The resource was changed by another request."),
    "too_large": (413, "invalid_request_error", None, "The request body is too large."),
    "context_too_long": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "9000 tokens. Please reduce the length of the messages.",
    ),
    "filtered": (
        400,
        "invalid_request_error",
        "content_filter",
        "The response was filtered due to the prompt triggering the content management policy.",
    ),
    "rate_limit": (
        429,
        "requests",
        "rate_limit_exceeded",
        "Rate limit reached for requests. Please try again in 20s.",
    ),
    "server_error": (
        500,
        "server_error",
        None,
        "The server had an error while processing your request. Sorry about that!",
    ),
    "overloaded": (
        503,
        "server_error",
        None,
        "The server is currently overloaded. Please try again later.",
    ),
}

_ANTHROPIC: dict[Problem, tuple[int, str, str]] = {
    "bad_request": (400, "invalid_request_error", "Invalid request."),
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "no_credit": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing "
        "to upgrade or purchase credits.",
    ),
    "forbidden": (403, "permission_error", "Your API key does not have access."),
    "unknown_model": (404, "not_found_error", "model: not found"),
    "timeout": (408, "timeout_error", "Request timed out."),
    "conflict": (409, "conflict_error", "Conflict."),
    "too_large": (413, "request_too_large", "Request exceeds the maximum size"),
    "context_too_long": (
        400,
        "invalid_request_error",
        "prompt is too long: 208310 tokens > 200000 maximum",
    ),
    "filtered": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "rate_limit": (
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit.",
    ),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}


class Failure(msgspec.Struct, frozen=True):
    status: int
    type: str
    message: str
    code: str | None = None


def _problem(what: int | Problem) -> Problem:
    if isinstance(what, int):
        return _OF_STATUS.get(what, "server_error" if what >= 500 else "bad_request")
    return what


def openai_failure(fail: Fail) -> Failure:
    status, kind, code, message = _OPENAI[_problem(fail.what)]
    if isinstance(fail.what, int):
        status = fail.what
    return Failure(status, kind, fail.message or message, code)


def openai_error(failure: Failure) -> Json:
    return {
        "error": {
            "message": failure.message,
            "type": failure.type,
            "param": None,
            "code": failure.code,
        }
    }


def anthropic_failure(fail: Fail) -> Failure:
    status, kind, message = _ANTHROPIC[_problem(fail.what)]
    if isinstance(fail.what, int):
        status = fail.what
    return Failure(status, kind, fail.message or message)


def anthropic_error(failure: Failure, request_id: str) -> Json:
    error = {"type": failure.type, "message": failure.message}
    return {"type": "error", "error": error, "request_id": request_id}
