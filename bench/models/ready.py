"""How long a fresh interpreter takes until it could send its first request."""

import statistics
import subprocess
import sys
import time

from bench.report import Figure, at_most

ROUNDS = 7

# Nothing of bench is imported here: it would bring the vendors' packages along.
_OURS = """
import asyncio
import aiohttp
import roost.llm.providers, roost.llm.retry
from roost.core.ids import MessageId
from roost.core.messages import Message, TextPart
from roost.llm.base import Request
from roost.llm.client import WIRES, Endpoint, HttpClient
from roost.llm.profiles import profile_for

async def main():
    async with aiohttp.ClientSession() as held:
        HttpClient(held, Endpoint("openai", "http://127.0.0.1:9", {}), lambda _: profile)
        WIRES[profile.wire].encode(request, profile, "openai")

profile = profile_for("openai", "gpt-4o")
messages = (Message(MessageId("m"), "user", (TextPart("Hello."),)),)
request = Request(model="gpt-4o", messages=messages)

asyncio.run(main())
"""
_BARE = """
import asyncio, aiohttp, msgspec

async def main():
    async with aiohttp.ClientSession():
        msgspec.json.encode({})

asyncio.run(main())
"""


def measure() -> list[Figure]:
    ours, bare = [_seconds(script) for script in (_OURS, _BARE)]
    return [
        Figure(
            name="a fresh interpreter, to the first request",
            value=ours,
            unit="s",
            limit=bare,
            against="the same with aiohttp and msgspec alone",
            target=at_most(0.5),
        )
    ]


def _seconds(script: str) -> float:
    """The middle of several runs, after one that leaves the bytecode behind."""
    rounds: list[float] = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 - a script of ours
        rounds.append(time.perf_counter() - started)
    return statistics.median(rounds[1:])
