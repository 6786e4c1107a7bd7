"""The list of sessions: right without reading messages, moved by turns and not by maintenance."""

import asyncio
from pathlib import Path

import apsw
import pytest

from roost.core.ids import SessionId
from roost.store import statements
from roost.store.folder import DATABASE
from roost.store.sessions import ListCursor, SessionPatch
from roost.store.sqlite.connect import connect_reader
from roost.testing.clock import FakeClock
from tests.store_driver import CONFIG, PROMPT, Driver

pytestmark = pytest.mark.both


async def all_pages(ada: Driver) -> list[SessionId]:
    found: list[SessionId] = []
    after = None
    while page := await ada.sessions.page(after=after, limit=200):
        found += [session.id for session in page]
        after = ListCursor(page[-1].active_at, page[-1].id)
    return found


@pytest.mark.contract("D10")
async def test_ten_thousand_sessions_are_listed_once_each_in_order(
    ada: Driver, clock: FakeClock
) -> None:
    made: list[SessionId] = []
    for _ in range(20):
        clock.advance(1)
        made += await asyncio.gather(*[ada.session() for _ in range(500)])
    clock.advance(1)
    oldest = made[0]
    await ada.submit(oldest)
    listed = await all_pages(ada)
    assert listed[0] == oldest
    assert set(listed) == set(made)
    assert len(listed) == 10_000


@pytest.mark.contract("D10")
@pytest.mark.sqlite("it says which tables it reads")
async def test_list_reads_no_messages(ada: Driver, session: SessionId, folder: Path) -> None:
    await ada.talk(session)
    read: set[str] = set()

    def note(action: int, table: str | None, *_: object) -> int:
        if action == apsw.SQLITE_READ and table is not None:
            read.add(table)
        return apsw.SQLITE_OK

    listing = statements.load("sqlite")["list_sessions"]
    database = connect_reader(folder / DATABASE)
    database.authorizer = note
    try:
        database.rows(listing.sql, dict.fromkeys(listing.parameters, 1))
    finally:
        database.close()
    assert read == {"session_details", "session_rows", "sessions", "turns", "leases"}


@pytest.mark.contract("D10")
async def test_list_is_right_while_a_turn_streams(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    (before,) = await ada.sessions.page()
    clock.advance(5)
    await ada.stream(run, "abc")
    (during,) = await ada.sessions.page()
    assert during == before, "a checkpoint rewrites nothing"
    assert during.state == "running"
    clock.advance(30)
    (lapsed,) = await ada.sessions.page()
    assert lapsed.state == "idle", "nobody runs it any more"
    await ada.end(run, "abc")
    (after,) = await ada.sessions.page()
    assert (after.state, after.counters.messages, after.unread) == ("idle", 2, True)


@pytest.mark.contract("D9")
async def test_models_title_never_overwrites_a_persons(ada: Driver, session: SessionId) -> None:
    assert await ada.sessions.suggest_title(session, "A model's")
    assert await ada.sessions.suggest_title(session, "A better one")
    await ada.sessions.update(session, SessionPatch(title="Mine"))
    assert not await ada.sessions.suggest_title(session, "A late one")
    found = await ada.sessions.get(session)
    assert (found.title, found.title_by) == ("Mine", "person")


@pytest.mark.contract("D9")
async def test_title_that_a_person_emptied_stays_empty(ada: Driver, session: SessionId) -> None:
    await ada.sessions.update(session, SessionPatch(title=None))
    assert not await ada.sessions.suggest_title(session, "A model's")
    assert (await ada.sessions.get(session)).title is None


@pytest.mark.contract("D13")
async def test_running_turn_advances_the_last_activity(ada: Driver, clock: FakeClock) -> None:
    run = await ada.run()
    other = await ada.session()
    for seq in range(1, 200):
        clock.advance(1)
        await ada.stream(run, "x", first=seq)
        active_at = (await ada.sessions.get(run.session)).active_at
        assert clock.now() - active_at <= 31_000
    first, second = await ada.sessions.page()
    assert (first.id, second.id) == (run.session, other)


@pytest.mark.contract("D13")
async def test_maintenance_does_not_advance_the_last_activity(
    ada: Driver, clock: FakeClock, session: SessionId
) -> None:
    await ada.talk(session)
    waiting = await ada.submit(session)
    active_at = (await ada.sessions.get(session)).active_at
    clock.advance(3600)
    await ada.queue.remove(waiting)
    await ada.history.pin(session, (await ada.live(session))[0].id, True)
    await ada.sessions.suggest_title(session, "Owls")
    patch = SessionPatch(title="Owls", pinned=True, archived=True, project="birds", seen=1)
    await ada.sessions.update(session, patch)
    await ada.compact(session)
    lease = await ada.claim(session)
    await ada.sessions.configure(session, lease.token, CONFIG, PROMPT)
    await ada.store.leases.release(lease)
    await ada.store.upkeep.run()
    assert (await ada.sessions.get(session)).active_at == active_at
