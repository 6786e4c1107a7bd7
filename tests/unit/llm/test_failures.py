"""What vendors' errors are taken for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from roost.llm.failures import ErrorBody, failure, failure_in_stream

CASES: list[tuple[type[ModelError], int, str]] = [
    (
        KeyRefused,
        401,
        '{"error":{"message":"Incorrect API key provided: sk-1","type":"invalid_request_error",'
        '"code":"invalid_api_key"}}',
    ),
    (
        KeyRefused,
        401,
        '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
    ),
    (KeyRefused, 400, '{"error":{"message":"API key not valid. Please pass a valid API key."}}'),
    (
        NoCredit,
        429,
        '{"error":{"message":"You exceeded your current quota, please check your plan and billing '
        'details.","type":"insufficient_quota","code":"insufficient_quota"}}',
    ),
    (
        NoCredit,
        400,
        '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is '
        'too low to access the Anthropic API."}}',
    ),
    (NoCredit, 402, '{"error":{"message":"Insufficient Balance"}}'),
    (
        ContextTooLong,
        400,
        '{"error":{"message":"This model\'s maximum context length is 8192 tokens.","code":'
        '"context_length_exceeded"}}',
    ),
    (
        ContextTooLong,
        400,
        '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: '
        '209931 tokens > 200000 maximum"}}',
    ),
    (ContextTooLong, 413, '{"error":{"message":"input length exceeds the context window"}}'),
    (
        ContextTooLong,
        400,
        '{"error":{"code":400,"message":"the request exceeds the available context size, try '
        'increasing it","type":"exceed_context_size_error"}}',
    ),
    (
        ModelUnknown,
        404,
        '{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}',
    ),
    (
        ModelUnknown,
        404,
        '{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}',
    ),
    (ModelUnknown, 404, '{"error":"model \\"llama9\\" not found, try pulling it first"}'),
    (
        ModelUnknown,
        400,
        '{"error":{"message":"no-such/model is not a valid model. No such model"}}',
    ),
    (
        RateLimited,
        429,
        '{"error":{"message":"Rate limit reached for gpt-5 in organization on tokens per min '
        '(TPM): Limit 30000, Requested 40000","type":"tokens","code":"rate_limit_exceeded"}}',
    ),
    (
        ModelOverloaded,
        529,
        '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    ),
    (ModelOverloaded, 503, "<html>Service Unavailable</html>"),
    (ModelOverloaded, 500, ""),
    (ModelOverloaded, 408, '{"message":"Request timeout"}'),
    (
        ContentRefused,
        400,
        '{"error":{"message":"The response was filtered due to the prompt triggering content '
        'management policy","code":"content_filter"}}',
    ),
    (
        RequestRefused,
        400,
        '{"error":{"message":"Unsupported parameter: temperature","type":"invalid_request_error"}}',
    ),
    (RequestRefused, 422, '{"detail":[{"loc":["body"],"msg":"extra fields not permitted"}]}'),
    (RequestRefused, 301, ""),
    # Words that mean something else under another status.
    (RateLimited, 429, '{"error":{"message":"Too many input tokens per minute"}}'),
    (NoCredit, 402, '{"error":{"message":"Add a card first"}}'),
    (ModelOverloaded, 500, '{"error":{"message":"The model was not found on this worker"}}'),
    (ModelOverloaded, 503, '{"error":{"message":"The authentication service is down"}}'),
    (ModelOverloaded, 500, '{"error":{"message":"The safety system does not answer"}}'),
    (ModelOverloaded, 400, '{"error":{"message":"That engine is overloaded"}}'),
    (ModelOverloaded, 409, ""),
    (ModelOverloaded, 425, ""),
]


@pytest.mark.parametrize(("kind", "status", "body"), CASES)
def test_a_vendors_error_is_understood(kind: type[ModelError], status: int, body: str) -> None:
    error = failure(status, body.encode(), None, "acme", "m-1")
    assert type(error) is kind
    assert "acme" in str(error) or "m-1" in str(error)


def test_the_wait_that_a_provider_asks_for_is_kept() -> None:
    assert failure(429, b"", "7", "acme", "m").facts["retry_after"] == 7.0
    assert (
        failure(429, b"", "Wed, 21 Oct 2026 07:28:00 GMT", "acme", "m").facts["retry_after"] is None
    )


@pytest.mark.parametrize("written", ["", "soon", "-1", "nan", "inf", "86400"])
def test_a_wait_that_makes_no_sense_is_none(written: str) -> None:
    for status in (429, 503):
        assert failure(status, b"", written, "acme", "m").facts["retry_after"] is None


def test_what_is_shown_of_an_error_has_a_bound() -> None:
    for body in (b"word " * 10_000, b'{"error":"' + b"word " * 10_000 + b'"}', b"x" * 10_000):
        assert len(str(failure(400, body, None, "acme", "m"))) < 700


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ModelOverloaded, ErrorBody(type="overloaded_error", message="Overloaded")),
        (RateLimited, ErrorBody(code=429, message="slow down")),
        (RateLimited, ErrorBody(code="slow", status="429", message="slow down")),
        (RateLimited, ErrorBody(type="rate_limit_error", message="slow down")),
        (ContextTooLong, ErrorBody(message="prompt is too long")),
        (ModelOverloaded, ErrorBody(code="server_error", message="The server had an error")),
        (ModelOverloaded, "something went wrong"),
    ],
)
def test_an_error_in_the_stream_is_understood(
    kind: type[ModelError], error: ErrorBody | str
) -> None:
    assert type(failure_in_stream(error, "acme", "m")) is kind


@given(st.integers(0, 999), st.binary(max_size=200), st.none() | st.text(max_size=20))
def test_no_answer_is_beyond_words(status: int, body: bytes, retry_after: str | None) -> None:
    error = failure(status, body, retry_after, "acme", "m")
    assert isinstance(error, ModelError)
    assert str(error)
