"""The client over real connections: good ones, rough ones, and ones that the consumer leaves."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from roost.core.errors import (
    ContentRefused,
    ContextTooLong,
    KeyRefused,
    ModelError,
    ModelOverloaded,
    ModelStalled,
    ModelUnknown,
    ModelUnreachable,
    NoAnswer,
    NoCredit,
    RateLimited,
    ReplyMalformed,
    RequestRefused,
    StreamCut,
)
from roost.core.events import TextDelta
from roost.core.messages import ReasoningPart
from roost.llm import client as llm_client
from roost.llm import sse
from roost.llm.base import Finished, StreamEvent
from roost.llm.client import HttpClient
from roost.testing.models import (
    ModelServer,
    Problem,
    Quirk,
    Reply,
    call,
    cut,
    fail,
    finish,
    nothing,
    pause,
    raw,
    refuse,
    say,
    stall,
    think,
    use,
)
from tests.ports import full
from tests.unit.llm.asking import KEY, asking, events_of, question, said_by, timeless, understood
from tests.unit.testing.models.listening import PROTOCOLS, Heard, Protocols

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

FOREVER = 20.0
"""Longer than anything here takes; a wait that long has failed."""


async def soon(awaited: Awaitable[bool]) -> bool:
    async with asyncio.timeout(FOREVER):
        return await awaited


async def gather(client: HttpClient, events: list[StreamEvent]) -> None:
    """The events up to the error that ends them."""
    async with client.stream(question()) as stream:
        async for event in stream:
            events.append(event)  # noqa: PERF401 - one by one: those before an error count


async def error_of(client: HttpClient) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await events_of(client)
    return raised.value


# Servers that are nearly compatible.

EVERYTHING = (
    think("Let me see.", "seal")
    + say("I look.")
    + call("read", {"path": "a.txt"}, id="one")
    + call("now", id="two")
    + use(input_tokens=100, cached_tokens=50, output_tokens=9, reasoning_tokens=3)
)
HEARD = Heard(
    text="I look.",
    thoughts="Let me see.",
    calls=[("read", '{"path":"a.txt"}'), ("now", "{}")],
    ids=["one", "two"],
    finish="tool_calls",
    usage=(100, 50, 9, 3),
)
QUIRKS: dict[Quirk, Callable[[Heard], None]] = {
    "no_usage": lambda heard: setattr(heard, "usage", None),
    "usage_on_finish": lambda heard: None,
    "no_index": lambda heard: None,
    "index_zero": lambda heard: None,
    "no_call_ids": lambda heard: setattr(heard, "ids", ["", ""]),
    "reasoning": lambda heard: None,
    "no_finish_reason": lambda heard: None,
    "no_done": lambda heard: None,
    "keep_alive": lambda heard: None,
    "crlf": lambda heard: None,
    "no_final_newline": lambda heard: None,
}


def expected(protocol: Protocols, *quirks: Quirk) -> Heard:
    heard = Heard(
        text=HEARD.text,
        thoughts=HEARD.thoughts,
        payloads=[] if protocol == "chat" else ["seal"],
        calls=HEARD.calls,
        ids=list(HEARD.ids),
        finish=HEARD.finish,
        usage=HEARD.usage,
    )
    for quirk in quirks:
        QUIRKS[quirk](heard)
    return heard


async def test_request_of_megabytes_is_written_in_pieces(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("That was long."))
    await events_of(asking(connections, server, "chat"), question("word " * 600_000))
    assert server.requests[0].refused is None


@pytest.mark.parametrize("quirk", QUIRKS)
async def test_each_quirk_of_chat_is_understood(
    quirk: Quirk, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(EVERYTHING.quirky(quirk))
    events = await events_of(asking(connections, server, "chat"))
    assert understood(events) == expected("chat", quirk)


async def test_many_quirks_at_once_are_understood(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    many: list[tuple[Quirk, ...]] = [
        ("no_index", "no_call_ids", "no_usage", "no_done", "no_final_newline", "crlf"),
        ("index_zero", "reasoning", "usage_on_finish", "keep_alive"),
        ("no_index", "no_finish_reason", "no_final_newline", "keep_alive", "crlf"),
    ]
    for quirks in many:
        server.plan(EVERYTHING.quirky(*quirks).split(seed=4))
        events = await events_of(asking(connections, server, "chat"))
        assert understood(events) == expected("chat", *quirks)


@pytest.mark.parametrize("protocol", ["responses", "anthropic"])
@pytest.mark.parametrize("quirk", ["keep_alive", "crlf", "no_final_newline"])
async def test_framing_quirks_are_understood_in_every_protocol(
    protocol: Protocols, quirk: Quirk, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(EVERYTHING.quirky(quirk))
    events = await events_of(asking(connections, server, protocol))
    assert understood(events) == expected(protocol)


@each_protocol
async def test_an_answer_in_one_piece_is_understood(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    """Asked to stream, some servers answer as if they had not been."""
    whole = await _whole(protocol, EVERYTHING, server, connections)
    server.plan(raw(whole, content_type="application/json"))
    events = await events_of(asking(connections, server, protocol))
    assert timeless(understood(events)) == timeless(expected(protocol))


@each_protocol
async def test_a_refusal_in_one_piece_is_understood(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    whole = await _whole(protocol, refuse("No, sorry."), server, connections)
    server.plan(raw(whole, content_type="application/json"))
    error = await error_of(asking(connections, server, protocol))
    assert isinstance(error, ContentRefused)
    assert "No, sorry." in str(error)


async def test_an_answer_in_one_piece_has_a_bound(
    server: ModelServer, connections: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "LIMIT", 1 << 20)
    server.plan(raw("x" * (2 << 20), content_type="application/json"))
    error = await error_of(asking(connections, server, "chat"))
    assert isinstance(error, ReplyMalformed)
    assert "over 1 MiB" in str(error)


PATHS = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}
BODIES: dict[Protocols, dict[str, object]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": "hi"},
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
    },
}


async def _whole(
    protocol: Protocols, reply: Reply, server: ModelServer, connections: aiohttp.ClientSession
) -> bytes:
    """What the server answers when it was not asked to stream."""
    server.plan(reply)
    url = server.openai_url + PATHS[protocol]
    headers = {"anthropic-version": "2023-06-01"}
    async with connections.post(url, json=BODIES[protocol], headers=headers) as response:
        assert response.content_type == "application/json"
        return await response.read()


@each_protocol
@pytest.mark.parametrize("body", ["{}", "[]", "null", '"hi"', "<html>", "", '{"choices":[]}'])
async def test_json_that_is_no_answer_is_an_error(
    protocol: Protocols, body: str, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(raw(body, content_type="application/json"))
    error = await error_of(asking(connections, server, protocol))
    assert isinstance(error, ReplyMalformed | StreamCut)


@each_protocol
async def test_an_error_sent_as_a_success_is_an_error(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    body = '{"type":"error","error":{"message":"Overloaded","type":"overloaded_error"}}'
    server.plan(raw(body, content_type="application/json"), raw(f"data: {body}\n\n"))
    for _ in range(2):
        error = await error_of(asking(connections, server, protocol))
        assert isinstance(error, ModelOverloaded)
        assert "Overloaded" in str(error)


@each_protocol
async def test_a_page_instead_of_a_stream_is_an_error(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(raw("<h1>It works!</h1>", content_type="text/html"))
    assert isinstance(await error_of(asking(connections, server, protocol)), ReplyMalformed)


async def test_a_stream_that_stays_open_after_its_end_is_over(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("done") + raw("data: [DONE]\n\n") + stall())
    assert said_by(await events_of(asking(connections, server, "chat"))) == "done"
    assert await soon(server.requests[0].closed())


async def test_a_connection_lost_after_the_end_loses_nothing(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("done") + raw("data: [DONE]\n\n") + cut())
    assert said_by(await events_of(asking(connections, server, "chat"))) == "done"


@each_protocol
async def test_connections_are_used_again(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    client = asking(connections, server, protocol)
    for _ in range(5):
        await events_of(client)
    assert connections.connector is not None
    pooled = [each for group in vars(connections.connector)["_conns"].values() for each in group]
    assert len(pooled) == 1


# Errors.

PROBLEMS: dict[Problem, type[ModelError]] = {
    "bad_request": RequestRefused,
    "bad_key": KeyRefused,
    "no_credit": NoCredit,
    "forbidden": RequestRefused,
    "unknown_model": ModelUnknown,
    "timeout": ModelOverloaded,
    "conflict": ModelOverloaded,
    "too_large": RequestRefused,
    "context_too_long": ContextTooLong,
    "filtered": ContentRefused,
    "rate_limit": RateLimited,
    "server_error": ModelOverloaded,
    "overloaded": ModelOverloaded,
}


@each_protocol
@pytest.mark.parametrize("problem", PROBLEMS)
async def test_each_problem_is_known_by_its_own_error(
    protocol: Protocols, problem: Problem, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(fail(problem, retry_after=7))
    error = await error_of(asking(connections, server, protocol))
    kinds = {PROBLEMS[problem], KeyRefused} if problem == "forbidden" else {PROBLEMS[problem]}
    assert type(error) in kinds
    if isinstance(error, RateLimited | ModelOverloaded):
        assert error.facts["retry_after"] == 7


@each_protocol
@pytest.mark.parametrize("problem", ["overloaded", "server_error", "rate_limit"])
async def test_a_problem_in_the_middle_is_known_and_what_came_before_is_kept(
    protocol: Protocols, problem: Problem, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("Well, now") + fail(problem))
    events: list[StreamEvent] = []
    with pytest.raises(PROBLEMS[problem]):
        await gather(asking(connections, server, protocol), events)
    assert events == [TextDelta("Well,"), TextDelta(" now")]


async def test_responses_can_fail_in_another_way(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan((say("Well") + fail("rate_limit")).quirky("failed_event"))
    assert isinstance(await error_of(asking(connections, server, "responses")), RateLimited)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (502, "<html>Bad gateway</html>", ModelOverloaded),
        (500, "", ModelOverloaded),
        (404, "404 page not found", ModelUnknown),
        (400, '{"detail":"bad"}', RequestRefused),
        (422, '{"detail":[{"loc":["body"],"msg":"field required"}]}', RequestRefused),
        (400, '{"error":"bad"}', RequestRefused),
        (400, '{"error":{"message":["bad"]}}', RequestRefused),
        (400, "[" * 100_000, RequestRefused),
        (400, "\x00\x01", RequestRefused),
        (204, "", RequestRefused),
    ],
)
@each_protocol
async def test_error_bodies_of_every_kind_are_read(
    protocol: Protocols,
    status: int,
    body: str,
    kind: type[ModelError],
    server: ModelServer,
    connections: aiohttp.ClientSession,
) -> None:
    server.plan(raw(body, status=status, content_type="text/plain"))
    assert type(await error_of(asking(connections, server, protocol))) is kind


@each_protocol
async def test_an_error_whose_body_breaks_off_is_still_known(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(raw('{"error":{"mess', status=429) + cut())
    assert isinstance(await error_of(asking(connections, server, protocol)), RateLimited)


async def test_no_more_of_an_error_is_read_than_says_what_it_is(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    """It may be a page without end; the rest of it is not waited for either."""
    server.plan(raw("x" * (1 << 17), status=500) + stall())
    async with asyncio.timeout(FOREVER):
        error = await error_of(asking(connections, server, "chat"))
    assert isinstance(error, ModelOverloaded)
    assert await soon(server.requests[0].closed())


@each_protocol
async def test_no_answer_is_an_error(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(nothing())
    assert isinstance(await error_of(asking(connections, server, protocol)), NoAnswer)


@each_protocol
async def test_a_call_that_was_cut_by_the_limit_is_not_called_complete(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(call("read", '{"path": "a') + finish("length"))
    finished = (await events_of(asking(connections, server, protocol)))[-1]
    assert isinstance(finished, Finished)
    assert finished.reason == "length"


# Connections.


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncGenerator[str]:
    """A server of the test's own."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int, connections: aiohttp.ClientSession) -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=status, headers={"location": "/elsewhere"})

    async with serving(handle) as url:
        error = await error_of(asking(connections, url, "chat"))
    assert isinstance(error, RequestRefused)
    assert str(status) in str(error)
    assert asked == ["/v1/chat/completions"]


@each_protocol
async def test_a_refused_connection_is_unreachable(
    protocol: Protocols, connections: aiohttp.ClientSession
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else can answer there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert isinstance(await error_of(asking(connections, url, protocol)), ModelUnreachable)


async def test_a_host_that_lets_nobody_in_is_unreachable(
    connections: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_client, "CONNECT_SECONDS", 0.1)
    with full() as port:
        async with asyncio.timeout(FOREVER):
            error = await error_of(asking(connections, f"http://127.0.0.1:{port}/v1", "chat"))
    assert isinstance(error, ModelUnreachable)
    assert "it does not answer" in str(error)


@pytest.mark.parametrize("url", ["http://nest.invalid/v1", "not an address", "http://[bad/v1"])
async def test_a_wrong_address_is_unreachable(url: str, connections: aiohttp.ClientSession) -> None:
    assert isinstance(await error_of(asking(connections, url, "chat")), ModelUnreachable)


async def test_password_in_an_address_is_not_used_together_with_a_key(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    url = server.openai_url.replace("//", "//wren:nightjar@")
    error = await error_of(asking(connections, url, "chat"))
    assert isinstance(error, RequestRefused)
    assert "Keep one of them" in str(error)
    assert "nightjar" not in str(error)


@each_protocol
async def test_a_connection_lost_before_the_answer_is_unreachable(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(cut())
    assert isinstance(await error_of(asking(connections, server, protocol)), ModelUnreachable)


@each_protocol
async def test_a_connection_lost_in_the_answer_is_a_cut(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One two") + cut())
    events: list[StreamEvent] = []
    with pytest.raises(StreamCut, match="broke off: the connection was closed before the end"):
        await gather(asking(connections, server, protocol), events)
    assert events == [TextDelta("One"), TextDelta(" two")]


@each_protocol
async def test_a_stream_that_ends_in_the_middle_is_a_cut(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    """The connection is fine; the server just stopped."""
    server.plan(raw(": nothing to say\n\n"))
    assert isinstance(await error_of(asking(connections, server, protocol)), StreamCut)


@each_protocol
async def test_silence_before_the_answer_is_a_stall(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(stall())
    error = await error_of(asking(connections, server, protocol, stall=0.1))
    assert isinstance(error, ModelStalled)
    assert await soon(server.requests[0].closed())


@each_protocol
async def test_silence_in_the_answer_is_a_stall(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One two") + stall())
    events: list[StreamEvent] = []
    with pytest.raises(ModelStalled):
        await gather(asking(connections, server, protocol, stall=0.1), events)
    assert events == [TextDelta("One"), TextDelta(" two")]
    assert await soon(server.requests[0].closed())


async def test_keep_alives_hold_off_the_stall(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    alive = raw(": keep-alive\n\n") + pause(0.25)
    server.plan(say("Hm ") + alive + alive + alive + alive + alive + alive + say("yes"))
    events = await events_of(asking(connections, server, "chat", stall=1))
    assert said_by(events) == "Hm yes"


# A consumer that leaves.


@each_protocol
async def test_leaving_the_loop_closes_the_connection(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One") + stall())
    async with asking(connections, server, protocol).stream(question()) as stream:
        async for event in stream:
            assert event == TextDelta("One")
            break
    assert await soon(server.requests[0].closed())


@each_protocol
async def test_asking_for_nothing_closes_the_connection(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One") + stall())
    async with asking(connections, server, protocol).stream(question()):
        pass
    assert await soon(server.requests[0].closed())


@each_protocol
@pytest.mark.parametrize("reply", [stall(), say("One") + stall()], ids=["before", "within"])
async def test_cancelling_closes_the_connection(
    protocol: Protocols, reply: Reply, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(reply)
    asked = asyncio.create_task(events_of(asking(connections, server, protocol)))
    request = await server.request(0)
    await request.stalled()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await soon(request.closed())


@pytest.mark.parametrize("kind", [TimeoutError, OSError, ValueError, aiohttp.ClientError])
async def test_the_consumers_own_errors_stay_its_own(
    kind: type[Exception], server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One") + stall())
    mine = kind("mine")

    async def consume() -> None:
        async with asking(connections, server, "chat").stream(question()) as stream:
            async for _ in stream:
                raise mine

    with pytest.raises(kind) as raised:
        await consume()
    assert raised.value is mine
    assert await soon(server.requests[0].closed())


async def test_the_consumers_own_deadline_stays_its_own(
    server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(say("One") + stall())

    async def consume() -> None:
        async with (
            asyncio.timeout(FOREVER) as deadline,
            asking(connections, server, "chat").stream(question()) as stream,
        ):
            async for _ in stream:
                deadline.reschedule(asyncio.get_running_loop().time())

    with pytest.raises(TimeoutError):
        await consume()
    assert await soon(server.requests[0].closed())


# Credentials.


@each_protocol
async def test_the_key_is_sent_and_shown_nowhere(
    protocol: Protocols,
    server: ModelServer,
    connections: aiohttp.ClientSession,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("DEBUG")
    client = asking(connections, server, protocol)
    told = f"Incorrect API key provided: {KEY}."
    server.plan(fail(401, told), fail(500, told), raw(told, status=403), cut(), fail(401))
    server.plan(fail(401, told, in_stream=True), say("One") + fail(401, told))
    errors = [await error_of(client) for _ in range(7)]
    assert all(KEY in "".join(request.headers.values()) for request in server.requests)
    for error in errors:
        chain = [error, error.__cause__, error.__context__]
        assert not any(KEY in f"{each!r} {each} {error.facts}" for each in chain)
    assert KEY not in repr(client) + repr(vars(client)) + caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize("in_stream", [False, True], ids=["status", "stream"])
@pytest.mark.parametrize("before", [0, 200, 270, 290, 470, 490])
async def test_not_even_a_part_of_the_key_is_shown(
    before: int, in_stream: bool, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    """What a provider says is cut if it is long; half of a key is a secret still."""
    told = f"{'Wrong.'.ljust(before)}{KEY} is no key of ours. {'So there. ' * 60}"
    server.plan(fail(401, told, in_stream=in_stream), raw(told, status=401))
    for _ in range(2):
        error = await error_of(asking(connections, server, "chat"))
        assert "Wrong" in str(error)
        assert KEY[:4] not in str(error)


@pytest.mark.parametrize("status", [200, 401])
async def test_a_key_that_is_written_with_escapes_is_known(
    status: int, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    written = KEY.replace("-", "\\u002d")
    body = f'{{"error":{{"message":"Wrong: {written}","code":401}}}}'
    server.plan(raw(body, status=status, content_type="application/json"))
    error = await error_of(asking(connections, server, "chat"))
    assert isinstance(error, KeyRefused)
    assert KEY not in str(error)


@each_protocol
async def test_thoughts_know_who_made_them(
    protocol: Protocols, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    server.plan(think("Hm.", "seal") + say("Yes."))
    finished = (await events_of(asking(connections, server, protocol)))[-1]
    assert isinstance(finished, Finished)
    thought = finished.parts[0]
    assert isinstance(thought, ReasoningPart)
    assert thought.origin == "nest/heron"
    assert finished.usage is not None
    assert (finished.usage.provider, finished.usage.model) == ("nest", "heron")
