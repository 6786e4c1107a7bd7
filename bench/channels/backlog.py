"""10,000 messages that waited in 1,000 chats: how fast they are answered, and what that leaves."""

import asyncio
import logging
import sys
import time
from pathlib import Path

import aiohttp
import apsw
import msgspec
import structlog
import uvloop

from bench.channels.channel import NAME, OutsideChannel
from bench.channels.outside import MESSAGES, OVERALL, ROUTES, Seen
from bench.engine.memory import resident
from bench.report import Figure, at_most, times_at_most
from bench.serving import serving
from roost.core.config import ChannelConfig, Config, ModelsConfig, ProviderConfig
from roost.core.keys import Key
from roost.core.settings import BaseUrl
from roost.wiring import running

WARM = 4_000
"""Answers after which what is live is as large as it gets."""
LOOK = 2.0
"""Seconds between two looks at what is in memory, which cost some themselves."""
LONGEST = 600.0


class Sample(msgspec.Struct, frozen=True):
    seconds: float
    answered: int
    memory: int


def measure(folder: Path) -> list[Figure]:
    quiet = structlog.make_filtering_bound_logger(logging.ERROR)
    structlog.configure(
        wrapper_class=quiet, logger_factory=structlog.PrintLoggerFactory(sys.stderr)
    )
    with serving("bench.channels.outside") as url:
        return uvloop.run(_measure(folder, url))


def _config(folder: Path, url: str) -> Config:
    provider = ProviderConfig(
        vendor="compatible", base_url=BaseUrl(f"{url}/v1"), models=("model", "small")
    )
    people = tuple([str(chat) for chat in range(ROUTES)])
    return Config(
        data=folder,
        models=ModelsConfig(default="outside/model", small="outside/small"),
        providers={"outside": provider},
        channels={NAME: ChannelConfig(allow=people, options={"url": Key(url)})},
    )


async def _measure(folder: Path, url: str) -> list[Figure]:
    before = resident()
    began, used = time.perf_counter(), time.process_time()
    samples: list[Sample] = []
    async with (
        aiohttp.ClientSession() as session,
        running(_config(folder, url), {}, {}, channels={NAME: OutsideChannel}),
    ):
        async with asyncio.timeout(LONGEST):
            while not samples or samples[-1].answered < MESSAGES:
                await asyncio.sleep(LOOK)
                answered = (await _seen(session, url)).answered
                samples.append(Sample(time.perf_counter() - began, answered, resident()))
        used = time.process_time() - used
        seen, pages = await _seen(session, url), apsw.memory_used()
        return _figures(before, samples, seen, used, pages)


async def _seen(session: aiohttp.ClientSession, url: str) -> Seen:
    async with session.get(f"{url}/seen") as response:
        return msgspec.json.decode(await response.read(), type=Seen)


def _figures(
    before: int, samples: list[Sample], seen: Seen, used: float, pages: int
) -> list[Figure]:
    warm = next(each for each in samples if each.answered >= WARM)
    last, later = samples[-1], [each.memory for each in samples if each.answered >= WARM]
    what = f"{MESSAGES:,} messages in {ROUTES:,} chats"
    return [
        Figure(
            name=f"{what}, answered",
            value=last.answered / last.seconds,
            unit="/s",
            limit=OVERALL[0] / OVERALL[1],
            against="what the platform takes",
        ),
        Figure(name="processor for each", value=used / MESSAGES * 1e3, unit="ms"),
        Figure(name="answers out of order", value=seen.wrong, unit="", target=at_most(0)),
        Figure(name="calls beyond the limits", value=seen.over, unit="", target=at_most(0)),
        Figure(name="memory before", value=before / 1e6, unit="MB"),
        Figure(
            name="memory at its peak",
            value=max(each.memory for each in samples) / 1e6,
            unit="MB",
        ),
        Figure(
            name=f"memory at its peak, after {WARM:,} answers",
            value=max(later) / 1e6,
            unit="MB",
            limit=warm.memory / 1e6,
            against=f"after {WARM:,}",
            target=times_at_most(1.1),
        ),
        Figure(name="memory after", value=last.memory / 1e6, unit="MB"),
        Figure(name="of that, SQLite", value=pages / 1e6, unit="MB"),
    ]
