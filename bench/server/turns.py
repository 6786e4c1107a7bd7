"""Sessions that talk as fast as they can, over HTTP: how many turns there are in a second."""

import asyncio
import statistics
import time
from pathlib import Path

import uvloop

from bench.engine.rig import paced
from bench.report import Figure, Target
from bench.server.client import Client, client_of
from bench.server.process import Server, started

SESSIONS = 20
TURNS = 5
ROUNDS = 7
MODEL = "quick-50"


def measure(folder: Path) -> list[Figure]:
    with paced() as url, started(folder, url) as server:
        rates = uvloop.run(_measure(server))
    return [
        Figure(
            name=f"{SESSIONS} sessions at once, {TURNS} turns each, over HTTP",
            value=statistics.median(rates),
            unit="turns/s",
            target=Target("least", 100, "value"),
            peer="3.4 turns/s",
        ),
        Figure(name="the same, the slowest round", value=min(rates), unit="turns/s"),
    ]


async def _measure(server: Server) -> list[float]:
    """Each round has sessions of its own, after one to warm up."""
    async with client_of(server) as client:
        rates = [await _round(client) for _ in range(ROUNDS + 1)]
    return rates[1:]


async def _round(client: Client) -> float:
    """Opening the sessions and the streams counts, as someone who begins would see it."""
    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(SESSIONS):
            tasks.create_task(_talk(client))
    return SESSIONS * TURNS / (time.perf_counter() - began)


async def _talk(client: Client) -> None:
    session = await client.session(MODEL)
    async with client.watch(session) as events:
        for _ in range(TURNS):
            await client.say(session, events)
