"""What a turn costs beside its model: the same requests made by an agent, and made directly."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal, NamedTuple

import uvloop

from bench.engine.rig import WORDS, Rig, direct, ends, opened, scripted, text_in
from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.events import SessionEvent, TextDelta
from roost.core.ids import SessionId
from roost.llm.base import LLMClient, Request
from roost.testing.models.script import Call, Reply, Say, Script

TOKENS = 50
HISTORY = 200
SESSIONS = 6
TURNS = 20
"""In each session, after a few to warm up: its history grows to 240 messages meanwhile."""
WARM = 5

PLAIN, TOOLED = "plain", "tooled"
_SAY = Say(text=" word" * TOKENS)


def measure(folder: Path) -> list[Figure]:
    calls = (Reply((Call(name="nothing"),)), _SAY) * (2 * (TURNS + WARM))
    with scripted(Script(replies=calls, otherwise=_SAY, model=TOOLED)) as url:
        return uvloop.run(_measure(folder, url))


async def _measure(folder: Path, url: str) -> list[Figure]:
    async with opened(folder, url) as rig, direct(url) as model:
        plain = _Pair()
        for session in await _sessions(rig):
            await _compare(rig, session, model, plain, steps=1)
        tooled = _Pair()
        await _compare(rig, await rig.session(TOOLED), model, tooled, steps=2)
    server = "the same request, made directly"
    return [
        Figure(
            name=f"a turn of {TOKENS} tokens, {HISTORY} messages: added to the model's time, p50",
            value=plain.added("whole").p50,
            unit="ms",
            limit=plain.model("whole").p50,
            against=server,
            target=at_most(10),
            peer="128 to 300 ms",
        ),
        Figure(name="the same, p95", value=plain.added("whole").p95, unit="ms"),
        Figure(
            name="first token of it: added to the model's time, p50",
            value=plain.added("first").p50,
            unit="ms",
            limit=plain.model("first").p50,
            against=server,
            target=at_most(4),
        ),
        Figure(name="the same, p95", value=plain.added("first").p95, unit="ms"),
        Figure(
            name="a turn with one trivial tool call: added to the model's time, p50",
            value=tooled.added("whole").p50,
            unit="ms",
            limit=tooled.model("whole").p50,
            against="the same two requests, made directly",
            target=at_most(20),
        ),
    ]


class _Times(NamedTuple):
    """Seconds until the first token, and until the end."""

    first: float
    whole: float


class _Pair:
    """Turns and the requests they make, timed by turns, so that a busy machine slows both."""

    def __init__(self) -> None:
        self.turns: list[_Times] = []
        self.asked: list[_Times] = []

    def added(self, what: Literal["first", "whole"]) -> Samples:
        pairs = zip(_each(self.turns, what), _each(self.asked, what), strict=True)
        return Samples([turn - asked for turn, asked in pairs])

    def model(self, what: Literal["first", "whole"]) -> Samples:
        return Samples(_each(self.asked, what))


def _each(times: list[_Times], what: Literal["first", "whole"]) -> list[float]:
    return [each.first if what == "first" else each.whole for each in times]


async def _sessions(rig: Rig) -> list[SessionId]:
    """Sessions with a history: the first one talks, and the others are its branches."""
    first = await rig.session(PLAIN)
    for _ in range(HISTORY // 2):
        await rig.say(first)
    others = [await rig.account.branch(first) for _ in range(SESSIONS - 1)]
    return [first, *[session.id for session in others]]


async def _compare(
    rig: Rig, session: SessionId, model: LLMClient, pair: _Pair, *, steps: int
) -> None:
    async with rig.account.watch(session) as events:
        await anext(events)
        for number in range(-WARM, TURNS):
            turn = await _turn(rig, session, events)
            asked = await _ask(model, await rig.request(session), steps)
            if number >= 0:
                pair.turns.append(turn)
                pair.asked.append(asked)


async def _turn(rig: Rig, session: SessionId, events: AsyncIterator[SessionEvent]) -> _Times:
    """Until somebody who watches has seen it."""
    first = 0.0
    started = time.perf_counter()
    await rig.account.send(session, WORDS)
    async for event in events:
        if not first and text_in(event):
            first = time.perf_counter() - started
        if ends(event):
            break
    return _Times(first, time.perf_counter() - started)


async def _ask(model: LLMClient, request: Request, steps: int) -> _Times:
    first = 0.0
    started = time.perf_counter()
    for _ in range(steps):
        async with model.stream(request) as events:
            async for event in events:
                if not first and isinstance(event, TextDelta):
                    first = time.perf_counter() - started
    return _Times(first, time.perf_counter() - started)
