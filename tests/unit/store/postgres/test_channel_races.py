"""Several writers on one PostgreSQL: what goes in and out over channels."""

import asyncio
from pathlib import Path

import pytest

from roost.core.errors import NotFound
from roost.core.ids import SessionId, new_message_id
from roost.core.inbound import Inbound, Place, Sender
from roost.core.messages import Draft, FilePart
from roost.core.outbound import StoredPiece
from roost.core.turns import OutboxEntry, TurnEnd
from roost.store.inbox import Handled
from roost.store.pairings import MOST_PENDING, Offer, Presence
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, eventually
from tests.unit.store.postgres.writers import ask, somebody_waits, transaction
from tests.unit.store.tables import rows_naming, run_sql

pytestmark = pytest.mark.postgres

ROUTE = "small:dm:1"
GROUP = "small:group:1"


def heard(id: str) -> Inbound:
    return Inbound(id=id, message=id, sender=Sender(id, id), place=Place(f"small:dm:{id}"))


async def queued(ada: Driver) -> SessionId:
    """A session that is about to be purged, with something to say to a channel."""
    run = await ada.run()
    entry = OutboxEntry("out_1", ROUTE, "{}")
    await ada.store.outbox.put(ada.user.id, (entry,), session=run.session, turn=run.turn)
    await ada.end(run)
    await ada.sessions.delete(run.session)
    return run.session


async def test_deliveries_at_once_are_all_kept_and_in_one_order(ada: Driver, folder: Path) -> None:
    puts = [ada.store.inbox.put("small", [heard(f"{number}")], {}) for number in range(24)]
    assert await asyncio.gather(*puts) == [1] * 24
    arrivals = await run_sql(folder, "SELECT arrival FROM inbox ORDER BY arrival")
    assert [arrival for (arrival,) in arrivals] == list(range(1, 25))


async def test_words_at_once_to_one_route_are_all_sent(ada: Driver) -> None:
    outbox = ada.store.outbox
    entries = [OutboxEntry(f"out_{number}", ROUTE, "{}") for number in range(24)]
    await asyncio.gather(*[outbox.put(ada.user.id, (entry,)) for entry in entries])
    assert await outbox.counts("small") == (24, 0)


async def test_codes_that_are_offered_at_once_are_not_too_many(ada: Driver, folder: Path) -> None:
    await run_sql(
        folder,
        "INSERT INTO pairings (channel, sender, state, created_at, expires_at)"
        f" SELECT 'small', 'x' || n, 'pending', 0, 1::bigint << 60"
        f" FROM generate_series(2, {MOST_PENDING}) n",
    )
    inbox, names = ada.store.inbox, [f"{number}" for number in range(8)]
    await inbox.put("small", [heard(name) for name in names], {})
    hows = [Handled(offer=Offer(name, name, name.encode(), 3600)) for name in names]
    await asyncio.gather(
        *[inbox.handled("small", name, how) for name, how in zip(names, hows, strict=True)]
    )
    assert len(await ada.store.pairings.all("small")) == MOST_PENDING


async def test_entry_that_is_split_as_its_session_is_purged_leaves_nothing(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    session = await queued(ada)
    async with transaction(folder) as splitting:
        await ask(splitting, "lock_entry", id="out_1")
        await ask(splitting, "insert_piece", id="out_1", number=0, body="{}")
        clock.advance(61)
        await ada.settings.put("nudge", "1")
        await somebody_waits(splitting)

    async def purged() -> bool:
        await ada.settings.put("nudge", "1")
        return await rows_naming(folder, session) == {}

    await eventually(purged)
    assert await run_sql(folder, "SELECT * FROM outbox_pieces") == []


async def test_entry_that_is_purged_is_split_no_more(ada: Driver, folder: Path) -> None:
    session = await queued(ada)
    async with transaction(folder) as purging:
        await ask(purging, "lock_outbox_of_session", session=session)
        splitting = asyncio.create_task(ada.store.outbox.split("out_1", [StoredPiece("Secret")]))
        await somebody_waits(purging)
        await ask(purging, "purge_outbox", session=session)
    with pytest.raises(NotFound):
        await splitting
    assert await run_sql(folder, "SELECT * FROM outbox_pieces") == []


async def test_end_of_a_turn_locks_what_it_sends_before_the_route_as_a_tool_call_does(
    ada: Driver, folder: Path
) -> None:
    run = await ada.run()
    blob = await ada.blobs.put_bytes(b"owl", "text/plain")
    file = FilePart(blob.id, blob.media_type, "owl.txt", blob.size)
    owl = Draft(new_message_id(), "assistant", (file,))
    entry = OutboxEntry("out_1", ROUTE, "{}")
    end = TurnEnd(state="completed", messages=(owl,), outbox=(entry,))
    async with transaction(folder) as calling:
        await calling.execute("SET LOCAL lock_timeout = '100ms'")
        await ask(calling, "touch_blob", user=ada.user.id, blob=blob.id)
        ending = asyncio.create_task(ada.turns.end(run.session, run.token, run.turn, end))
        await somebody_waits(calling)
        await ask(calling, "lock_outbox", route=ROUTE)
    await ending
    assert await ada.store.outbox.counts("small") == (1, 0)


async def test_group_that_was_somebodys_stays_theirs_until_that_is_told(
    ada: Driver, bob: Driver, folder: Path
) -> None:
    pairings = ada.store.pairings
    await pairings.claim("small", GROUP, ada.user.id)
    async with transaction(folder) as claiming:
        given = {"channel": "small", "sender": GROUP}
        await ask(claiming, "claim_pairing", user=bob.user.id, name=None, **given)
        removing = asyncio.create_task(pairings.remove("small", GROUP))
        await somebody_waits(claiming)
        ((_, _, user, *_),) = await ask(claiming, "find_pairing", **given)
        assert user == ada.user.id
    await removing
    assert await pairings.find("small", GROUP) is None


async def test_person_leaves_what_their_route_is_just_pointed_at(
    ada: Driver, folder: Path, session: SessionId
) -> None:
    pairings, route = ada.store.pairings, {"user": ada.user.id, "route": ROUTE}
    await pairings.put("small", "1", ada.user.id, by="test")
    await ada.sessions.point(ROUTE, session)
    await ada.store.inbox.put("small", [heard("1")], {})
    there = Presence(ada.user.id, ROUTE, "1")
    await ada.store.inbox.handled("small", "1", Handled(there=there))
    other = await ada.session()
    async with transaction(folder) as pointing:
        await ask(pointing, "lock_route", **route)
        removing = asyncio.create_task(pairings.remove("small", "1"))
        await somebody_waits(pointing)
        await ask(pointing, "point_route", session=other, **route)
    await removing
    assert await ada.sessions.current(ROUTE) is None
