"""Many sessions stream on one server and are watched on another: one read is for all of them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from roost.core.errors import StoreUnavailable
from roost.core.events import SessionEvent
from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.runtime import remote_streams
from roost.runtime.checkpoint import Checkpoints
from roost.runtime.hub import Hub
from roost.runtime.remote_streams import RemoteStreams
from roost.store import streams
from roost.store.postgres.connect import connect
from roost.store.streams import Stored, Stream, Streams
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, beside, databases, opened
from tests.streaming import Stage, View, follow

pytestmark = pytest.mark.postgres

MANY = 100
SOME = 12
NEVER = 3600.0


class GatedStreams:
    """A server's streams behind a gate: how many were asked for at each read, and how many reads
    there were at once. The next ones may fail."""

    def __init__(self, log: Streams) -> None:
        self._log = log
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self.asked: list[int] = []
        self.failures: list[Exception] = []
        self.at_once = 0
        self._open = 0

    async def after(self, streams: Sequence[Stream]) -> Stored:
        self.asked.append(len(streams))
        self._open += 1
        self.at_once = max(self.at_once, self._open)
        self.arrived.set()
        try:
            if self.failures:
                raise self.failures.pop(0)
            await self.gate.wait()
            return await self._log.after(streams)
        finally:
            self._open -= 1


class Watched(NamedTuple):
    stage: Stage
    view: View
    events: AsyncIterator[SessionEvent]


class Servers:
    """Turns run on one, and are watched on the other. What the first has streamed is told to the
    second by the test."""

    def __init__(self, ada: Driver, log: GatedStreams, hub: Hub) -> None:
        self.ada = ada
        self.log = log
        self.there = hub
        self._here = Hub(ada.store)
        self._checkpoints = Checkpoints(ada.store.work, renew=NEVER)

    @asynccontextmanager
    async def watched(self, number: int) -> AsyncGenerator[list[Watched]]:
        """So many turns that stream, each heard once already."""
        stages = await asyncio.gather(*[self.started() for _ in range(number)])
        async with AsyncExitStack() as stack:
            made: list[Watched] = []
            for stage in stages:
                watching = self.there.watch(self.ada.user.id, stage.session)
                made.append(Watched(stage, View(), await stack.enter_async_context(watching)))
            await self.stream(made, "One ")
            await self.seen(made, "One ")
            yield made

    async def started(self, session: SessionId | None = None) -> Stage:
        session = session or await self.ada.session()
        return await Stage(self.ada, self._here, session, self._checkpoints).start()

    async def stream(self, watched: Sequence[Watched], words: str) -> None:
        await self.store(watched, words)
        self.tell(watched)

    async def store(self, watched: Sequence[Watched], words: str) -> None:
        for each in watched:
            each.stage.stream(words)
        await self._checkpoints.flush()

    def tell(self, watched: Sequence[Watched]) -> None:
        for each in watched:
            self.there.heard_streaming(each.stage.session)

    async def seen(self, watched: Sequence[Watched], words: str) -> None:
        """All of it, in order, and each word once: a view minds that."""
        for each in watched:
            await follow(each.view, each.events, lambda view: view.text == words)


@pytest.fixture
async def servers(
    ada: Driver, folder: Path, tmp_path: Path, clock: FakeClock
) -> AsyncGenerator[Servers]:
    elsewhere = beside(folder, tmp_path / "elsewhere")
    async with opened(elsewhere, clock) as store:
        log = GatedStreams(store.streams)
        hub = Hub(store, elsewhere=RemoteStreams(log))
        yield Servers(ada, log, hub)
        await hub.close()
    del databases[elsewhere]


@pytest.mark.timeout(180)
@pytest.mark.contract("D5", "D11")
async def test_reads_are_as_many_as_ticks_however_many_sessions_are_watched(
    servers: Servers,
) -> None:
    async with servers.watched(MANY) as watched:
        servers.log.asked.clear()
        said, rounds = "One ", ["two ", "three ", "four "]
        for words in rounds:
            said += words
            await servers.stream(watched, words)
            await servers.seen(watched, said)
    assert sum(servers.log.asked) >= MANY * len(rounds)
    assert len(servers.log.asked) <= len(rounds) + 1, "one may have been left of what was before"
    assert servers.log.at_once == 1


async def test_what_is_heard_during_a_read_goes_into_the_next_one(servers: Servers) -> None:
    async with servers.watched(SOME) as watched:
        servers.log.gate.clear()
        servers.log.asked.clear()
        servers.log.arrived.clear()
        await servers.stream(watched, "two ")
        await servers.log.arrived.wait()
        for words in ("three ", "four "):
            await servers.stream(watched, words)
        servers.log.gate.set()
        await servers.seen(watched, "One two three four ")
    assert len(servers.log.asked) <= 3
    assert servers.log.at_once == 1


async def test_no_read_is_of_more_than_a_batch(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_streams, "BATCH", 5)
    async with servers.watched(SOME) as watched:
        await servers.stream(watched, "two ")
        await servers.seen(watched, "One two ")
    assert max(servers.log.asked) == 5


async def test_what_is_too_long_for_one_answer_comes_in_several(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST", 100)
    async with servers.watched(SOME) as watched:
        servers.log.asked.clear()
        for letter in "abcd":
            await servers.store(watched, letter * 50)
        servers.tell(watched)
        await servers.seen(watched, "One " + "".join([letter * 50 for letter in "abcd"]))
    assert len(servers.log.asked) > SOME


@pytest.mark.contract("D16")
async def test_session_that_is_deleted_holds_no_other(servers: Servers) -> None:
    async with servers.watched(SOME) as watched:
        deleted, *rest = watched
        await servers.store(watched, "two ")
        await servers.ada.sessions.delete(deleted.stage.session)
        servers.tell(watched)
        await servers.seen(rest, "One two ")
        servers.there.heard(deleted.stage.session)
        async for event in deleted.events:
            deleted.view.take(event)
    assert deleted.view.text == "One "


@pytest.mark.contract("D16")
async def test_stream_that_can_not_be_read_holds_no_other(servers: Servers, folder: Path) -> None:
    async with servers.watched(SOME) as watched:
        broken, *rest = watched
        await servers.store(watched, "two ")
        await damage(databases[folder], broken.stage)
        servers.tell(watched)
        await servers.seen(rest, "One two ")
        await broken.stage.end("One two three")
        servers.there.heard(broken.stage.session)
        turn = broken.stage.turn
        assert turn is not None
        await follow(broken.view, broken.events, lambda view: view.states.get(turn) == "completed")
    assert await servers.ada.texts(broken.stage.session) == ["Hello", "One two three"]


async def damage(url: str, stage: Stage) -> None:
    connection = await connect(StoreAddress(url), cached=False)
    try:
        sql = "UPDATE deltas SET body = '{' WHERE turn_id = $1 AND first_seq > 1"
        assert await connection.execute(sql, stage.turn) == "UPDATE 1"
    finally:
        await connection.close(timeout=60)


async def test_store_that_is_gone_for_a_while_delays_and_loses_nothing(servers: Servers) -> None:
    async with servers.watched(SOME) as watched:
        servers.log.failures += [StoreUnavailable("gone", path="here")] * 2
        await servers.stream(watched, "two ")
        await servers.seen(watched, "One two ")
        await servers.stream(watched, "three ")
        await servers.seen(watched, "One two three ")
    assert not servers.log.failures


@pytest.mark.contract("D5")
async def test_whoever_comes_back_on_another_server_sees_what_streams_there(
    servers: Servers,
) -> None:
    session, view = await servers.ada.session(), View()
    async with servers.there.watch(servers.ada.user.id, session) as events:
        await follow(view, events, lambda view: bool(view.events))
    stage = await servers.started(session)
    async with servers.there.watch(servers.ada.user.id, session, view.cursor) as events:
        watched = [Watched(stage, view, events)]
        await servers.stream(watched, "One ")
        await servers.seen(watched, "One ")
    await servers.stream(watched, "two ")
    async with servers.there.watch(servers.ada.user.id, session, view.cursor) as events:
        watched = [Watched(stage, View(), events)]
        await servers.stream(watched, "three ")
        await servers.seen(watched, "One two three ")


async def test_stream_that_has_ended_is_not_asked_for(servers: Servers) -> None:
    async with servers.watched(2) as watched:
        ended, goes_on = watched
        turn = ended.stage.turn
        assert turn is not None
        await ended.stage.end("One.")
        servers.there.heard(ended.stage.session)
        await follow(ended.view, ended.events, lambda view: view.states.get(turn) == "completed")
        servers.log.asked.clear()
        await servers.stream([goes_on], "two ")
        servers.tell(watched)
        await servers.seen([goes_on], "One two ")
    assert set(servers.log.asked) == {1}
