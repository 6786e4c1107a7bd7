"""Every kind of reply, as the vendors' own packages understand it."""

import msgspec
import pytest

from roost.testing.models import (
    ModelServer,
    Reply,
    call,
    echo,
    finish,
    nothing,
    refuse,
    say,
    think,
    use,
)
from roost.testing.models.signature import sign
from tests.unit.testing.models.listening import PROTOCOLS, Clients, Heard, Protocols

# What each vendor calls the ends of an answer.
STOP = {"chat": "stop", "responses": "completed", "anthropic": "end_turn"}
LENGTH = {"chat": "length", "responses": "max_output_tokens", "anthropic": "max_tokens"}
CALLS = {"chat": "tool_calls", "responses": "completed", "anthropic": "tool_use"}
FILTER = {"chat": "content_filter", "responses": "content_filter", "anthropic": "refusal"}
DECLINED = {"chat": "stop", "responses": "completed", "anthropic": "refusal"}

each_way = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

LONG = {"path": "a long enough path to be cut into several pieces", "lines": [1, 2, 3]}
LONG_TEXT = msgspec.json.encode(LONG).decode()

CASES: dict[str, tuple[Reply, Heard, dict[str, str]]] = {
    "text": (say("Hello wide world"), Heard(text="Hello wide world"), STOP),
    "text with odd spaces": (say("  a\n\n b \n"), Heard(text="  a\n\n b \n"), STOP),
    "text that is not ascii": (say("Grüße, 世界 🐦", size=1), Heard(text="Grüße, 世界 🐦"), STOP),
    "text at a pace": (say("one two", pace=0.001), Heard(text="one two"), STOP),
    "text in two pieces": (say("one") + say(" two"), Heard(text="one two"), STOP),
    "thought": (think("Let me see.") + say("4"), Heard(text="4", thoughts="Let me see."), STOP),
    "call": (call("read", LONG), Heard(calls=[("read", LONG_TEXT)]), CALLS),
    "call at once": (call("read", LONG, size=0), Heard(calls=[("read", LONG_TEXT)]), CALLS),
    "parallel calls": (
        say("I look.") + call("a", {"x": 1}) + call("b") + call("a", {"x": 2}),
        Heard(text="I look.", calls=[("a", '{"x":1}'), ("b", "{}"), ("a", '{"x":2}')]),
        CALLS,
    ),
    "length": (say("cut") + finish("length"), Heard(text="cut"), LENGTH),
    "nothing": (nothing(), Heard(), STOP),
    "refusal": (refuse("No, sorry."), Heard(refusal="No, sorry."), DECLINED),
    "filter": (say("Well") + refuse(filtered=True), Heard(text="Well"), FILTER),
    "echo": (echo(), Heard(text="What is this?"), STOP),
}


@each_way
@each_protocol
@pytest.mark.parametrize("name", CASES)
async def test_vendors_package_hears_what_the_script_said(
    name: str, protocol: Protocols, stream: bool, server: ModelServer, clients: Clients
) -> None:
    reply, expected, ends = CASES[name]
    server.plan(reply)
    heard = await clients.ask(protocol, "What is this?", stream=stream)
    assert heard.finish == ends[protocol]
    assert (heard.text, heard.thoughts) == (expected.text, expected.thoughts)
    assert (heard.calls, heard.refusal) == (expected.calls, expected.refusal)
    assert len(set(heard.ids)) == len(heard.calls)


@each_way
@each_protocol
async def test_usage_counts_the_tokens_that_were_sent(
    protocol: Protocols, stream: bool, server: ModelServer, clients: Clients
) -> None:
    server.plan(think("one two three") + say("four five"))
    heard = await clients.ask(protocol, stream=stream)
    assert heard.usage == (server.requests[0].cache.prompt_tokens, 0, 5, 3)


@each_way
@each_protocol
async def test_usage_is_what_the_script_says(
    protocol: Protocols, stream: bool, server: ModelServer, clients: Clients
) -> None:
    counted = use(input_tokens=1000, cached_tokens=800, output_tokens=70, reasoning_tokens=60)
    server.plan(say("ok") + counted)
    assert (await clients.ask(protocol, stream=stream)).usage == (1000, 800, 70, 60)


@each_way
@pytest.mark.parametrize("protocol", ["responses", "anthropic"])
async def test_thoughts_carry_what_their_maker_wants_back(
    protocol: Protocols, stream: bool, server: ModelServer, clients: Clients
) -> None:
    hidden = think("hidden", "secret", redacted=True)
    server.plan(think("first") + think("second", "mine") + hidden + say("ok"))
    heard = await clients.ask(protocol, stream=stream)
    assert heard.thoughts == "firstsecond"
    assert heard.payloads == ["mine", "secret"]
    server.plan(think("unsealed") + say("ok"))
    assert (await clients.ask(protocol, stream=stream)).payloads == [sign("unsealed")]


async def test_anthropic_reports_output_in_the_end_and_input_from_the_start(
    server: ModelServer, clients: Clients
) -> None:
    server.plan(say("one two three"))
    events = await clients.anthropic.messages.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True
    )
    counted: list[tuple[int | None, int]] = []
    async for event in events:
        if event.type == "message_start":
            usage = event.message.usage
            counted.append((usage.input_tokens, usage.output_tokens))
        elif event.type == "message_delta":
            counted.append((event.usage.input_tokens, event.usage.output_tokens))
    prompt = server.requests[0].cache.prompt_tokens
    assert counted == [(prompt, 1), (prompt, 3)]


async def test_chat_reports_usage_only_when_asked(server: ModelServer, clients: Clients) -> None:
    chunks = await clients.openai.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], stream=True
    )
    assert [chunk.usage for chunk in [each async for each in chunks]] == [None] * 3
