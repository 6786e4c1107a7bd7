"""What goes wrong on purpose, as the vendors' own packages see it."""

import anthropic
import openai
import pytest

from roost.testing.models import ModelServer, Problem, cut, fail, say, stall
from tests.unit.testing.models.listening import PROTOCOLS, Clients, Protocols

ERRORS: dict[Problem, tuple[type[openai.APIError], str | None, type[anthropic.APIError], str]] = {
    "bad_request": (
        openai.BadRequestError,
        None,
        anthropic.BadRequestError,
        "invalid_request_error",
    ),
    "bad_key": (
        openai.AuthenticationError,
        "invalid_api_key",
        anthropic.AuthenticationError,
        "authentication_error",
    ),
    "unknown_model": (
        openai.NotFoundError,
        "model_not_found",
        anthropic.NotFoundError,
        "not_found_error",
    ),
    "no_credit": (
        openai.RateLimitError,
        "insufficient_quota",
        anthropic.BadRequestError,
        "invalid_request_error",
    ),
    "context_too_long": (
        openai.BadRequestError,
        "context_length_exceeded",
        anthropic.BadRequestError,
        "invalid_request_error",
    ),
    "rate_limit": (
        openai.RateLimitError,
        "rate_limit_exceeded",
        anthropic.RateLimitError,
        "rate_limit_error",
    ),
    "overloaded": (
        openai.InternalServerError,
        None,
        anthropic.InternalServerError,
        "overloaded_error",
    ),
    "server_error": (
        openai.InternalServerError,
        None,
        anthropic.InternalServerError,
        "api_error",
    ),
}

each_way = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


@each_way
@pytest.mark.parametrize("problem", ERRORS)
async def test_problem_is_the_error_each_vendor_makes_of_it(
    problem: Problem, stream: bool, server: ModelServer, clients: Clients
) -> None:
    openai_error, code, anthropic_error, kind = ERRORS[problem]
    server.otherwise(fail(problem, "the reason"))
    for protocol in ("chat", "responses"):
        with pytest.raises(openai_error, match="the reason") as caught:
            await clients.ask(protocol, stream=stream)
        assert caught.value.code == code
    with pytest.raises(anthropic_error, match="the reason") as refused:
        await clients.ask("anthropic", stream=stream)
    assert kind in str(refused.value.body)


async def test_failure_comes_once_and_says_when_to_come_back(
    server: ModelServer, clients: Clients
) -> None:
    server.plan(fail(429, retry_after=1.5), say("ok"))
    with pytest.raises(openai.RateLimitError) as caught:
        await clients.ask("chat")
    assert caught.value.response.headers["retry-after"] == "1.5"
    assert (await clients.ask("chat")).text == "ok"


async def test_any_status_can_be_given(server: ModelServer, clients: Clients) -> None:
    server.otherwise(fail(418))
    with pytest.raises(openai.APIStatusError) as caught:
        await clients.ask("chat")
    assert caught.value.status_code == 418


@pytest.mark.parametrize("early", [True, False], ids=["first", "later"])
async def test_failure_within_a_stream_is_an_event(
    early: bool, server: ModelServer, clients: Clients
) -> None:
    failure = fail("overloaded", "too much", in_stream=True)
    server.otherwise(failure if early else say("Well") + failure)
    with pytest.raises(openai.APIError, match="too much") as caught:
        await clients.ask("chat")
    assert not isinstance(caught.value, openai.APIStatusError)
    with pytest.raises(anthropic.APIStatusError, match="too much"):
        await clients.ask("anthropic")
    events = await clients.openai.responses.create(model="m", input="hi", stream=True)
    last = [event async for event in events][-1]
    assert last.type == "error"
    assert last.message == "too much"


async def test_responses_may_fail_by_their_own_event(server: ModelServer, clients: Clients) -> None:
    server.plan((say("Well") + fail("rate_limit", "too much")).quirky("failed_event"))
    events = await clients.openai.responses.create(model="m", input="hi", stream=True)
    last = [event async for event in events][-1]
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.code == "rate_limit_exceeded"


@each_way
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_cut_breaks_the_connection(
    protocol: Protocols, stream: bool, server: ModelServer, clients: Clients
) -> None:
    for reply in (cut(), say("one two") + cut()):
        server.plan(reply)
        with pytest.raises(Exception, match=r"(?i)connection|peer closed|disconnected"):
            await clients.ask(protocol, stream=stream)
    assert [await request.closed() for request in server.requests] == [False, False]


async def test_what_was_said_before_a_cut_arrives(server: ModelServer, clients: Clients) -> None:
    server.plan(say("one two three") + cut())
    heard: list[str] = []
    chunks = await clients.openai.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], stream=True
    )

    async def listen() -> None:
        async for chunk in chunks:
            heard.extend([choice.delta.content or "" for choice in chunk.choices])

    with pytest.raises(Exception, match=r"(?i)connection|peer closed"):
        await listen()
    assert "".join(heard) == "one two three"


async def test_failed_request_leaves_nothing_in_the_cache(
    server: ModelServer, clients: Clients
) -> None:
    server.plan(fail(500))
    with pytest.raises(openai.InternalServerError):
        await clients.ask("chat")
    await clients.ask("chat")
    await clients.ask("chat")
    assert [request.cache.hit_tokens > 0 for request in server.requests] == [False, False, True]


async def test_stall_holds_the_first_byte(server: ModelServer, clients: Clients) -> None:
    client = clients.anthropic.with_options(timeout=2)
    server.plan(stall() + say("late"))
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        )
    assert await server.requests[0].closed()
