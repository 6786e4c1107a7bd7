"""Over a conversation that grows, what was sent before is sent again byte for byte."""

from collections.abc import Iterator
from itertools import count, pairwise

import aiohttp
import pytest

from roost.core.messages import ContextPart, Message, TextPart, ToolCallPart, ToolResultPart
from roost.llm.base import Effort, Finished, Request
from roost.testing.models import ModelServer, Reply, call, finish, say, think
from tests.unit.llm.asking import asking, events_of, message
from tests.unit.llm.conversations import BLOBS, IMAGE, SYSTEM, TOOLS
from tests.unit.testing.models.listening import Protocols

STEPS = 24
EFFORTS: list[Effort | None] = ["low", None, "high", "off", "medium"]
MARK = b',"cache_control":{"type":"ephemeral"}'

KINDS: dict[str, tuple[Protocols, dict[str, object]]] = {
    "chat": ("chat", {}),
    "chat with marks": (
        "chat",
        {"cache": "breakpoints", "reasoning_back": "reasoning_details", "effort": "reasoning"},
    ),
    "chat with thoughts": ("chat", {"reasoning_back": "reasoning_content"}),
    "chat with short ids": ("chat", {"call_ids": "nine"}),
    "responses": ("responses", {}),
    "anthropic": ("anthropic", {}),
    "anthropic with effort": ("anthropic", {"effort": "output_effort", "effort_off": "disabled"}),
}


def replies() -> Iterator[Reply]:
    """Answers of every kind, over and over."""
    for at in count():
        yield think(f"Step {at}.", f"seal{at}") + call("read", {"path": f"{at}.txt"}) + call("now")
        yield think("Shown", f"s{at}") + think("hidden", f"r{at}", redacted=True) + call("now")
        yield call("read", '{"path": broken') + finish("length")
        yield think("No seal on this one.") + say(f'Done with "{at}".\n')
        yield say("  Only\ttext, Grüße 🐦 ") + think("An afterthought.", f"late{at}")


def following(answer: Message) -> tuple[Message, ...]:
    """What comes after an answer: a result for each call, apart or together, or the user."""
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    if not calls:
        asked = message("user", ContextPart("time", "10:00"), TextPart("And this?"), IMAGE)
        return (message("note", TextPart("A day has passed.")), asked)
    shown = ToolResultPart(calls[0].call, (TextPart("Seen:"), IMAGE))
    failed = [ToolResultPart(each.call, (TextPart("no"),), error=True) for each in calls[1:]]
    return (message("tool", shown), *[message("tool", each) for each in failed])


def prompt(body: bytes) -> bytes:
    """Tools, system prompt and messages as they were sent, cache marks apart, without the end."""
    return body[body.index(b'"tools":') :].replace(MARK, b"").removesuffix(b"]}")


@pytest.mark.parametrize("kind", KINDS)
async def test_each_prompt_begins_with_the_one_before(
    kind: str, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    protocol, changes = KINDS[kind]
    client = asking(connections, server, protocol, changes)
    answers = replies()
    history: tuple[Message, ...] = (message("user", TextPart("What is this?"), IMAGE),)
    for step in range(STEPS):
        reply = next(answers)
        server.plan(reply.quirky("reasoning_details") if "marks" in kind else reply)
        *_, finished = await events_of(
            client,
            Request(
                model="heron",
                messages=history,
                system=SYSTEM,
                tools=TOOLS,
                effort=EFFORTS[step % len(EFFORTS)],
                max_output_tokens=30_000 + step,
                blobs=BLOBS,
            ),
        )
        assert isinstance(finished, Finished)
        answer = message("assistant", *finished.parts)
        history += (answer, *following(answer))
    _check_prefixes(server)
    assert [request.cache.complete for request in server.requests] == [False, *[True] * (STEPS - 1)]
    efforts = {request.body[: request.body.index(b'"tools":')] for request in server.requests}
    assert len(efforts) == STEPS, "the test itself: something before the prompt was to differ"


def _check_prefixes(server: ModelServer) -> None:
    prompts = [prompt(request.body) for request in server.requests]
    assert len(prompts) == STEPS
    for earlier, later in pairwise(prompts):
        assert later.startswith(earlier)
        assert len(later) > len(earlier)


@pytest.mark.parametrize("kind", ["chat with marks", "anthropic"])
async def test_marks_are_few_and_move_with_the_end(
    kind: str, server: ModelServer, connections: aiohttp.ClientSession
) -> None:
    protocol, changes = KINDS[kind]
    client = asking(connections, server, protocol, changes)
    history: tuple[Message, ...] = ()
    for text in ("one", "two", "three"):
        history += (message("user", TextPart(text)),)
        request = Request(model="heron", messages=history, system=SYSTEM, tools=TOOLS)
        await events_of(client, request)
        history += (message("assistant", TextPart(f"{text} it is")),)
    last = server.requests[-1].body
    for marked in (SYSTEM.partition("\n")[2], "two", "three"):
        assert marked.encode() + b'"' + MARK in last
    assert b'one"' + MARK not in last
    assert last.count(MARK) == (4 if protocol == "anthropic" else 3)
