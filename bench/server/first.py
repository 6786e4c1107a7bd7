"""The first token of an answer: of the model alone, and of the whole way over the server."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.engine.rig import scripted
from bench.report import Figure, at_most
from bench.server.client import WORDS, Client, Model, Seen, client_of, model_at
from bench.server.process import Server, started
from bench.timing import Samples
from roost.core.ids import SessionId
from roost.testing.models.script import Say, Script

HISTORY = 200
SESSIONS = 6
TURNS = 20
WARM = 5

_ANSWER = " word" * 50


class _Pairs:
    """Turns and the requests they make, timed by turns, so that a busy machine slows both."""

    def __init__(self) -> None:
        self.turns: list[float] = []
        self.asked: list[float] = []

    @property
    def added(self) -> Samples:
        pairs = zip(self.turns, self.asked, strict=True)
        return Samples([turn - asked for turn, asked in pairs])

    @property
    def undisturbed(self) -> float:
        """What it takes by itself, as far as that shows on a machine that others use."""
        return Samples(self.turns).at(0.1) - Samples(self.asked).at(0.1)


def measure(folder: Path) -> list[Figure]:
    script = Script(otherwise=Say(text=_ANSWER))
    with scripted(script) as url, started(folder, url) as server:
        pairs = uvloop.run(_measure(server, url))
    return [
        Figure(
            name=f"first token over HTTP, {HISTORY} messages: added to the model's time, p50",
            value=pairs.added.p50,
            unit="ms",
            limit=Samples(pairs.asked).p50,
            against="the same bytes, sent to the model directly",
            target=at_most(6),
            peer="176 ms",
        ),
        Figure(name="the same, by the quickest tenth of each", value=pairs.undisturbed, unit="ms"),
        Figure(name="the same, p95", value=pairs.added.p95, unit="ms"),
    ]


async def _measure(server: Server, url: str) -> _Pairs:
    pairs = _Pairs()
    async with client_of(server) as client, model_at(url) as model:
        for session in await _sessions(client):
            await _compare(client, session, model, pairs)
    return pairs


async def _sessions(client: Client) -> list[SessionId]:
    """Sessions with a history: the first one talks, and the others are its branches."""
    first = await client.session("plain")
    async with client.watch(first) as events:
        for _ in range(HISTORY // 2):
            await client.say(first, events)
    return [first, *[await client.branch(first) for _ in range(SESSIONS - 1)]]


async def _compare(client: Client, session: SessionId, model: Model, pairs: _Pairs) -> None:
    async with client.watch(session) as events:
        await client.say(session, events)
        asked: dict[str, Any] = msgspec.json.decode(await model.last_asked())
        for number in range(-WARM, TURNS):
            asked["messages"] += [_message("assistant", _ANSWER), _message("user", WORDS)]
            turn = await _turn(client, session, events)
            directly = await _ask(model, msgspec.json.encode(asked))
            if number >= 0:
                pairs.turns.append(turn)
                pairs.asked.append(directly)


def _message(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


async def _turn(client: Client, session: SessionId, events: AsyncIterator[Seen]) -> float:
    """Watched to its end, so that nothing of it runs when the model is asked directly."""
    first = 0.0
    started = time.perf_counter()
    sending = asyncio.create_task(client.send(session))
    async for seen in events:
        if not first and seen.text:
            first = time.perf_counter() - started
        if seen.over:
            break
    await sending
    return first


async def _ask(model: Model, body: bytes) -> float:
    first = 0.0
    started = time.perf_counter()
    async for _ in model.texts(body):
        first = first or time.perf_counter() - started
    return first
