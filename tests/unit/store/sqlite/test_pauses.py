"""An event loop that never rests leaves the store's threads time to work."""

import asyncio
import gc
import time
import weakref
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from roost.store.operations import Operation, query
from roost.store.sqlite.engine import SqliteEngine
from roost.store.sqlite.pauses import LOOK, PAUSE, Pauses
from tests.faults.engines import DEADLINE, Gate, asked, engine_in, put


async def burn(slice: float) -> None:
    while True:
        until = time.perf_counter() + slice
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(0)


def look() -> Operation[None]:
    for _ in range(5):
        yield query("secret_names", user="")


@pytest.mark.parametrize("slice", [0.002, 0.0002])
async def test_store_answers_beside_a_loop_that_never_rests(tmp_path: Path, slice: float) -> None:
    async with engine_in(tmp_path) as engine:
        burning = asyncio.create_task(burn(slice))
        try:
            async with asyncio.timeout(DEADLINE):
                for number in range(30):
                    await engine.write(put(f"{number}"))
                    await engine.read(look)
        finally:
            burning.cancel()


@pytest.mark.parametrize(("worked", "slept"), [(0.9, [PAUSE]), (0.1, [])], ids=["busy", "idle"])
def test_only_a_busy_loop_pauses(
    monkeypatch: pytest.MonkeyPatch, worked: float, slept: list[float]
) -> None:
    loop, pauses, sleeps = Mock(asyncio.AbstractEventLoop), Pauses(), list[float]()
    passed = 0.0
    clock = SimpleNamespace(
        perf_counter=lambda: passed, thread_time=lambda: passed * worked, sleep=sleeps.append
    )
    monkeypatch.setattr("roost.store.sqlite.pauses.time", clock)
    pauses.begin(loop)
    passed += LOOK
    _, look, *given = loop.call_later.call_args.args
    look(*given)
    assert sleeps == slept
    assert loop.call_later.call_count == 2, "somebody still waits"


async def test_loops_that_end_before_their_answers_are_let_go(tmp_path: Path) -> None:
    """As where every call to an embedded Roost has a loop of its own."""
    ended: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def leave(engine: SqliteEngine) -> None:
        ended.append(weakref.ref(asyncio.get_running_loop()))
        (task,) = await asked([engine.write(put("left"))])
        task.cancel()

    async def stay(engine: SqliteEngine) -> None:
        await engine.write(put("stayed"))

    async with engine_in(tmp_path) as engine:
        gate = Gate()
        holding = await gate.close(engine)
        await asyncio.to_thread(asyncio.run, leave(engine))
        gate.open()
        await holding
        await asyncio.to_thread(asyncio.run, stay(engine))
        gc.collect()
        assert [loop() for loop in ended] == [None]
