"""An event loop that never rests leaves the store's threads time to work."""

import asyncio
import time
from pathlib import Path

import pytest

from roost.store.operations import Operation, query
from tests.faults.engines import DEADLINE, engine_in, put


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
