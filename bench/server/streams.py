"""Many sessions that stream at once to clients of the server."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import uvloop

from bench.engine.pacer import PACE
from bench.engine.rig import paced
from bench.engine.streams import MODEL, STREAMS, Run, Stream, together
from bench.report import Figure, at_most
from bench.server.client import Client, client_of, model_at
from bench.server.process import Server, started
from roost.core.ids import SessionId

_QUESTION = msgspec.json.encode(
    {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Speak."}]}
)


def measure(folder: Path) -> list[Figure]:
    with paced() as url:
        asked = uvloop.run(_direct(url))
        with started(folder, url) as server:
            idle = server.memory()
            turns = uvloop.run(_turns(server, url))
            held, share = server.memory(), server.memory("Pss")
    name = f"{STREAMS} streams over HTTP, {round(1 / PACE)} tokens/s each"
    against = "the same streams, read from the model directly"
    return [
        Figure(
            name=f"{name}: token delay, p99",
            value=turns.late.p99,
            unit="ms",
            limit=asked.late.p99,
            against=against,
            target=at_most(500),
        ),
        Figure(
            name=f"{name}: token delay, p50",
            value=turns.late.p50,
            unit="ms",
            limit=asked.late.p50,
            against=against,
        ),
        Figure(name=f"{name}: longest delay", value=turns.late.at(1), unit="ms"),
        Figure(name=f"{name}: share of a core, the server", value=turns.share * 100, unit="%"),
        Figure(name=f"{name}: tokens lost", value=turns.lost, unit="", target=at_most(0)),
        Figure(
            name=f"{name}: resident afterwards",
            value=held,
            unit="MB",
            limit=idle,
            against="the same server before",
        ),
        Figure(name="the same, its share of what it shares (PSS)", value=share, unit="MB"),
    ]


async def _direct(url: str) -> Run:
    async with model_at(url) as model:

        async def stream(seen: Callable[[str], None]) -> None:
            async for text in model.texts(_QUESTION):
                seen(text)

        return await together([stream] * STREAMS, url)


async def _turns(server: Server, url: str) -> Run:
    async with client_of(server) as client:
        sessions = [await client.session(MODEL) for _ in range(STREAMS)]
        streams = [_watching(client, session) for session in sessions]
        return await together(streams, url, used=server.used)


def _watching(client: Client, session: SessionId) -> Stream:
    async def stream(seen: Callable[[str], None]) -> None:
        async with client.watch(session) as events:
            await client.send(session, "Speak.")
            async for each in events:
                seen(each.text)
                if each.over:
                    return

    return stream
