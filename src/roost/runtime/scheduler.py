"""Does what is due: one timer for all schedules, set to the earliest of them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import structlog

from roost.core.errors import StoreClosed
from roost.core.ids import UserId
from roost.core.schedules import Schedule
from roost.runtime.parts import Parts
from roost.runtime.persistence import persisted
from roost.runtime.scheduling import config_of, take_up

log = structlog.stdlib.get_logger("roost.scheduler")

LOOK = 60.0
"""Seconds after which it looks in any case: clocks are set, machines sleep, and what another server
was told nobody tells this one."""
RETRY = 10.0


class Scheduler:
    """What is due is claimed by the transaction that hands in its turn and moves the schedule on to
    its next time, so that it does not matter how many of these there are, nor when one dies."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store = parts.store

    async def run(self) -> None:
        """Until the store closes."""
        alarm = self._parts.alarm
        while True:
            alarm.clear()  # before looking: what changes meanwhile is looked at again
            try:
                seconds = await self._look()
            except StoreClosed:
                return
            except Exception:
                log.exception("schedules could not be looked at; trying again")
                seconds = RETRY
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await alarm.wait()

    async def _look(self) -> float:
        """Do all that is due; seconds until the next look."""
        while (look := await persisted(self._store.ticks.look)).due:
            if not await self._fire_all(look.due):
                return RETRY
        return LOOK if look.wait is None else min(LOOK, look.wait / 1000)

    async def _fire_all(self, due: Sequence[tuple[UserId, Schedule]]) -> bool:
        """Each for itself; whether all of them were seen to."""
        work = [self._fire(user, schedule) for user, schedule in due]
        results = await asyncio.gather(*work, return_exceptions=True)
        self._parts.turns.wake()
        failed = [each for each in results if isinstance(each, BaseException)]
        for error in failed:
            if isinstance(error, StoreClosed):
                raise error
            log.error("a schedule could not be run; it is tried again", exc_info=error)
        return not failed

    async def _fire(self, user: UserId, schedule: Schedule) -> None:
        config = await config_of(self._parts, user, schedule)
        fire = partial(self._store.ticks.fire, user, schedule, config)
        if (started := await persisted(fire)) is None:
            log.info("a schedule was due and did not run", schedule=schedule.id)
            return
        log.info("a schedule runs", schedule=schedule.id, turn=started.turn)
        take_up(self._parts, started)
