"""Background work on a store in PostgreSQL: a slice at a time, while its users come first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from roost.store.operations import Operation

log = structlog.get_logger()

QUIET = 0.1
"""Seconds for which writes are let come together before background work follows them: looking
whether there is any costs as much as a write."""

REST = 60.0
"""Seconds after which it is looked at again where nobody writes: some becomes due by the clock."""

RETRY = 5.0
"""Seconds for which all of it is left alone after a piece failed."""

SHARE = 0.2
"""How much of the time it takes at most, on one connection of several."""

Slice = Callable[[], Operation[bool]]
Round = Callable[[], Operation[list[Slice]]]


class Chores:
    """`slices` say whether more is left; `run` does one of each in a transaction, and gives back
    those with more to do."""

    def __init__(
        self, slices: Sequence[Slice], run: Callable[[Round], Awaitable[list[Slice]]]
    ) -> None:
        self._slices = slices
        self._run = run
        self._wrote = asyncio.Event()

    def wake(self) -> None:
        self._wrote.set()

    async def go_on(self) -> None:
        while True:
            try:
                async with asyncio.timeout(REST):
                    await self._wrote.wait()
                await asyncio.sleep(QUIET)
            except TimeoutError:
                pass
            self._wrote.clear()
            try:
                await self._do_all()
            except Exception:
                log.exception("background work on the store failed")
                await asyncio.sleep(RETRY)
                self._wrote.set()

    async def _do_all(self) -> None:
        loop = asyncio.get_running_loop()
        left = list(self._slices)
        while left:
            began = loop.time()
            left = await self._run(partial(_one_of_each, left))
            await asyncio.sleep((loop.time() - began) * (1 / SHARE - 1) if left else 0)


def _one_of_each(slices: list[Slice]) -> Operation[list[Slice]]:
    left: list[Slice] = []
    for each in slices:
        more = yield from each()
        left += [each] if more else []
    return left
