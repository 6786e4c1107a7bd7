"""The tick: one for all, none without progress, and nothing lost when one fails."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.events import Deltas, TextDelta
from roost.core.ids import SessionId, Token, TurnId
from roost.runtime.attempt import Attempt
from roost.runtime.checkpoint import Checkpoints, TickFigures
from roost.store.leases import Lease
from roost.store.work import Checkpoint, Tick
from tests.seconds import within

PERIOD = 0.01
NEVER = 1000.0


class FakeWork:
    """Takes every checkpoint, unless it is told what to say, once, of a turn or a lease."""

    def __init__(self) -> None:
        self.ticks: asyncio.Queue[list[Checkpoint]] = asyncio.Queue()
        self.held: list[list[str]] = []
        self.times: list[float] = []
        self.open = asyncio.Event()
        self.open.set()
        self.failures = 0
        self.stored: dict[TurnId, int | None] = {}
        self.lost: frozenset[str] = frozenset()
        self.under_way = 0

    async def tick(self, checkpoints: Sequence[Checkpoint], held: Sequence[Lease]) -> Tick:
        assert not self.under_way, "two ticks at once"
        self.under_way += 1
        try:
            self.times.append(asyncio.get_running_loop().time())
            self.held.append([lease.name for lease in held])
            self.ticks.put_nowait(list(checkpoints))
            await self.open.wait()
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("no", path="x")
            lost, self.lost = self.lost & {lease.name for lease in held}, frozenset()
            return Tick(self._stored(checkpoints), lost)
        finally:
            self.under_way -= 1

    def _stored(self, checkpoints: Sequence[Checkpoint]) -> dict[TurnId, int]:
        all_of_it = {each.turn: each.deltas.last_seq for each in checkpoints}
        said = {turn: self.stored.pop(turn, seq) for turn, seq in all_of_it.items()}
        return {turn: seq for turn, seq in said.items() if seq is not None}

    async def next(self) -> list[Checkpoint]:
        async with asyncio.timeout(60):
            return await self.ticks.get()


@pytest.fixture
def work() -> FakeWork:
    return FakeWork()


def attempt(turn: str = "trn_1", number: int = 1) -> Attempt:
    return Attempt(SessionId("ses_1"), TurnId(turn), number, Token(1))


def lease(name: str = "session:1", token: int = 1) -> Lease:
    return Lease(name, "host:1:x:y", Token(token), 0, 0)


def words(checkpoint: Checkpoint) -> Deltas:
    return checkpoint.deltas


def never() -> None:
    raise AssertionError("the lease was not lost")


class Run:
    def __init__(self, work: FakeWork, renew: float) -> None:
        self.tick = Checkpoints(work, period=PERIOD, renew=renew)

    def stream(self, attempt: Attempt, text: str) -> None:
        attempt.add(TextDelta(text))
        self.tick.dirty()


@asynccontextmanager
async def running(work: FakeWork, *, renew: float = NEVER) -> AsyncGenerator[Run]:
    run = Run(work, renew)
    task = asyncio.create_task(run.tick.run())
    try:
        yield run
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_all_that_streamed_goes_into_one_tick_and_only_once(work: FakeWork) -> None:
    first, second, silent = attempt("trn_1"), attempt("trn_2"), attempt("trn_3")
    async with running(work) as run:
        for each in (first, second, silent):
            run.tick.follow(each)
        run.stream(first, "a")
        run.stream(first, "b")
        run.stream(second, "x")
        assert await work.next() == [
            Checkpoint(first.turn, 1, Token(1), Deltas(1, 2, (TextDelta("ab"),))),
            Checkpoint(second.turn, 1, Token(1), Deltas(1, 1, (TextDelta("x"),))),
        ]
        run.stream(second, "y")
        assert [words(each) for each in await work.next()] == [Deltas(2, 2, (TextDelta("y"),))]
        await run.tick.flush()
    assert (first.stored_seq, second.stored_seq, silent.stored_seq) == (2, 2, 0)


async def test_without_progress_there_is_no_tick(work: FakeWork) -> None:
    streaming = attempt()
    async with running(work, renew=3 * PERIOD) as run:
        run.tick.follow(streaming)
        run.stream(streaming, "a")
        await work.next()
        run.tick.dirty()
        run.tick.hold(lease(), never)
        # The next thing that happens is the renewal, which carries nothing else.
        assert await work.next() == []
    assert work.held == [[], ["session:1"]]


async def test_ticks_are_a_period_apart(work: FakeWork) -> None:
    streaming = attempt()
    async with running(work) as run:
        run.tick.follow(streaming)
        for _ in range(4):
            run.stream(streaming, "a")
            await work.next()
    gaps = [later - earlier for earlier, later in zip(work.times, work.times[1:], strict=False)]
    assert min(gaps) >= PERIOD * 0.9


async def test_what_a_failing_tick_carried_goes_with_the_next(work: FakeWork) -> None:
    streaming = attempt()
    work.failures = 2
    async with running(work) as run:
        run.tick.follow(streaming)
        run.stream(streaming, "a")
        await work.next()
        run.stream(streaming, "b")
        await work.next()
        assert [words(each) for each in await work.next()] == [Deltas(1, 2, (TextDelta("ab"),))]
        await run.tick.flush()
    assert streaming.stored_seq == 2


async def test_slow_tick_delays_no_delta_and_piles_up_nothing(work: FakeWork) -> None:
    streaming = attempt()
    async with running(work) as run:
        run.tick.follow(streaming)
        work.open.clear()
        run.stream(streaming, "a")
        await work.next()
        for _ in range(1000):
            run.stream(streaming, "b")
        assert streaming.last_seq == 1001
        work.open.set()
        [checkpoint] = await work.next()
        assert words(checkpoint) == Deltas(2, 1001, (TextDelta("b" * 1000),))
    assert work.ticks.empty()


async def test_attempt_that_the_store_refuses_is_forgotten(work: FakeWork) -> None:
    refused, fine = attempt("trn_1"), attempt("trn_2")
    async with running(work) as run:
        run.tick.follow(refused)
        run.tick.follow(fine)
        work.stored[refused.turn] = None
        run.stream(refused, "a")
        run.stream(fine, "x")
        await work.next()
        run.stream(refused, "b")
        run.stream(fine, "y")
        assert [each.turn for each in await work.next()] == [fine.turn]


async def test_refusal_of_one_attempt_is_none_of_the_next(work: FakeWork) -> None:
    first, second = attempt(number=1), attempt(number=2)
    async with running(work) as run:
        run.tick.follow(first)
        work.open.clear()
        run.stream(first, "a")
        await work.next()
        run.tick.forget(first)
        run.tick.follow(second)
        run.stream(second, "x")
        run.stream(second, "y")
        work.stored[first.turn] = None
        work.open.set()
        [checkpoint] = await work.next()
        assert (checkpoint.attempt, words(checkpoint).first_seq) == (2, 1)


async def test_answer_to_one_attempt_is_none_to_the_next(work: FakeWork) -> None:
    first, second = attempt(number=1), attempt(number=2)
    async with running(work) as run:
        run.tick.follow(first)
        work.open.clear()
        run.stream(first, "a")
        await work.next()
        run.tick.follow(second)
        run.tick.forget(first)  # late: it is the second that is followed
        run.stream(second, "x")
        run.stream(second, "y")
        work.open.set()
        [checkpoint] = await work.next()
        assert words(checkpoint) == Deltas(1, 2, (TextDelta("xy"),))


async def test_forgotten_attempt_is_stored_no_more(work: FakeWork) -> None:
    ended, fine = attempt("trn_1"), attempt("trn_2")
    async with running(work) as run:
        run.tick.follow(ended)
        run.tick.follow(fine)
        run.tick.forget(ended)
        run.stream(ended, "a")
        run.stream(fine, "x")
        assert [each.turn for each in await work.next()] == [fine.turn]


async def test_after_a_lost_answer_the_rest_follows_at_once(work: FakeWork) -> None:
    streaming = attempt()
    checkpoints = Checkpoints(work, period=PERIOD, renew=NEVER)
    checkpoints.follow(streaming)
    for letter in "abc":
        streaming.add(TextDelta(letter))
    # An earlier tick, whose answer never came, has stored the first two.
    work.stored[streaming.turn] = 2
    await checkpoints.flush()
    await work.next()
    assert [words(each) for each in await work.next()] == [Deltas(3, 3, (TextDelta("c"),))]
    assert streaming.stored_seq == 3


async def test_flush_ticks_now_after_the_tick_under_way(work: FakeWork) -> None:
    streaming = attempt()
    async with running(work) as run:
        run.tick.follow(streaming)
        work.open.clear()
        run.stream(streaming, "a")
        await work.next()
        run.stream(streaming, "b")
        flushing = asyncio.create_task(run.tick.flush())
        work.open.set()
        await flushing
        assert streaming.stored_seq == 2


async def test_flush_tells_of_a_failure(work: FakeWork) -> None:
    checkpoints = Checkpoints(work, period=PERIOD, renew=NEVER)
    streaming = attempt()
    checkpoints.follow(streaming)
    streaming.add(TextDelta("a"))
    work.failures = 1
    with pytest.raises(StoreUnavailable):
        await checkpoints.flush()
    await checkpoints.flush()
    assert streaming.stored_seq == 1


async def test_leases_go_with_a_tick_only_when_a_renewal_is_due(work: FakeWork) -> None:
    streaming = attempt()
    async with running(work, renew=5 * PERIOD) as run:
        run.tick.follow(streaming)
        run.tick.hold(lease(), never)
        while not any(work.held):
            run.stream(streaming, "a")
            await work.next()
        assert len(work.held) > 2
        assert work.times[-1] - work.times[0] >= 3 * PERIOD
        run.stream(streaming, "b")
        await work.next()
        assert work.held[-1] == []


async def test_lease_is_renewed_while_nothing_streams(work: FakeWork) -> None:
    async with running(work, renew=2 * PERIOD) as run:
        run.tick.hold(lease(), never)
        for _ in range(3):
            assert await work.next() == []
    assert work.held == [["session:1"]] * 3


async def test_renewal_that_failed_is_tried_again_soon(work: FakeWork) -> None:
    work.failures = 1
    async with running(work, renew=50 * PERIOD) as run:
        run.tick.hold(lease(), never)
        await work.next()
        async with within(40 * PERIOD):
            await work.next()
    assert work.held == [["session:1"]] * 2


async def test_lost_lease_is_told_once_and_let_go(work: FakeWork) -> None:
    told: list[str] = []
    work.lost = frozenset({"session:1"})
    async with running(work, renew=2 * PERIOD) as run:
        run.tick.hold(lease("session:1"), lambda: told.append("lost"))
        run.tick.hold(lease("session:2"), never)
        for _ in range(3):
            await work.next()
    assert told == ["lost"]
    assert work.held == [["session:1", "session:2"], ["session:2"], ["session:2"]]


async def test_lease_let_go_meanwhile_is_not_told_lost(work: FakeWork) -> None:
    work.lost = frozenset({"session:1", "session:2"})
    async with running(work, renew=2 * PERIOD) as run:
        run.tick.hold(lease("session:1", token=1), never)
        run.tick.hold(lease("session:2", token=1), never)
        work.open.clear()
        await work.next()
        run.tick.let_go(lease("session:1", token=1))
        run.tick.let_go(lease("session:2", token=1))
        run.tick.hold(lease("session:2", token=2), never)
        work.open.set()
        await work.next()
    assert work.held[1] == ["session:2"]


async def test_late_letting_go_leaves_a_newer_claim_alone(work: FakeWork) -> None:
    async with running(work, renew=2 * PERIOD) as run:
        run.tick.hold(lease(token=2), never)
        run.tick.let_go(lease(token=1))
        await work.next()
    assert work.held == [["session:1"]]


async def test_ticks_are_counted(work: FakeWork) -> None:
    checkpoints = Checkpoints(work, period=PERIOD, renew=NEVER)
    assert checkpoints.figures == TickFigures()
    first, second = attempt("trn_1"), attempt("trn_2")
    for each in (first, second):
        checkpoints.follow(each)
        each.add(TextDelta("a"))
    first.add(TextDelta("b"))
    checkpoints.hold(lease(), never)
    await checkpoints.flush()
    figures = checkpoints.figures
    assert (figures.ticks, figures.turns, figures.deltas, figures.leases) == (1, 2, 3, 1)
