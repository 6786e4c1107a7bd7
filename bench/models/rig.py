"""A scripted server on a core of its own, and clients to ask it with."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec

from bench.serving import serving
from roost.core.ids import MessageId
from roost.core.messages import Message, TextPart
from roost.core.settings import WireName
from roost.llm.base import Request
from roost.llm.client import WIRES, Endpoint, HttpClient
from roost.llm.profiles import Profile
from roost.testing.models.script import Say, Script

QUESTION = Request(
    model="m", messages=(Message(MessageId("msg_1"), "user", (TextPart("Hello."),)),)
)
HEADERS = {"authorization": "Bearer -", "anthropic-version": "2023-06-01"}


@contextmanager
def server(words: int, pace: float) -> Generator[str]:
    """Answers everything with so many words, `pace` seconds apart and each a chunk of its own; with
    a pace of 0, all in one."""
    script = Script(otherwise=Say(text=" word" * words, pace=pace))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_bytes(msgspec.json.encode(script))
        with serving("roost.testing.models", "--script", str(path)) as url:
            yield url


def connections() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


def client(held: aiohttp.ClientSession, url: str, wire: WireName) -> HttpClient:
    profile = Profile(wire=wire)
    return HttpClient(held, Endpoint("bench", f"{url}/v1", HEADERS), lambda _: profile)


_BODIES: dict[WireName, bytes] = {
    wire: WIRES[wire].encode(QUESTION, Profile(wire=wire), "bench") for wire in WIRES
}


async def read_bare(held: aiohttp.ClientSession, url: str, wire: WireName) -> None:
    """The limit: the same bytes, read and thrown away."""
    address = f"{url}/v1{WIRES[wire].path}"
    headers = {**HEADERS, "content-type": "application/json"}
    async with held.post(address, data=_BODIES[wire], headers=headers) as response:
        while await response.content.readany():
            pass
