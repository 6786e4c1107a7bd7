"""Servers that are nearly compatible, byte by byte."""

import aiohttp
import pytest

from roost.testing.models import ModelServer, Quirk, Reply, call, raw, say, think
from tests.unit.testing.models.listening import Clients

BODY: dict[str, object] = {
    "model": "m",
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "hi"}],
}


async def received(server: ModelServer, reply: Reply) -> bytes:
    server.plan(reply)
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.openai_url}/chat/completions", json=BODY) as response,
    ):
        assert response.status == 200
        return await response.read()


CALLS = call("a", {"x": 1}) + call("b", {"y": 2})

CASES: list[tuple[Quirk, Reply, list[bytes], list[bytes]]] = [
    ("no_usage", say("hi"), [], [b'"usage"']),
    ("usage_on_finish", say("hi"), [b'"finish_reason":"stop"}],"usage":{'], [b'"choices":[],']),
    ("no_index", CALLS, [b'"tool_calls":[{"id":'], [b'"tool_calls":[{"index"']),
    ("index_zero", CALLS, [b'"tool_calls":[{"index":0'], [b'"tool_calls":[{"index":1']),
    ("no_call_ids", CALLS, [b'{"index":1,"type":"function"'], [b'"id":"call_']),
    ("reasoning", think("hm") + say("hi"), [b'{"reasoning":"hm"}'], [b"reasoning_content"]),
    ("reasoning_details", think("hm", "seal") + say("hi"), [b'"signature":"seal"'], []),
    ("no_finish_reason", say("hi"), [b"[DONE]"], [b'"stop"']),
    ("no_done", say("hi"), [b'"stop"'], [b"[DONE]"]),
    ("keep_alive", say("hi"), [b": keep-alive\n\ndata: "], []),
    ("crlf", say("hi"), [b"data: [DONE]\r\n\r\n"], [b"\n\n", b"\r\r"]),
]


@pytest.mark.parametrize(("quirk", "reply", "there", "missing"), CASES, ids=[c[0] for c in CASES])
async def test_quirk_shows_in_the_bytes(
    quirk: Quirk, reply: Reply, there: list[bytes], missing: list[bytes], server: ModelServer
) -> None:
    stream = await received(server, reply.quirky(quirk))
    plain = await received(server, reply)
    assert all(each in stream for each in there), stream
    assert not any(each in stream for each in missing), stream
    assert all(each in plain for each in missing if each not in (b"\n\n", b"\r\r"))


async def test_last_line_may_lack_its_end(server: ModelServer) -> None:
    assert (await received(server, say("hi").quirky("no_final_newline"))).endswith(b"[DONE]")


async def test_quirks_of_the_server_are_those_of_every_reply() -> None:
    async with ModelServer(quirks=["no_done"]) as server:
        for _ in range(2):
            assert b"[DONE]" not in await received(server, say("hi"))


async def test_splitting_changes_no_byte(server: ModelServer) -> None:
    reply = (think("hm") + say("Grüße an alle", size=2) + CALLS).quirky("no_usage")
    plain = await received(server, reply)
    for split in (reply.split(1), reply.split(3, 50, 7), reply.split(seed=5)):
        current = f"{len(server.requests):06}".encode()
        again = await received(server, split)
        assert _timeless(again.replace(current, b"000000")) == _timeless(plain)


def _timeless(stream: bytes) -> list[bytes]:
    return [part for part in stream.split(b",") if not part.startswith(b'"created"')]


async def test_raw_bytes_are_the_whole_answer(server: ModelServer) -> None:
    assert await received(server, raw(b"\xff\x00garbage")) == b"\xff\x00garbage"


async def test_raw_bytes_within_a_stream_stay_where_they_are(server: ModelServer) -> None:
    stream = await received(server, say("one") + raw(": noise\n\n") + say(" two"))
    assert stream.index(b'"one"') < stream.index(b": noise\n\n") < stream.index(b'" two"')


async def test_raw_answer_has_its_own_status_and_type(server: ModelServer) -> None:
    server.plan(raw("<h1>Bad gateway</h1>", status=502, content_type="text/html"))
    url = f"{server.openai_url}/chat/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=BODY) as response:
        assert (response.status, response.content_type) == (502, "text/html")
        assert await response.text() == "<h1>Bad gateway</h1>"


async def test_vendors_package_survives_the_framing_quirks(
    server: ModelServer, clients: Clients
) -> None:
    framed = say("still fine").quirky("crlf", "keep_alive").split(seed=1)
    server.plan(framed.quirky("no_final_newline"), framed, framed)
    assert (await clients.ask("chat")).text == "still fine"
    assert (await clients.ask("responses")).text == "still fine"
    assert (await clients.ask("anthropic")).text == "still fine"
