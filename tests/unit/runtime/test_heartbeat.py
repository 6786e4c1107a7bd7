"""Servers that let one another know that they are there."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from roost.core.clock import SystemClock
from roost.core.ids import SessionId
from roost.core.keys import StoreAddress
from roost.runtime.heartbeat import Heartbeat, Vacancy, silence_of
from roost.store.operations import SqlValue
from roost.store.postgres.connect import Connection, connect, fetch
from roost.store.servers import Servers
from roost.testing.clock import FakeClock
from tests.engine import SECONDS
from tests.store_driver import AnyStore, Driver, beside, databases, eventually, opened

pytestmark = pytest.mark.postgres

SILENCE = 2.0
WAITING = """
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'"""
BEATEN = "SELECT seen_at FROM servers WHERE id = $1"


@pytest.fixture
async def stores(folder: Path, tmp_path: Path) -> AsyncGenerator[list[AnyStore]]:
    """Two servers on one database."""
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(opened(folder, SystemClock()))
        elsewhere = beside(folder, tmp_path / "elsewhere")
        yield [here, await stack.enter_async_context(opened(elsewhere, SystemClock()))]
    del databases[elsewhere]


def members(store: AnyStore) -> Servers:
    assert store.servers is not None
    return store.servers


def heart_of(store: AnyStore, *, silence: float = SILENCE) -> Heartbeat:
    assert store.signals is not None
    return Heartbeat(members(store), store.signals, silence=silence)


@asynccontextmanager
async def beating(heart: Heartbeat) -> AsyncGenerator[asyncio.Event]:
    """Set when there is something to take over."""
    inherited = asyncio.Event()
    heart.heirs.append(inherited.set)
    await heart.begin()
    tasks = [asyncio.create_task(heart.run()), asyncio.create_task(heart.listen())]
    try:
        yield inherited
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_burial_that_has_to_wait_holds_up_no_beat(
    stores: list[AnyStore], folder: Path
) -> None:
    here, there = stores
    ada = await Driver.of(there, "ada")
    session = await ada.session()
    await ada.claim(session, there.leases.new_holder("turn"))
    await members(there).beat()  # once
    beats: set[SqlValue] = set()
    async with locked(folder, session) as connection, beating(heart_of(here)):
        await eventually(lambda: fetch(connection, WAITING), seconds=SECONDS)

        async def go_on() -> bool:
            ((beaten_at,),) = await fetch(connection, BEATEN, members(here).id)
            beats.add(beaten_at)
            return len(beats) > 3

        await eventually(go_on, seconds=SECONDS)


@asynccontextmanager
async def locked(folder: Path, session: SessionId) -> AsyncGenerator[Connection]:
    """As by a server that died within a transaction."""
    connection = await connect(StoreAddress(databases[folder]), cached=False)
    try:
        await connection.execute("BEGIN")
        await fetch(connection, "SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", session)
        yield connection
    finally:
        connection.terminate()


async def test_server_that_goes_is_heard_at_once(stores: list[AnyStore]) -> None:
    here, there = [heart_of(each, silence=SECONDS) for each in stores]
    async with beating(here) as inherited, asyncio.timeout(SECONDS):
        async with beating(there):
            assert await there.drain()
            await inherited.wait()
            inherited.clear()
            await there.leave()
            await inherited.wait()
        assert not await here.drain(), "nobody is left"


async def test_server_that_has_left_beats_no_more(stores: list[AnyStore]) -> None:
    heart = heart_of(stores[0])
    await heart.begin()
    await heart.leave()
    await heart.begin()
    assert await members(stores[0]).all() == []


async def test_silent_server_is_buried_by_one_that_was_not_silent_itself(
    folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    """After a database that was away for all of them, whoever is back first waits."""
    async with opened(folder, clock) as here:
        elsewhere = beside(folder, tmp_path / "elsewhere")
        async with opened(elsewhere, clock) as there:
            await members(there).beat()
            clock.advance(SILENCE * 2)
            heart = heart_of(here)
            began = asyncio.get_running_loop().time()
            async with beating(heart) as inherited, asyncio.timeout(SECONDS):
                await inherited.wait()
            assert asyncio.get_running_loop().time() - began >= SILENCE
            assert [each.id for each in await members(here).all()] == [members(here).id]
    del databases[elsewhere]


async def test_those_who_wait_for_a_vacancy_are_all_woken() -> None:
    vacancy = Vacancy()
    waiting = [asyncio.create_task(vacancy.wait(SECONDS * 10)) for _ in range(3)]
    await eventually(lambda: _all_wait(waiting))
    vacancy.tell()
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*waiting)


async def _all_wait(tasks: list[asyncio.Task[None]]) -> bool:
    await asyncio.sleep(0)
    return not any(task.done() for task in tasks)


def test_silence_is_longer_than_a_write_is_tried_for() -> None:
    assert silence_of(30) == 15
    assert silence_of(1) == 5
