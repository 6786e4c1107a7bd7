"""CPU time per streamed token, ours and that of the vendors' packages, chunks back to back."""

import statistics
import time
from collections.abc import Awaitable, Callable
from functools import partial

import aiohttp
import anthropic
import openai
import uvloop

from bench.models.rig import QUESTION, client, connections, read_bare, server
from bench.report import Figure, Target, at_most, times_at_most
from roost.core.settings import WireName

TOKENS = 10_000
ROUNDS = 3
BACK_TO_BACK = 1e-9
NAMES: dict[WireName, str] = {
    "openai-chat": "chat",
    "openai-responses": "responses",
    "anthropic": "messages",
}


def measure() -> list[Figure]:
    """Against the packages, each token is a chunk, and every client is the slower side: it reads
    hundreds at a time. A bare reader would keep up and wake for each, so it is compared where the
    whole answer is one chunk, and both read it in a few pieces."""
    with server(TOKENS, BACK_TO_BACK) as url:
        figures = uvloop.run(_against_packages(url))
    with server(TOKENS, 0) as url:
        return figures + uvloop.run(_against_reading(url))


async def _against_packages(url: str) -> list[Figure]:
    async with connections() as held:
        ours = {wire: await _cost(partial(_ours, held, url, wire)) for wire in NAMES}
    async with openai.AsyncOpenAI(api_key="-", base_url=f"{url}/v1") as package:
        chat = await _cost(lambda: _openai_chat(package))
        responses = await _cost(lambda: _openai_responses(package))
    async with anthropic.AsyncAnthropic(api_key="-", base_url=url) as other:
        messages = await _cost(lambda: _anthropic(other))
    least = times_at_most(1 / 8)
    return [
        *[_figure(f"{NAMES[wire]}, CPU per token", ours[wire], at_most(25)) for wire in NAMES],
        _figure("chat", ours["openai-chat"], least, chat, "the openai package"),
        _figure("responses", ours["openai-responses"], least, responses, "the openai package"),
        _figure("messages", ours["anthropic"], None, messages, "the anthropic package"),
    ]


async def _against_reading(url: str) -> list[Figure]:
    figures: list[Figure] = []
    async with connections() as held:
        for wire, name in NAMES.items():
            bare = await _cost(partial(read_bare, held, url, wire))
            ours = await _cost(partial(_ours, held, url, wire))
            title = f"{name} in one chunk, CPU per token"
            figures.append(_figure(title, ours, None, bare, "reading the same bytes"))
    return figures


async def _cost(stream: Callable[[], Awaitable[object]]) -> float:
    """Microseconds of CPU per token: the middle of several rounds, after one to warm up."""
    await stream()
    rounds: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        await stream()
        rounds.append((time.process_time() - started) / TOKENS * 1e6)
    return statistics.median(rounds)


async def _ours(held: aiohttp.ClientSession, url: str, wire: WireName) -> None:
    count = 0
    async with client(held, url, wire).stream(QUESTION) as events:
        async for _ in events:
            count += 1
    assert count >= TOKENS


async def _openai_chat(package: openai.AsyncOpenAI) -> None:
    count = 0
    chunks = await package.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Hello."}],
        stream=True,
        stream_options={"include_usage": True},
    )
    async for _ in chunks:
        count += 1
    assert count >= TOKENS


async def _openai_responses(package: openai.AsyncOpenAI) -> None:
    count = 0
    async for _ in await package.responses.create(model="m", input="Hello.", stream=True):
        count += 1
    assert count >= TOKENS


async def _anthropic(package: anthropic.AsyncAnthropic) -> None:
    count = 0
    events = await package.messages.create(
        model="m",
        max_tokens=99,
        messages=[{"role": "user", "content": "Hello."}],
        stream=True,
    )
    async for _ in events:
        count += 1
    assert count >= TOKENS


def _figure(
    name: str, value: float, target: Target | None, limit: float | None = None, against: str = ""
) -> Figure:
    return Figure(name=name, value=value, unit="us", limit=limit, against=against, target=target)
