"""Our clients and the vendors' own packages, asked the same, understand the same."""

import itertools
import random

import aiohttp
import pytest

from roost.core.errors import ContentRefused, NoAnswer
from roost.testing.models import (
    ModelServer,
    Quirk,
    Reply,
    call,
    finish,
    nothing,
    refuse,
    say,
    think,
    use,
)
from tests.unit.llm.asking import asking, events_of, question, timeless, understood
from tests.unit.testing.models.listening import PROTOCOLS, Clients, Heard, Protocols

# Anthropic's package can't read half of an input; test_anthropic_reply has ours.
UNREADABLE = ("anthropic", "length in a call")

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

# How the vendors name the ends that we name in one way.
FINISH = {
    "end_turn": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "max_output_tokens": "length",
}
USED = use(input_tokens=1000, cached_tokens=800, output_tokens=70, reasoning_tokens=60)
LONG = {"path": "a path that is long enough for several pieces ☃", "lines": [1, 2, {"n": None}]}

REPLIES: dict[str, Reply] = {
    "text": say("Hello wide world"),
    "text with odd spaces": say("  a\n\n b \n"),
    "text that is not ascii": say("Grüße, 世界 🐦 \u2028 \x00", size=1),
    "text of escapes": say('"quoted" \\ back/slash\tand\r\nlines'),
    "text at once": say("word " * 2000, size=0),
    "text in many tokens": say("word " * 2000),
    "text at a pace": say("one two three", pace=0.001),
    "thought": think("Let me see.") + say("4"),
    "thought with a payload": think("Let me", "c2VhbA==") + say("4"),
    "thoughts one after the other": think("One.", "a") + think("Two.", "b") + say("4"),
    "thought that is hidden": think("hidden", "c2VhbA==", redacted=True) + say("4"),
    "thought that is empty": think("", "c2VhbA==") + say("4"),
    "thoughts of every kind": think("a", "x") + think("b", "y", redacted=True) + think("c", "z"),
    "thoughts between calls": think("a", "x") + call("f") + think("b", "y") + call("g", LONG),
    "call": call("read", LONG, id="mine"),
    "call at once": call("read", LONG, size=0),
    "call letter by letter": call("read", LONG, size=1),
    "call without arguments": call("now"),
    "parallel calls": say("I look.") + call("a", {"x": 1}) + call("b") + call("a", LONG, size=3),
    "text after a call": call("a") + say("Then."),
    "length": say("cut") + finish("length"),
    "length in a call": call("read", '{"path": "a', id="mine") + finish("length"),
    "reported usage": say("ok") + USED,
    "nothing": nothing(),
    "only a thought": think("Hm.", "x"),
    "refusal": refuse("No, sorry."),
    "refusal in the middle": say("Well, ") + refuse("no, sorry."),
    "filter": say("Well") + refuse(filtered=True),
}


async def compare(
    protocol: Protocols,
    reply: Reply,
    server: ModelServer,
    vendors: Clients,
    connections: aiohttp.ClientSession,
) -> None:
    # Usage of the script's own: what is counted depends on how each client words its question.
    reply = USED + reply
    server.plan(reply, reply)
    theirs = timeless(await vendors.ask(protocol))
    asked = events_of(asking(connections, server, protocol), question())
    if theirs.refusal or theirs.finish in ("content_filter", "refusal"):
        with pytest.raises(ContentRefused) as refused:
            await asked
        assert theirs.refusal in str(refused.value)
    elif not theirs.text and not theirs.calls:
        with pytest.raises(NoAnswer):
            await asked
    else:
        assert timeless(understood(await asked)) == _in_our_words(theirs, protocol)


def _in_our_words(theirs: Heard, protocol: Protocols) -> Heard:
    theirs.finish = FINISH.get(theirs.finish or "", theirs.finish)
    if protocol != "chat" and theirs.calls and theirs.finish == "stop":
        theirs.finish = "tool_calls"
    return theirs


@pytest.mark.parametrize(
    ("protocol", "name"),
    [each for each in itertools.product(PROTOCOLS, REPLIES) if each != UNREADABLE],
)
async def test_we_hear_what_the_vendors_package_hears(
    protocol: Protocols,
    name: str,
    server: ModelServer,
    vendors: Clients,
    connections: aiohttp.ClientSession,
) -> None:
    await compare(protocol, REPLIES[name], server, vendors, connections)


@each_protocol
async def test_we_hear_the_same_however_pieces_and_bytes_fall(
    protocol: Protocols,
    server: ModelServer,
    vendors: Clients,
    connections: aiohttp.ClientSession,
) -> None:
    choose = random.Random(protocol)  # noqa: S311 - the same choices every time
    for seed in range(25):
        reply = nothing()
        for at in range(choose.randint(1, 6)):
            reply += _piece(choose, at)
        if choose.random() < 0.2:
            reply += finish("length")
        reply = reply.split(seed=seed) if choose.random() < 0.7 else reply
        framing: tuple[Quirk, ...] = choose.choice([(), (), ("crlf",), ("crlf", "keep_alive")])
        await compare(protocol, reply.quirky(*framing), server, vendors, connections)


def _piece(choose: random.Random, at: int) -> Reply:
    size = choose.choice([0, 1, 3, 20])
    text = choose.choice(["Hm. ", "a b c", "Grüße 🐦 世界", "\n\n"])
    match choose.randrange(5):
        case 0 | 1:
            return say(text, size=size)
        case 2:
            return think(text, f"seal{at}", redacted=choose.random() < 0.3, size=size)
        case _:
            arguments = choose.choice([{}, {"x": text}, LONG])
            return call(f"tool{at}", arguments, id=f"id{at}", size=size)
