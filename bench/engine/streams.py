"""Many sessions that stream at once, in one process, each of them watched."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import NamedTuple

import aiohttp
import msgspec
import uvloop

from bench.engine.pacer import PACE, now
from bench.engine.rig import Rig, direct, ends, opened, paced, text_in
from bench.report import Figure, Target, at_most
from bench.timing import Samples
from roost.core.events import TextDelta
from roost.core.ids import MessageId, SessionId
from roost.core.messages import Message, TextPart
from roost.llm.base import Request

STREAMS = 500
SECONDS = 12
STARTING = 3.0
"""Streams begin one after the other over this time, as they do in life."""
MARGIN = 1.0
"""Between that and what is measured, and again before the first of them ends."""
DEADLINE = 240.0
TOKENS = round((STARTING + MARGIN + SECONDS + MARGIN) / PACE)
MODEL = f"paced-{TOKENS}"


class Run(NamedTuple):
    """While all streams speak: the share of a core, what was late by how much, and commits. `lost`
    are the tokens of the whole run that nobody was told."""

    share: float
    late: Samples
    commits: float
    lost: int
    most: int


def measure(folder: Path) -> list[Figure]:
    with paced() as url:
        asked = uvloop.run(_direct(url))
        turns = uvloop.run(_turns(folder, url))
    name = f"{STREAMS} sessions, {round(1 / PACE)} tokens/s each"
    against = "the same streams, read by the client alone"
    return [
        Figure(
            name=f"{name}: streaming at once",
            value=turns.most,
            unit="",
            target=Target("least", STREAMS, "value"),
            peer="3.4 turns/s of 20 sessions",
        ),
        Figure(
            name=f"{name}: token delay to a watcher, p99",
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
        Figure(
            name=f"{name}: share of a core",
            value=turns.share * 100,
            unit="%",
            limit=asked.share * 100,
            against=against,
            target=at_most(100),
        ),
        Figure(name=f"{name}: commits", value=turns.commits, unit="/s"),
        Figure(name=f"{name}: tokens lost", value=turns.lost, unit="", target=at_most(0)),
    ]


async def _direct(url: str) -> Run:
    question = Message(MessageId("msg_1"), "user", (TextPart("Speak."),))
    request = Request(model=MODEL, messages=(question,))
    async with direct(url) as model:

        async def stream(seen: Callable[[str], None]) -> None:
            async with model.stream(request) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        seen(event.text)

        return await together([stream] * STREAMS, url)


async def _turns(folder: Path, url: str) -> Run:
    async with opened(folder, url) as rig:
        sessions = [await rig.session(MODEL) for _ in range(STREAMS)]
        streams = [_watching(rig, session) for session in sessions]
        return await together(streams, url, commits=rig.commits)


Stream = Callable[[Callable[[str], None]], Coroutine[object, object, None]]


def _watching(rig: Rig, session: SessionId) -> Stream:
    async def stream(seen: Callable[[str], None]) -> None:
        async with rig.account.watch(session) as events:
            await rig.account.send(session, "Speak.")
            async for event in events:
                msgspec.json.encode(event)  # as whoever sends it on would
                seen(text_in(event))
                if ends(event):
                    return

    return stream


class _Watch:
    """Token delays, noted from when all streams speak until the first may end."""

    def __init__(self) -> None:
        self.tokens = 0
        self.late: list[float] = []
        self.noting = False

    def seen(self, text: str) -> None:
        arrived = now()
        sent = text.split()
        self.tokens += len(sent)
        if self.noting:
            self.late += [(arrived - int(each)) / 1e6 for each in sent]


async def together(
    streams: Iterable[Stream],
    url: str,
    *,
    used: Callable[[], float] = time.process_time,
    commits: Callable[[], int] = lambda: 0,
) -> Run:
    """`used` is the processor's time that counts, `url` is the pacer's."""
    watch = _Watch()
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as tasks:
        for stream in streams:
            tasks.create_task(stream(watch.seen))
            await asyncio.sleep(STARTING / STREAMS)
        await asyncio.sleep(MARGIN)
        watch.noting = True
        before, started, committed = used(), time.perf_counter(), commits()
        await asyncio.sleep(SECONDS)
        spent, passed = used() - before, time.perf_counter() - started
        committed = commits() - committed
        watch.noting = False
    return Run(
        share=spent / passed,
        late=Samples(watch.late),
        commits=committed / passed,
        lost=STREAMS * TOKENS - watch.tokens,
        most=await _most(url),
    )


async def _most(url: str) -> int:
    async with aiohttp.ClientSession() as held, held.get(f"{url}/most") as response:
        return int(await response.text())
