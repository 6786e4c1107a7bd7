"""Imports of long sessions: in slices, unseen until they are complete, and safe to repeat."""

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path

import pytest

from roost.core.errors import Conflict, NotFound, StoreUnavailable
from roost.core.ids import SessionId, derived_id, new_message_id
from roost.core.usage import Usage
from roost.store.imports import Imported
from roost.testing.clock import FakeClock
from roost.testing.faults import failing
from tests.store_driver import Driver, eventually
from tests.unit.store.tables import rows_naming, run_sql, session_of_messages

pytestmark = pytest.mark.both

LONG = 12
"""Messages, of which two fill a slice."""


@pytest.fixture
async def exported(ada: Driver, bob: Driver, clock: FakeClock) -> bytes:
    """A long session that was Bob's, and is gone."""
    session = await bob.session()
    await bob.talk(session)
    document = json.loads(await bob.transfer.export(session))
    await bob.sessions.delete(session)
    await purged(ada, session, clock)
    said = [{"kind": "text", "text": "owl" + "." * 300_000}]
    for _ in range(LONG):
        document["session"]["head"] += 1
        another = {"id": new_message_id(), "parts": said, "turn": None}
        place = {"position": document["session"]["head"]}
        document["messages"].append({**document["messages"][-1], **another, **place})
    return json.dumps(document).encode()


def session_in(document: bytes) -> SessionId:
    return json.loads(document)["session"]["id"]


async def purged(ada: Driver, session: SessionId, clock: FakeClock) -> None:
    """Wait until nothing is left of a session that nobody sees."""
    clock.advance(61)

    async def is_gone() -> bool:
        await ada.settings.put("nudge", "1")
        return await ada.store.work.owner(session) is None

    await eventually(is_gone)


async def is_begun(who: Driver, session: SessionId) -> bool:
    """Whether some of it is there, which nobody sees."""
    if await who.store.work.owner(session) is None:
        return False
    with pytest.raises(NotFound):
        await who.sessions.get(session)
    assert await who.sessions.page() == []
    return True


async def begun(
    who: Driver, importing: Coroutine[None, None, Imported], session: SessionId
) -> asyncio.Task[Imported]:
    """An import that is under way."""
    task = asyncio.create_task(importing)
    await eventually(lambda: is_begun(who, session))
    return task


async def is_complete(who: Driver, session: SessionId) -> bool:
    found = await who.history.load(session)
    return found.session.counters.messages == len(found.messages) == LONG + 2


async def test_who_writes_meanwhile_is_answered_between_the_slices(
    ada: Driver, bob: Driver, exported: bytes
) -> None:
    session = session_in(exported)
    other = await ada.session()
    importing = await begun(bob, bob.transfer.load(exported), session)
    answered = 0
    while not importing.done():
        await ada.submit(other)
        answered += not importing.done()
    assert (await importing).created
    assert answered
    assert await is_complete(bob, session)


async def test_imports_of_one_document_at_once_end_with_one_session(
    bob: Driver, exported: bytes
) -> None:
    imports = [bob.transfer.load(exported) for _ in range(3)]
    imported = await asyncio.gather(*imports)
    assert sorted([each.created for each in imported]) == [False, False, True]
    assert {each.session.id for each in imported} == {session_in(exported)}
    assert len(await bob.sessions.page()) == 1
    assert await is_complete(bob, session_in(exported))


async def test_users_who_import_one_document_at_once_have_a_session_each(
    ada: Driver, bob: Driver, exported: bytes
) -> None:
    imported = await asyncio.gather(ada.transfer.load(exported), bob.transfer.load(exported))
    assert [each.created for each in imported] == [True, True]
    for who, each in zip((ada, bob), imported, strict=True):
        assert [session.id for session in await who.sessions.page()] == [each.session.id]
        assert await is_complete(who, each.session.id)


@pytest.mark.parametrize("place", ["before", "after"])
async def test_import_that_fails_anywhere_goes_on_when_it_is_repeated(
    ada: Driver, bob: Driver, exported: bytes, clock: FakeClock, place: str
) -> None:
    session = session_in(exported)
    failed = 0
    for nth in range(1, 100, 3):
        try:
            with failing(f"store.commit.{place}", nth=nth):
                await bob.transfer.load(exported)
            break
        except StoreUnavailable:
            failed += 1
        assert await bob.transfer.load(exported)
        assert await is_complete(bob, session)
        await bob.sessions.delete(session)
        await purged(ada, session, clock)
    assert failed > 1


async def test_import_that_is_not_repeated_leaves_nothing(
    ada: Driver, bob: Driver, exported: bytes, folder: Path, clock: FakeClock
) -> None:
    session = session_in(exported)
    with failing("store.commit.before", nth=4), pytest.raises(StoreUnavailable):
        await bob.transfer.load(exported)
    assert await is_begun(bob, session)
    await purged(ada, session, clock)
    assert set(await rows_naming(folder, session)) <= {"usage"}
    assert (await bob.transfer.load(exported)).created
    assert await is_complete(bob, session)


async def test_what_was_used_counts_once_its_session_is_there(
    ada: Driver, bob: Driver, clock: FakeClock
) -> None:
    session = await bob.session()
    await bob.usage.add(session, await bob.talk(session), (Usage("p", "m", input_tokens=7),))
    document = await bob.transfer.export(session)
    with failing("store.commit.before", nth=2), pytest.raises(StoreUnavailable):
        await ada.transfer.load(document)
    assert (await ada.usage.today()).tokens == 0
    await purged(ada, SessionId(derived_id(session, ada.user.id)), clock)
    assert (await ada.usage.today()).tokens == 0
    imported = await ada.transfer.load(document)
    assert imported.session.counters.input_tokens == (await ada.usage.today()).tokens == 7


@pytest.mark.sqlite("there it can do nothing while rows are taken from it")
async def test_import_that_stood_still_puts_back_what_was_purged_meanwhile(
    bob: Driver, exported: bytes, folder: Path
) -> None:
    session = session_in(exported)
    importing = await begun(bob, bob.transfer.load(exported), session)
    column, value = session_of_messages(folder, session)
    taken = f"SELECT min(seq) FROM messages WHERE {column} = {value}"
    await run_sql(folder, f"DELETE FROM messages WHERE seq = ({taken})")
    assert (await importing).created
    assert await is_complete(bob, session)


async def test_another_export_of_a_session_has_to_wait(
    bob: Driver, exported: bytes, clock: FakeClock
) -> None:
    session = session_in(exported)
    other = json.loads(exported)
    other["session"]["title"] = "Another"
    with failing("store.commit.before", nth=4), pytest.raises(StoreUnavailable):
        await bob.transfer.load(exported)
    with pytest.raises(Conflict, match=r"another export of it is being imported. Try again in"):
        await bob.transfer.load(json.dumps(other).encode())
    await purged(bob, session, clock)
    assert (await bob.transfer.load(json.dumps(other).encode())).session.title == "Another"


async def test_user_who_was_removed_gets_no_session(
    ada: Driver, bob: Driver, exported: bytes, clock: FakeClock
) -> None:
    with failing("store.commit.before", nth=4), pytest.raises(StoreUnavailable):
        await bob.transfer.load(exported)
    await ada.store.users.remove(bob.user.id)
    with pytest.raises(NotFound, match="user"):
        await bob.transfer.load(exported)
    await purged(ada, session_in(exported), clock)


@pytest.mark.sqlite("there whoever asks first is first")
async def test_user_who_is_removed_meanwhile_gets_no_session(
    ada: Driver, bob: Driver, exported: bytes, folder: Path, clock: FakeClock
) -> None:
    session = session_in(exported)
    importing = await begun(bob, bob.transfer.load(exported), session)
    await ada.store.users.remove(bob.user.id)
    with pytest.raises(NotFound, match="user"):
        await importing
    await purged(ada, session, clock)

    async def is_nobody() -> bool:
        await ada.store.upkeep.run()
        return await rows_naming(folder, bob.user.id) == {}

    await eventually(is_nobody)


async def test_messages_are_found_once_their_session_is_there(bob: Driver, exported: bytes) -> None:
    importing = await begun(bob, bob.transfer.load(exported), session_in(exported))
    assert await bob.search("owl") == []
    await importing
    assert len(await bob.found("owl")) == LONG
