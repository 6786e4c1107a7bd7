"""The tick: what streams is made durable and leases are renewed, for all turns in one commit."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec
import structlog

from roost.core.errors import StoreError
from roost.core.ids import SessionId, TurnId
from roost.runtime.attempt import Attempt
from roost.store.leases import Lease
from roost.store.work import Checkpoint, Tick

log = structlog.get_logger()

PERIOD = 0.2
PATIENCE = 16
"""While ticks fail, the wait between them doubles, up to so many periods."""
AT_ONCE = 20
"""The first wait is this part of a period."""


class Ticking(Protocol):
    """What of the store's `Work` is needed here."""

    def tick(self, checkpoints: Sequence[Checkpoint], held: Sequence[Lease]) -> Awaitable[Tick]: ...


class TickFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Since the start: ticks, the turns in them, the deltas they stored and the seconds they took
    together, and those that failed. As of now: leases that are held."""

    ticks: int = 0
    turns: int = 0
    deltas: int = 0
    seconds: float = 0.0
    failures: int = 0
    leases: int = 0


class _Held(NamedTuple):
    lease: Lease
    lost: Callable[[], None]


class Checkpoints:
    """`renew` is how many seconds apart leases are renewed: a third of what they live."""

    def __init__(self, work: Ticking, *, period: float = PERIOD, renew: float) -> None:
        self._work = work
        self._period = period
        self._renew = renew
        self._followed: dict[TurnId, Attempt] = {}
        self._held: dict[str, _Held] = {}
        self._renewed_at = 0.0
        self._woken = asyncio.Event()
        self._ticking = asyncio.Lock()
        self._failures = 0
        self._counted = TickFigures()
        self.tellers: list[Callable[[SessionId], None]] = []
        """Told of sessions whose turn has more that is durable."""

    @property
    def figures(self) -> TickFigures:
        return msgspec.structs.replace(self._counted, leases=len(self._held))

    def hold(self, lease: Lease, lost: Callable[[], None]) -> None:
        """Keep a lease renewed. `lost` is called, once, if it turns out to be somebody else's.

        Let it go before the write that releases it: a tick that comes after that finds it gone."""
        if not self._held:
            self._renewed_at = asyncio.get_running_loop().time()
            self._woken.set()
        self._held[lease.name] = _Held(lease, lost)

    def let_go(self, lease: Lease) -> None:
        held = self._held.get(lease.name)
        if held is not None and held.lease.token == lease.token:
            del self._held[lease.name]

    def follow(self, attempt: Attempt) -> None:
        """Make durable what this attempt streams, in place of the one before of its turn. Its
        beginning is durable already, else the store refuses it for good."""
        self._followed[attempt.turn] = attempt
        self._woken.set()

    def forget(self, attempt: Attempt) -> None:
        if self._followed.get(attempt.turn) is attempt:
            del self._followed[attempt.turn]

    def dirty(self) -> None:
        """Something was streamed."""
        self._woken.set()

    async def run(self) -> None:
        """Tick for ever. Whatever goes wrong, the next tick makes up for it."""
        while True:
            await self._due()
            self._woken.clear()
            began = asyncio.get_running_loop().time()
            try:
                await self.flush()
                self._failures = 0
            except StoreError as error:
                log.warning("checkpoint failed", turns=len(self._followed), error=str(error))
                self._failed()
            except Exception:
                # Ending here would fence every turn in a few seconds, and lose what they stream.
                log.exception("checkpoint failed", turns=len(self._followed))
                self._failed()
            took = asyncio.get_running_loop().time() - began
            await asyncio.sleep(self._pause(took))

    async def flush(self) -> None:
        """Tick now, until all that had been streamed by now is durable."""
        async with self._ticking:
            while await self._tick():
                pass

    async def _due(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._woken.is_set() and not self._renewal_due(loop.time()):
            until = self._renewed_at + self._renew if self._held else None
            try:
                async with asyncio.timeout_at(until):
                    await self._woken.wait()
            except TimeoutError:
                return

    def _failed(self) -> None:
        self._failures += 1
        self._counted = msgspec.structs.replace(self._counted, failures=self._counted.failures + 1)
        self._woken.set()

    def _pause(self, took: float) -> float:
        """Until the next tick. One that failed is tried again at once, or more would be at stake
        than a period's words; one that goes on failing, ever later."""
        if self._failures:
            return self._period * min(PATIENCE, 2 ** (self._failures - 1) / AT_ONCE)
        return max(0.0, self._period - took)

    def _renewal_due(self, now: float) -> bool:
        return bool(self._held) and now >= self._renewed_at + self._renew

    async def _tick(self) -> bool:
        """Whether another one is needed: the store had some of it already, and so took none."""
        now = asyncio.get_running_loop().time()
        batch = self._collect()
        held = list(self._held.values()) if self._renewal_due(now) else []
        if not batch and not held:
            return False
        tick = await self._work.tick(
            [checkpoint for _, checkpoint in batch], [each.lease for each in held]
        )
        self._count(batch, asyncio.get_running_loop().time() - now)
        if held:
            self._renewed_at = now
            self._tell_lost(held, tick)
        return self._settle(batch, tick)

    def _collect(self) -> list[tuple[Attempt, Checkpoint]]:
        batch: list[tuple[Attempt, Checkpoint]] = []
        for attempt in self._followed.values():
            deltas = attempt.since(attempt.stored_seq)
            if deltas is not None:
                checkpoint = Checkpoint(attempt.turn, attempt.attempt, attempt.token, deltas)
                batch.append((attempt, checkpoint))
        return batch

    def _count(self, batch: list[tuple[Attempt, Checkpoint]], seconds: float) -> None:
        runs = [checkpoint.deltas for _, checkpoint in batch]
        counted = self._counted
        self._counted = msgspec.structs.replace(
            counted,
            ticks=counted.ticks + 1,
            turns=counted.turns + len(runs),
            deltas=counted.deltas + sum([run.last_seq - run.first_seq + 1 for run in runs]),
            seconds=counted.seconds + seconds,
        )

    def _settle(self, batch: list[tuple[Attempt, Checkpoint]], tick: Tick) -> bool:
        again = False
        for attempt, checkpoint in batch:
            stored = tick.stored.get(attempt.turn)
            if stored is None or stored < attempt.stored_seq:
                # Ended, moved on, fenced: it will not be taken later either.
                self.forget(attempt)
                continue
            again = again or attempt.stored_seq < stored < checkpoint.deltas.last_seq
            for teller in self.tellers:
                teller(attempt.session)
            attempt.stored_seq = stored
        return again

    def _tell_lost(self, held: list[_Held], tick: Tick) -> None:
        for each in held:
            if each.lease.name in tick.lost and self._held.get(each.lease.name) is each:
                del self._held[each.lease.name]
                each.lost()
