"""Several writers on one PostgreSQL: what one has seen still holds when it commits."""

import asyncio
from pathlib import Path

import pytest

from roost.core.errors import ConfigError, Conflict, Fenced, RoostError
from roost.core.ids import new_message_id, new_turn_id, new_user_id
from roost.core.messages import Draft
from roost.core.users import User
from roost.store.folder import KEY
from roost.store.leases import session_lease
from roost.store.work import Checkpoint
from roost.testing.clock import FakeClock
from tests.cutting import cutting
from tests.store_driver import (
    OTHER_HOLDER,
    AnyStore,
    Driver,
    beside,
    databases,
    deltas,
    draft,
    new_session,
    new_turn,
    open_any,
    opened,
    text,
)
from tests.unit.store.postgres.writers import somebody_waits, transaction

pytestmark = pytest.mark.postgres


@pytest.mark.contract("B3")
async def test_stale_writers_row_does_not_land_between_check_and_commit(
    ada: Driver, folder: Path
) -> None:
    run = await ada.run()
    async with transaction(folder) as claim:
        await claim.execute(f"UPDATE sessions SET token = token + 1 WHERE id = '{run.session}'")
        writing = asyncio.create_task(ada.say(run, "too late"))
        await somebody_waits(claim)
    with pytest.raises(Fenced):
        await writing
    assert await ada.texts(run.session) == ["Hello"]


@pytest.mark.contract("B3")
async def test_stale_tick_does_not_land_and_takes_nobody_along(ada: Driver, folder: Path) -> None:
    stale, live = await ada.run(), await ada.run()
    batch = [Checkpoint(run.turn, 1, run.token, deltas("abc")) for run in (stale, live)]
    async with transaction(folder) as claim:
        await claim.execute(f"UPDATE streams SET token = token + 1 WHERE turn_id = '{stale.turn}'")
        ticking = asyncio.create_task(ada.store.work.tick(batch, []))
        await somebody_waits(claim)
    assert (await ticking).stored == {live.turn: 3}
    assert await ada.streamed(stale.turn) == ""
    assert await ada.streamed(live.turn) == "abc"


async def test_claim_waits_for_the_write_it_comes_after(
    ada: Driver, other: AnyStore, clock: FakeClock
) -> None:
    run = await ada.run()
    clock.advance(31)
    name = session_lease(run.session)
    said, taken = await asyncio.gather(
        ada.say(run, "still mine"), other.leases.claim(name, OTHER_HOLDER), return_exceptions=True
    )
    assert not isinstance(taken, BaseException)
    assert taken is not None
    assert isinstance(said, Fenced) or await ada.texts(run.session) == ["Hello", "still mine"]
    with pytest.raises(Fenced):
        await ada.say(run, "not any more")


async def test_tick_goes_on_beside_whoever_writes_to_the_session(ada: Driver, folder: Path) -> None:
    run = await ada.run()
    async with transaction(folder) as writer:
        await writer.execute(f"UPDATE sessions SET revision = revision WHERE id = '{run.session}'")
        await writer.execute(f"UPDATE leases SET since = since WHERE name = '{run.lease.name}'")
        assert (await ada.stream(run, "abc")).stored == {run.turn: 3}


async def test_servers_claim_each_waiting_session_once(ada: Driver, other: AnyStore) -> None:
    sessions = [await ada.session() for _ in range(12)]
    for session in sessions:
        await ada.submit(session)
    claims = [
        store.work.claim_waiting(f"host:{number}:turn:x", limit=3)
        for number, store in enumerate([ada.store, other] * 6)
    ]
    claimed = [each.session.id for found in await asyncio.gather(*claims) for each in found]
    left = await ada.store.work.claim_waiting("host:99:turn:x")
    claimed += [each.session.id for each in left]
    assert sorted(claimed) == sorted(sessions)


async def test_message_is_edited_or_started_never_both(ada: Driver, other: AnyStore) -> None:
    elsewhere = Driver(other, ada.user)
    for _ in range(8):
        session = await ada.session()
        turn, lease = await ada.submit(session), await ada.claim(session)
        message = Draft(new_message_id(), "user", text("Hello"))
        outcomes = await asyncio.gather(
            ada.turns.start(session, lease.token, turn, message),
            elsewhere.queue.edit(turn, text("Edited")),
            return_exceptions=True,
        )
        assert sum(isinstance(each, RoostError) for each in outcomes) == 1
        assert await ada.texts(session) == (
            [] if isinstance(outcomes[0], RoostError) else ["Hello"]
        )


async def test_same_session_opened_on_two_servers_is_one(ada: Driver, folder: Path) -> None:
    new = new_session()
    async with transaction(folder) as elsewhere:
        await elsewhere.execute(
            "INSERT INTO sessions (id, user_id, origin, revision, created_at, active_at)"
            f" VALUES ('{new.id}', '{ada.user.id}', 'web', 1, 0, 0)"
        )
        opening = asyncio.create_task(ada.sessions.create(new))
        await somebody_waits(elsewhere)
    assert (await opening).id == new.id


async def test_same_conversation_begun_on_two_servers_is_one(ada: Driver, other: AnyStore) -> None:
    elsewhere, source = Driver(other, ada.user), await ada.session()
    await ada.talk(source)
    for _ in range(8):
        new, said = new_session(), (draft("Hello", "user"),)
        one, two = await asyncio.gather(
            ada.branches.open(new, said), elsewhere.branches.open(new, said)
        )
        assert one == two
        assert await ada.texts(new.id) == ["Hello"]
        branch = new_session()
        one, two = await asyncio.gather(
            ada.branches.branch(source, branch), elsewhere.branches.branch(source, branch)
        )
        assert one == two
        assert await ada.texts(branch.id) == ["Hello", "Good day"]


async def test_same_message_sent_to_two_servers_is_one_turn(ada: Driver, other: AnyStore) -> None:
    elsewhere = Driver(other, ada.user)
    for number in range(8):
        session = await ada.session()
        first, second = new_turn(key=f"k{number}"), new_turn(key=f"k{number}")
        one, two = await asyncio.gather(
            ada.queue.submit(session, first), elsewhere.queue.submit(session, second)
        )
        assert one == two


async def test_last_admin_stays_one_whoever_is_asked(ada: Driver, other: AnyStore) -> None:
    for _ in range(5):
        eve = await ada.store.users.create(User(id=new_user_id(), name="Eve", role="admin"))
        outcomes = await asyncio.gather(
            ada.store.users.change(ada.user.id, role="member"),
            other.users.change(eve.id, role="member"),
            return_exceptions=True,
        )
        assert sum(isinstance(each, Conflict) for each in outcomes) == 1
        await ada.store.users.change(ada.user.id, role="admin")
        await ada.store.users.remove(eve.id)


async def test_name_is_given_once_whoever_is_asked(ada: Driver, other: AnyStore) -> None:
    outcomes = await asyncio.gather(
        ada.store.users.create(User(id=new_user_id(), name="Zoë", role="member")),
        other.users.create(User(id=new_user_id(), name="ZOË", role="member")),
        return_exceptions=True,
    )
    assert sum(isinstance(each, RoostError) for each in outcomes) == 1


async def test_messages_that_are_committed_out_of_order_are_all_found(
    ada: Driver, folder: Path
) -> None:
    session = await ada.session()
    async with transaction(folder) as slow:
        await slow.execute(
            "INSERT INTO messages (id, session_id, position, revision, born, role, parts,"
            f" created_at) VALUES ('msg_slow', '{session}', 9, 1, 0, 'user',"
            """ '[{"kind":"text","text":"slowpoke"}]', 0)"""
        )
        await ada.indexed()  # one with a higher number
        assert await ada.search("slowpoke") == []
    await ada.submit(session, str(new_turn_id()))
    assert len(await ada.found("slowpoke")) == 1


async def test_what_can_be_done_once_is_not_refused_though_it_was_done(
    ada: Driver, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    """The answer to an undo is lost: asked again, it would be refused."""
    session = await ada.session()
    turn = await ada.talk(session)
    lease = await ada.claim(session)
    elsewhere = tmp_path / "cut"
    elsewhere.mkdir()
    async with cutting(databases[folder], elsewhere) as cutter:
        beside(folder, elsewhere / "data")
        databases[elsewhere / "data"] = cutter.address(databases[folder])
        async with opened(elsewhere / "data", clock) as store:
            cutter.cut = "after"
            history = store.of(ada.user.id).history
            assert (await history.undo(session, lease.token, turn)).epoch == 1
            assert cutter.cuts == 1
        del databases[elsewhere / "data"]
    assert await ada.texts(session) == []


async def test_servers_on_one_store_have_one_key(
    store: AnyStore, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    elsewhere = tmp_path / "another key"
    databases[elsewhere] = databases[folder]
    with pytest.raises(ConfigError, match="Give all of them the same"):
        await open_any(elsewhere, clock)
    (elsewhere / KEY).write_bytes((folder / KEY).read_bytes())
    await (await open_any(elsewhere, clock)).close()
    del databases[elsewhere]
