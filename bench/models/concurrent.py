"""Many streams at the pace of a model, all on one core."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import aiohttp
import openai
import uvloop

from bench.models.rig import QUESTION, client, connections, read_bare, server
from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.events import TextDelta

STREAMS = 500
PACE = 0.05
SECONDS = 15
TOKENS = round(SECONDS / PACE)
STARTING = 2.0
"""Streams begin one after the other over this time, as they do in life."""


FEW = 100
"""So many that the openai package can follow on one core as well."""


class Run(NamedTuple):
    share: float
    each: float
    """CPU per token, in microseconds: here each comes alone, and wakes the client."""
    late: Samples


def measure() -> list[Figure]:
    with server(TOKENS, PACE) as url:
        bare = uvloop.run(_run(STREAMS, lambda held: _discarded(held, url)))
        ours = uvloop.run(_run(STREAMS, lambda held: _arrivals(held, url)))
        few = uvloop.run(_run(FEW, lambda held: _arrivals(held, url)))
        theirs = uvloop.run(_against_package(url))
    name = f"{STREAMS} streams, {round(1 / PACE)} tokens/s each"
    return [
        Figure(
            name=f"{name}: share of a core",
            value=ours.share * 100,
            unit="%",
            limit=bare.share * 100,
            against="reading the same bytes",
            target=at_most(100),
        ),
        # The server's own delays are in these.
        Figure(
            name=f"{name}: p99 behind the pace",
            value=ours.late.p99,
            unit="ms",
            target=at_most(PACE * 1000),
        ),
        Figure(name=f"{name}: furthest behind", value=ours.late.at(1), unit="ms"),
        Figure(
            name=f"{name}: CPU per token, each alone",
            value=ours.each,
            unit="us",
            limit=bare.each,
            against="reading the same bytes",
        ),
        Figure(
            name=f"{FEW} such streams: CPU per token, each alone",
            value=few.each,
            unit="us",
            limit=theirs.each,
            against="the openai package",
        ),
    ]


async def _run(
    streams: int, stream: Callable[[aiohttp.ClientSession], Awaitable[list[float]]]
) -> Run:
    async with connections() as held:
        return await _together(streams, lambda: stream(held))


async def _against_package(url: str) -> Run:
    async with openai.AsyncOpenAI(api_key="-", base_url=f"{url}/v1") as package:
        return await _together(FEW, lambda: _theirs(package))


async def _together(streams: int, stream: Callable[[], Awaitable[list[float]]]) -> Run:
    async def begin(number: int) -> list[float]:
        await asyncio.sleep(STARTING * number / streams)
        return await stream()

    used, started = time.process_time(), time.perf_counter()
    arrivals = await asyncio.gather(*[begin(number) for number in range(streams)])
    used, passed = time.process_time() - used, time.perf_counter() - started
    late = Samples([late for each in arrivals for late in _lateness(each)])
    return Run(used / passed, used / (streams * TOKENS) * 1e6, late)


def _lateness(arrivals: list[float]) -> list[float]:
    """How far each token was behind its place in a row that begins when the quickest one says."""
    starts = [at - number * PACE for number, at in enumerate(arrivals)]
    first = min(starts, default=0.0)
    return [start - first for start in starts]


async def _arrivals(held: aiohttp.ClientSession, url: str) -> list[float]:
    arrivals: list[float] = []
    async with client(held, url, "openai-chat").stream(QUESTION) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                arrivals.append(time.perf_counter())  # noqa: PERF401 - at that moment
    assert len(arrivals) == TOKENS
    return arrivals


async def _discarded(held: aiohttp.ClientSession, url: str) -> list[float]:
    await read_bare(held, url, "openai-chat")
    return []


async def _theirs(package: openai.AsyncOpenAI) -> list[float]:
    chunks = await package.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Hello."}], stream=True
    )
    return [time.perf_counter() async for chunk in chunks if chunk.choices[0].delta.content]
