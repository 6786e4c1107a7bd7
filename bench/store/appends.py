"""Durable appends: one after the other, and from many sessions at once."""

import asyncio
import gc
import statistics
import time
from collections import defaultdict, deque
from pathlib import Path

import msgspec

from bench.report import Figure, times_at_least, times_at_most
from bench.store.rig import Bare, Live, Raw, Recorder, Rig, opened, raw, replay, step_of, text_of
from bench.timing import Samples
from roost.core.ids import new_message_id
from roost.core.messages import Draft, TextPart
from roost.core.turns import Step
from roost.store.folder import DATABASE
from roost.store.sqlite.backup import backup
from roost.store.sqlite.connect import connect_writer
from roost.store.turns import Turns

SIZE = 1_000
LARGE = 10_000
GROUP = 64
ROUNDS = 5
GROUPS = 30
ALONE = 320
APPENDS = {1: 300, 8: 800, GROUP: GROUP * GROUPS, 256: 2_048}
"""To a set of sessions, how many raw groups and raw appends alone there are; and by the number of
appenders, how many appends."""

PAUSE = 0.02
"""Seconds before an append after a rest: in them, the store does its background work."""

SETS = 3
"""Of new sessions in a round: enough that the log is moved in every round, whatever was written
before."""

LONG = 150
"""How many messages a long session begins with."""

_PEER = "916/s"
_PEER_AT_8 = "1,047/s, p99 111 ms (8 threads)"


async def single(folder: Path) -> list[Figure]:
    """Every round has a store of its own: where the system lets its writer run, beside the disk's
    interrupts or not, stays as it is for long."""
    small, large, rested = [Pair(Samples(), Samples()) for _ in range(3)]
    searchable = Samples()
    for number in range(ROUNDS):
        async with opened(folder / str(number)) as rig:
            bare = Bare(folder / str(number) / "bare.db")
            live = await rig.live()
            # Until both logs have come round once.
            await _take_turns(rig, bare, live, SIZE, 1_000, Pair(Samples(), Samples()))
            await _take_turns(rig, bare, live, SIZE, 600, small)
            await _take_turns(rig, bare, live, LARGE, 200, large)
            await rig.rest()
            await _take_turns(rig, bare, live, SIZE, 30, rested, pause=PAUSE)
            await _until_searchable(rig, live, searchable)
            bare.close()
    against = "bare insert and commit"
    return [
        Figure(
            name="append of 1 KB, p50",
            value=small.append.p50,
            unit="ms",
            limit=small.insert.p50,
            against=against,
            target=times_at_most(2),
        ),
        Figure(
            name="append of 1 KB, p99",
            value=small.append.p99,
            unit="ms",
            limit=small.insert.p99,
            against=against,
        ),
        Figure(
            name="append of 10 KB, p50: nothing is indexed before the answer",
            value=large.append.p50,
            unit="ms",
            limit=large.insert.p50,
            against=against,
            target=times_at_most(2),
        ),
        Figure(
            name=f"append of 1 KB after a rest of {PAUSE * 1000:.0f} ms, p50",
            value=rested.append.p50,
            unit="ms",
            limit=rested.insert.p50,
            against=f"{against}, rested too",
        ),
        Figure(name="10 KB searchable after its answer, p50", value=searchable.p50, unit="ms"),
        Figure(name="10 KB searchable after its answer, p95", value=searchable.p95, unit="ms"),
    ]


class Pair(msgspec.Struct, frozen=True):
    """Appends, and the same bare."""

    append: Samples
    insert: Samples


async def _take_turns(
    rig: Rig, bare: Bare, live: Live, size: int, count: int, taken: Pair, *, pause: float = 0
) -> None:
    body = text_of(size)
    for _ in range(count):
        step = step_of(size)
        if pause:
            await asyncio.sleep(pause)
        append = rig.me.turns.append(live.session, live.lease.token, live.turn, step)
        await taken.append.wait(append)
        if pause:
            await asyncio.sleep(pause)
        taken.insert.time(lambda: bare.insert(body))


async def _until_searchable(rig: Rig, live: Live, samples: Samples) -> None:
    await rig.rest()  # the first one would wait behind the appends before
    for number in range(10):
        word = f"needle{number}"
        draft = Draft(new_message_id(), "assistant", (TextPart(f"{text_of(LARGE)} {word}"),))
        step = Step(messages=(draft,))
        await rig.me.turns.append(live.session, live.lease.token, live.turn, step)
        await samples.wait(_found(rig, word))


async def _found(rig: Rig, word: str) -> None:
    while not await rig.me.search(word):  # noqa: ASYNC110 (nobody tells when the index has it)
        await asyncio.sleep(0.0005)


class Run(msgspec.Struct, frozen=True):
    """Appends per second, and microseconds of processor for each."""

    rate: float
    cpu: float


class Stopwatch:
    def __init__(self) -> None:
        self._started, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, appends: int) -> Run:
        seconds, cpu = time.perf_counter() - self._started, time.process_time() - self._cpu
        return Run(appends / seconds, cpu / appends * 1e6)


async def together(folder: Path) -> list[Figure]:
    """The rounds of all kinds alternate, and each kind's median counts. Every round has sessions of
    its own, so that they are all alike: the longer sessions are, the more pages a group writes."""
    runs: defaultdict[str, list[Run]] = defaultdict(list)
    waits = {appenders: Samples() for appenders in APPENDS}
    async with opened(folder) as rig:
        recorders = [await _sets(rig, GROUP) for _ in range(ROUNDS)]
        backup(folder, folder / "copy")
        recorded = [await _record(rig, sets) for sets in recorders]
        copy = connect_writer(folder / "copy" / DATABASE)
        long = await _lives(rig, GROUP)
        await _append(rig.me.turns, _work_for(long, LONG * GROUP), Samples())
        # What was recorded is the bench's: the store does not pay for looking through it.
        gc.freeze()
        for statements in recorded:
            sets = await _sets(rig, max(APPENDS))
            for appenders, count in APPENDS.items():
                work = [_work_for(lives[:appenders], count) for lives in sets]
                runs[str(appenders)].append(await _round(rig, work, waits[appenders]))
            work = [_work_for(long, GROUP * GROUPS) for _ in sets]
            runs["long"].append(await _round(rig, work, Samples()))
            for name, size, groups in (("raw", GROUP, GROUPS), ("raw alone", 1, ALONE)):
                await rig.rest()
                watch = Stopwatch()
                for _ in range(groups * SETS):
                    replay(copy, [statements[name].popleft() for _ in range(size)])
                runs[name].append(watch.stop(groups * SETS * size))
        gc.unfreeze()
        copy.close()
    return _figures({name: _median(found) for name, found in runs.items()}, waits)


async def _sets(rig: Rig, count: int) -> list[list[Live]]:
    return [await _lives(rig, count) for _ in range(SETS)]


async def _lives(rig: Rig, count: int) -> list[Live]:
    return await asyncio.gather(*[rig.live() for _ in range(count)])


async def _record(rig: Rig, sets: list[list[Live]]) -> dict[str, deque[Raw]]:
    """The statements of enough appends for a round, in the order in which they ran: those to run in
    groups, then those to run alone."""
    recorder = Recorder(rig.me.turns.engine)
    turns = Turns(recorder, rig.user)
    recorded: dict[str, deque[Raw]] = {}
    for name, count in (("raw", GROUP * GROUPS), ("raw alone", ALONE)):
        for lives in sets:
            await _append(turns, _work_for(lives, count), Samples())
        recorded[name] = deque([raw(asked) for asked in recorder.operations])
        recorder.operations.clear()
    return recorded


Work = list[tuple[Live, list[Step]]]


def _work_for(lives: list[Live], count: int) -> Work:
    """What is appended, made beforehand as it is for the raw statements, and in the order in which
    it will be: ids follow the time."""
    rounds = [[step_of(SIZE) for _ in lives] for _ in range(count // len(lives))]
    return [(live, list(steps)) for live, *steps in zip(lives, *rounds, strict=True)]


async def _round(rig: Rig, work: list[Work], waits: Samples) -> Run:
    await rig.rest()
    watch = Stopwatch()
    for each in work:
        await _append(rig.me.turns, each, waits)
    return watch.stop(sum([len(steps) for each in work for _, steps in each]))


async def _append(turns: Turns, work: Work, waits: Samples) -> None:
    async def one(live: Live, steps: list[Step]) -> None:
        for step in steps:
            started = time.perf_counter()
            await turns.append(live.session, live.lease.token, live.turn, step)
            waits.seconds.append(time.perf_counter() - started)

    async with asyncio.TaskGroup() as group:
        for live, steps in work:
            group.create_task(one(live, steps))


def _median(runs: list[Run]) -> Run:
    return Run(
        statistics.median([run.rate for run in runs]), statistics.median([run.cpu for run in runs])
    )


def _figures(runs: dict[str, Run], waits: dict[int, Samples]) -> list[Figure]:
    group, same = runs[str(GROUP)], "the same statements raw"
    found = [
        Figure(
            name=f"{GROUP} appenders, against one",
            value=group.rate,
            unit="/s",
            limit=runs["1"].rate,
            against="one appender",
            target=times_at_least(8),
        ),
        Figure(
            name=f"{GROUP} appenders, against raw",
            value=group.rate,
            unit="/s",
            limit=runs["raw"].rate,
            against=f"{same}, {GROUP} in a transaction",
            target=times_at_least(0.5),
        ),
        Figure(
            name=f"{GROUP} appenders, processor for each append",
            value=group.cpu,
            unit="µs",
            limit=runs["raw"].cpu,
            against=f"{same}, {GROUP} in a transaction",
        ),
        Figure(
            name=f"{GROUP} appenders to sessions of {LONG} messages and more",
            value=runs["long"].rate,
            unit="/s",
            limit=runs["1"].rate,
            against="one appender",
        ),
        Figure(
            name=f"what {GROUP} in a transaction are worth at most",
            value=runs["raw"].rate,
            unit="/s",
            limit=runs["raw alone"].rate,
            against=f"{same}, a transaction each",
        ),
        Figure(
            name="one appender, against raw",
            value=runs["1"].rate,
            unit="/s",
            limit=runs["raw alone"].rate,
            against=f"{same}, a transaction each",
            peer=_PEER,
        ),
    ]
    for appenders, samples in waits.items():
        name = f"{appenders} appenders"
        found += [
            Figure(
                name=name,
                value=runs[str(appenders)].rate,
                unit="/s",
                peer=_PEER_AT_8 if appenders == 8 else "",
            ),
            Figure(name=f"{name}, p50", value=samples.p50, unit="ms"),
            Figure(name=f"{name}, p99", value=samples.p99, unit="ms"),
        ]
    return found
