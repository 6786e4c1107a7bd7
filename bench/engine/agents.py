"""A live agent: how long building it takes, and what it holds while it waits."""

import asyncio
import gc
import tracemalloc
from pathlib import Path

import uvloop

from bench.engine.memory import resident
from bench.engine.rig import Rig, opened, paced
from bench.report import Figure, at_most
from bench.timing import Samples
from roost.core.ids import SessionId

HISTORY = 200
BUILDS = 100
IDLE = 1000
TOGETHER = 20
MODEL = "quick-50"


def measure(folder: Path) -> list[Figure]:
    with paced() as url:
        return uvloop.run(_measure(folder, url))


async def _measure(folder: Path, url: str) -> list[Figure]:
    async with opened(folder, url, agents=IDLE + TOGETHER) as rig:
        return await _built(rig) + await _idle(rig)


async def _built(rig: Rig) -> list[Figure]:
    session = await rig.session(MODEL)
    for _ in range(HISTORY // 2):
        await rig.say(session)
    builder, store = rig.parts.builder, rig.parts.store.of(rig.user)
    found = await store.sessions.get(session)
    builds, loads = Samples(), Samples()
    for _ in range(BUILDS):
        plan = builder.plan(found)
        await builds.wait(builder.build(plan, rig.user, session, found.token))
        await loads.wait(store.history.load(session))
    rig.parts.agents.drop(session)
    return [
        Figure(
            name=f"building an agent with {HISTORY} messages, p50",
            value=builds.p50,
            unit="ms",
            limit=loads.p50,
            against="reading its messages",
            target=at_most(5),
            peer="300 ms",
        )
    ]


async def _idle(rig: Rig) -> list[Figure]:
    """Agents that have had a turn. Those that are dropped give back what they held."""
    for session in await _talk(rig, TOGETHER):
        rig.parts.agents.drop(session)
    tracemalloc.start()
    before = resident()
    sessions = await _talk(rig, IDLE)
    after = resident()
    held = _allocated()
    assert rig.parts.agents.counts.live == IDLE
    for session in sessions:
        rig.parts.agents.drop(session)
    await asyncio.sleep(0.1)
    held -= _allocated()
    alone = await _messages(rig, sessions)
    tracemalloc.stop()
    return [
        Figure(
            name=f"an idle agent of {IDLE:,}, beyond its messages",
            value=(held - alone) / IDLE / 1e3,
            unit="KB",
            limit=alone / IDLE / 1e3,
            against="its two messages",
            target=at_most(100),
            peer="2 MiB",
        ),
        Figure(
            name="the same by the process's size, with all that the turns left",
            value=(after - before) / IDLE / 1e3,
            unit="KB",
        ),
    ]


async def _talk(rig: Rig, number: int) -> list[SessionId]:
    sessions = [await rig.session(MODEL) for _ in range(number)]
    for at in range(0, number, TOGETHER):
        await asyncio.gather(*[rig.say(session) for session in sessions[at : at + TOGETHER]])
    return sessions


async def _messages(rig: Rig, sessions: list[SessionId]) -> int:
    """What the messages take by themselves."""
    store = rig.parts.store.of(rig.user)
    before = _allocated()
    found = [list((await store.history.load(session)).messages) for session in sessions]
    taken = _allocated() - before
    assert len(found) == IDLE
    return taken


def _allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
