"""Streams: made durable by one tick, and watched without a gap or a repeat."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.events import Changed, SessionEvent, Streamed, parse_cursor
from roost.core.ids import SessionId
from roost.core.turns import EndState
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.hub import Hub
from roost.runtime.tail import Bounds
from roost.store.leases import Lease
from roost.store.work import Checkpoint, Tick, Work
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.store_driver import Driver, eventually, opened
from tests.streaming import GatedStore, Stage, View, catch_up, next_event, same_events, shown

pytestmark = pytest.mark.both

RENEW = 10.0


class TimedWork:
    """The store's work, with a note of when it was asked for, and a gate."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.asked: asyncio.Queue[float] = asyncio.Queue()
        self.gate = asyncio.Event()
        self.gate.set()

    async def tick(self, checkpoints: Sequence[Checkpoint], held: Sequence[Lease]) -> Tick:
        self.asked.put_nowait(asyncio.get_running_loop().time())
        await self.gate.wait()
        return await self._work.tick(checkpoints, held)


async def stages(user: Driver, number: int, checkpoints: Checkpoints) -> list[Stage]:
    hub = Hub(user.store)
    made = [Stage(user, hub, await user.session(), checkpoints) for _ in range(number)]
    return [await stage.start() for stage in made]


# Checkpoints.


@pytest.mark.contract("D2")
async def test_one_tick_makes_all_that_streams_durable(ada: Driver) -> None:
    checkpoints = Checkpoints(ada.store.work, renew=RENEW)
    streaming = await stages(ada, 20, checkpoints)
    for number, stage in enumerate(streaming):
        stage.stream("text ", f"{number}")
    with failing("store.commit.before", nth=2):  # a second commit would fail
        await checkpoints.flush()
    for number, stage in enumerate(streaming):
        assert await ada.streamed(stage.live.turn) == f"text {number}"


@pytest.mark.contract("D2")
async def test_without_progress_there_is_no_commit(ada: Driver) -> None:
    checkpoints = Checkpoints(ada.store.work, renew=RENEW)
    [stage] = await stages(ada, 1, checkpoints)
    stage.stream("a")
    await checkpoints.flush()
    with failing("store.commit.before"):  # any commit would fail
        checkpoints.dirty()
        await checkpoints.flush()


@pytest.mark.contract("D2")
async def test_progress_is_checkpointed_within_250_ms(ada: Driver) -> None:
    work = TimedWork(ada.store.work)
    checkpoints = Checkpoints(work, renew=RENEW)
    [stage] = await stages(ada, 1, checkpoints)
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(checkpoints.run())
    waits: list[float] = []
    for _ in range(8):
        began = loop.time()
        stage.stream("a")
        waits.append(await work.asked.get() - began)
    await eventually(lambda: _is(ada, stage, "a" * 8))
    running.cancel()
    # The machine may be busy at one time, not at all of them.
    assert sorted(waits)[1] <= 0.25


async def _is(user: Driver, stage: Stage, words: str) -> bool:
    return await user.streamed(stage.live.turn) == words


@pytest.mark.contract("D2")
async def test_failing_tick_loses_nothing(ada: Driver) -> None:
    checkpoints = Checkpoints(ada.store.work, period=0.01, renew=RENEW)
    [stage] = await stages(ada, 1, checkpoints)
    running = asyncio.create_task(checkpoints.run())
    with failing("store.commit.before"):
        stage.stream("a")
        await eventually(lambda: _is(ada, stage, "a"))
    with failing("store.commit.after"):  # durable, and nobody was told
        stage.stream("b")
        await eventually(lambda: _is(ada, stage, "ab"))
    stage.stream("c")
    await eventually(lambda: _is(ada, stage, "abc"))
    running.cancel()


@pytest.mark.contract("D14")
@pytest.mark.parametrize("state", ["completed", "failed", "cancelled", "interrupted"])
async def test_after_the_end_of_a_turn_nothing_is_checkpointed(
    ada: Driver, state: EndState
) -> None:
    checkpoints = Checkpoints(ada.store.work, renew=RENEW)
    [stage] = await stages(ada, 1, checkpoints)
    stage.stream("a")
    attempt = stage.live
    await stage.end("a", state)
    before = await ada.everything(stage.session)
    for late in (False, True):
        if late:  # a mistaken runtime goes on
            checkpoints.follow(attempt)
        stage.hub.begin(attempt)
        stage.attempt = attempt
        stage.stream("b")
        await checkpoints.flush()
        assert await ada.everything(stage.session) == before
    with failing("store.commit.before"):  # refused once, it is not tried again
        stage.stream("c")
        await checkpoints.flush()


# Watching.


@pytest.mark.contract("D11")
async def test_all_who_watch_see_the_same(ada: Driver, session: SessionId) -> None:
    hub = Hub(ada.store)
    stage = Stage(ada, hub, session)
    async with AsyncExitStack() as stack:
        watching = [
            await stack.enter_async_context(hub.watch(ada.user.id, session)) for _ in range(4)
        ]
        views = [await catch_up(View(), events, stage) for events in watching]
        await stage.start()
        for number in range(12):
            stage.stream(f"{number} ")
            if number % 5 == 4:
                await stage.step("said", unfinished=True)
            for slowness, (view, events) in enumerate(zip(views, watching, strict=True), 1):
                if number % slowness == 0:
                    await catch_up(view, events, stage)
        for view, events in zip(views, watching, strict=True):
            await catch_up(view, events, stage)
        assert views[0].text == "10 11 "
        assert all(same_events(views[0], view) for view in views)
        await stage.end()
        for view, events in zip(views, watching, strict=True):
            await catch_up(view, events, stage)
            assert list(view.messages.values()) == await ada.live(session)
    await hub.close()


@pytest.mark.contract("D5")
async def test_closing_the_page_does_not_stop_the_turn(ada: Driver, session: SessionId) -> None:
    hub = Hub(ada.store)
    stage = Stage(ada, hub, session)
    async with hub.watch(ada.user.id, session) as events:
        view = await catch_up(View(), events, stage)
        await stage.start()
        stage.stream("a")
        await catch_up(view, events, stage)
    stage.stream("b")
    await stage.end("ab")
    async with hub.watch(ada.user.id, session, view.cursor) as events:
        await catch_up(view, events, stage)
    assert await ada.texts(session) == ["Hello", "ab"]
    assert list(view.messages.values()) == await ada.live(session)


@pytest.mark.contract("D16")
async def test_slow_read_of_one_session_delays_no_other_and_no_deltas(
    ada: Driver, bob: Driver
) -> None:
    store = GatedStore(ada, bob)
    hub = Hub(store)
    slow = await Stage(ada, hub, await ada.session()).start()
    other = await Stage(bob, hub, await bob.session()).start()
    async with (
        hub.watch(ada.user.id, slow.session) as events,
        hub.watch(bob.user.id, other.session) as others,
    ):
        view = await catch_up(View(), events, slow)
        beside = await catch_up(View(), others, other)
        store.logs[ada.user.id].shut()
        await slow.rename("A title")
        await store.logs[ada.user.id].asked.wait()
        other.stream("x")
        await other.end("x")
        await catch_up(beside, others, other)
        slow.stream("a")
        event = await next_event(events)
        assert isinstance(event, Streamed)
        view.take(event)
        store.logs[ada.user.id].gate.set()
        await catch_up(view, events, slow)
    assert (view.title, view.text) == ("A title", "a")
    await hub.close()


@pytest.mark.contract("D16")
async def test_slow_tick_delays_no_stream(ada: Driver) -> None:
    work = TimedWork(ada.store.work)
    checkpoints = Checkpoints(work, period=0.01, renew=RENEW)
    first, second = await stages(ada, 2, checkpoints)
    running = asyncio.create_task(checkpoints.run())
    work.gate.clear()
    first.stream("a")
    await work.asked.get()
    async with second.hub.watch(ada.user.id, second.session) as events:
        view = await catch_up(View(), events, second)
        for letter in "xyz":
            second.stream(letter)
            await catch_up(view, events, second)
        assert view.text == "xyz"
        assert await ada.streamed(second.live.turn) == ""
        work.gate.set()
        await eventually(lambda: _is(ada, second, "xyz"))
    running.cancel()


# Whatever happens, and whenever a reader comes back.

READERS = 3
readers = st.integers(0, READERS - 1)
acts = st.one_of(
    st.tuples(st.just("stream"), st.integers(1, 3)),
    st.tuples(st.just("stream"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["start", "step", "retry", "end", "break_off"]), st.just(0)),
    st.tuples(st.sampled_from(["rename", "submit", "tick", "compact", "restart"]), st.just(0)),
    st.tuples(st.just("read"), st.integers(0, 4 * READERS - 1)),
    st.tuples(st.just("read"), st.integers(0, 4 * READERS - 1)),
    st.tuples(st.just("reconnect"), readers),
    st.tuples(st.just("reload"), readers),
)


class Watcher:
    """A client whose connection drops; it comes back with the last event id it saw."""

    def __init__(self) -> None:
        self.view = View()
        self._connection = AsyncExitStack()
        self.events: AsyncIterator[SessionEvent] | None = None

    async def connect(self, stage: Stage) -> None:
        await self._connection.aclose()
        cursor = parse_cursor(str(self.view.cursor)) if self.view.events else None
        watch = stage.hub.watch(stage.user.user.id, stage.session, cursor)
        self.events = await self._connection.enter_async_context(watch)

    async def reload(self, stage: Stage) -> None:
        self.view = View()
        await self.connect(stage)

    async def read(self, stage: Stage, number: int) -> None:
        """At most so many events: none if there are none."""
        assert self.events is not None
        view = self.view
        revision = (await stage.user.sessions.get(stage.session)).revision
        for _ in range(number):
            if view.cursor.revision == revision and view.seq >= stage.last_seq and view.events:
                return
            view.take(await next_event(self.events))

    async def settle(self, stage: Stage) -> View:
        assert self.events is not None
        return await catch_up(self.view, self.events, stage)

    async def leave(self) -> None:
        await self._connection.aclose()


class Play:
    """Acts that are impossible just now (a step without a turn) are left out."""

    def __init__(self, user: Driver, session: SessionId) -> None:
        self.user = user
        self._bounds = Bounds(entries=3, bytes=2000)
        self.hub = Hub(user.store, bounds=self._bounds)
        self.checkpoints = Checkpoints(user.store.work, renew=RENEW)
        self.stage = Stage(user, self.hub, session, self.checkpoints)
        self.watchers = [Watcher() for _ in range(READERS)]
        self.said = 0

    async def act(self, kind: str, number: int) -> None:
        stage, live = self.stage, self.stage.attempt is not None
        match kind:
            case "stream" if live:
                for _ in range(number):
                    self.said += 1
                    stage.stream(f"{self.said} ")
            case "start" if not live:
                await stage.start()
            case "step" if live:
                await stage.step(f"step {self.said}", unfinished=bool(self.said % 2))
            case "retry" if live:
                await stage.retry()
            case "end" if live:
                await stage.end(f"end {self.said}")
            case "break_off" if live:
                await stage.break_off()
            case "rename":
                self.said += 1
                await stage.rename(f"title {self.said}")
            case "submit":
                await stage.submit()
            case "tick":
                await self.checkpoints.flush()
            case "compact" if not live and await self.user.live(stage.session):
                await self.user.compact(stage.session)
                stage.hub.changed(stage.session)
            case "restart":
                await self.restart()
            case "read":
                await self.watchers[number % READERS].read(stage, 1 + number // READERS)
            case "reconnect":
                await self.watchers[number].connect(stage)
            case "reload":
                await self.watchers[number].reload(stage)
            case _:
                pass

    async def restart(self) -> None:
        await self.hub.close()
        self.hub = Hub(self.user.store, bounds=self._bounds)
        self.stage.hub = self.hub
        await self.watchers[0].connect(self.stage)  # before anyone tidied up
        await self.stage.restart(self.hub)
        for watcher in self.watchers[1:]:
            await watcher.connect(self.stage)

    async def check(self) -> None:
        """Every reader has what is stored."""
        for watcher in self.watchers:
            view = await watcher.settle(self.stage)
            session = await self.user.sessions.get(self.stage.session)
            states = {turn.id: turn.state for turn in await self.user.turns.of(session.id)}
            assert view.title == session.title
            assert view.states.items() <= states.items()
            assert view.text == _text(self.stage)
            if not view.rewritten:
                assert list(view.messages.values()) == await self.user.live(session.id)

    async def close(self) -> None:
        for watcher in self.watchers:
            await watcher.leave()
        assert self.hub.watched == frozenset()
        await self.hub.close()


def _text(stage: Stage) -> str:
    return "" if stage.attempt is None else shown(stage.attempt.deltas())


async def play(folder: Path, script: list[tuple[str, int]]) -> None:
    async with opened(folder, FakeClock()) as store:
        ada = await Driver.of(store, "Ada")
        scene = Play(ada, await ada.session())
        for watcher in scene.watchers:
            await watcher.connect(scene.stage)
        for kind, number in script:
            await scene.act(kind, number)
        await scene.check()
        if scene.stage.attempt is not None:
            await scene.stage.break_off()
        await scene.check()
        for watcher in scene.watchers:
            assert _told_once(watcher.view)
        await scene.close()


def _told_once(view: View) -> bool:
    told = [event.cursor.revision for event in view.events if isinstance(event, Changed)]
    return told == sorted(set(told))


@pytest.mark.contract("D5", "D11")
@settings(
    max_examples=60 if settings.get_current_profile_name() == "usual" else settings().max_examples
)
@given(st.lists(acts, min_size=5, max_size=50))
def test_reader_has_what_is_stored_whenever_it_comes_back(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder) / "data", script))
