"""Upkeep: what serves only repeats and resuming goes in time, what is deleted goes for good."""

import json
from pathlib import Path

import pytest

from roost.core.approvals import Rule
from roost.core.errors import NotFound
from roost.core.ids import SessionId, new_rule_id, new_schedule_id, new_tool_call_id, new_turn_id
from roost.core.outbound import StoredPiece
from roost.core.schedules import NewSchedule, When
from roost.core.turns import OutboxEntry
from roost.store.operations import Operation, SqlValue, query
from roost.store.sessions import SessionPatch
from roost.store.upkeep import DAY, DeltaSweep, Retention, Swept, purge_slice
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, eventually, new_turn, open_any
from tests.unit.store.tables import rows_naming, run_sql

pytestmark = pytest.mark.both
NOTHING = Swept(keys=0, inbox=0, events=0, blobs=0)


async def test_nothing_is_swept_before_its_time(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.queue.submit(session, new_turn("Hello", key="k"))
    clock.advance(7 * DAY)
    assert await ada.store.upkeep.run() == NOTHING
    assert (await ada.history.since(session, 0)).complete


async def test_events_go_after_a_month_and_messages_stay(ada: Driver, clock: FakeClock) -> None:
    sessions = [await ada.session() for _ in range(3)]
    for session in sessions:
        await ada.talk(session)
    clock.advance(30 * DAY + 1)
    swept = await ada.store.upkeep.run()
    assert swept.events > 0
    assert await ada.store.upkeep.run() == NOTHING
    for session in sessions:
        assert not (await ada.history.since(session, 0)).complete
        assert await ada.texts(session) == ["Hello", "Good day"]
        await ada.talk(session, "Still", "there")
        assert (await ada.history.since(session, 4)).complete


async def test_events_go_from_the_old_end_up_to_the_first_young_one(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    for number in range(2_100):
        await ada.sessions.update(session, SessionPatch(title=str(number)))
    clock.advance(20 * DAY)
    await ada.sessions.update(session, SessionPatch(title="young"))
    clock.advance(10 * DAY + 1)
    assert (await ada.store.upkeep.run()).events == 2_101, "in more than one slice"
    young = await ada.history.since(session, 2_101)
    assert young.complete
    assert not (await ada.history.since(session, 2_100)).complete


async def test_event_of_a_clock_that_was_ahead_keeps_nothing_alive(
    ada: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    for number in range(3):
        await ada.sessions.update(session, SessionPatch(title=str(number)))
    ahead = f"UPDATE events SET at = at + {1000 * 365 * DAY:.0f}"
    await run_sql(folder, f"{ahead} WHERE seq <= (SELECT min(seq) + 1 FROM events)")
    clock.advance(30 * DAY + 1)
    await ada.sessions.update(session, SessionPatch(title="young"))
    assert (await ada.store.upkeep.run()).events == 4
    assert (await ada.history.since(session, 4)).complete


async def turns_with_deltas(folder: Path) -> dict[str, int]:
    rows = await run_sql(folder, "SELECT turn_id, count(*) FROM deltas GROUP BY turn_id")
    return {str(turn): int(str(count)) for turn, count in rows}


async def test_open_stream_keeps_its_own_deltas_only(ada: Driver, folder: Path) -> None:
    long, short, again = await ada.run(), await ada.run(), await ada.run()
    for seq in range(1, 21):
        for run in (long, short, again):
            await ada.stream(run, "x", first=seq)
    await ada.end(short, "x" * 20)
    await ada.say(again, "x" * 20)
    await ada.stream(again, "y", attempt=2)
    sweep, slices = DeltaSweep(window=7), 1
    while await ada.store.work.engine.write(sweep.slice):
        slices += 1
    assert await turns_with_deltas(folder) == {long.turn: 20, again.turn: 1}
    assert slices == 9, "61 deltas in windows of 7"
    assert not await ada.store.work.engine.write(sweep.slice), "nothing new, no round"
    assert await ada.streamed(long.turn) == "x" * 20
    assert await ada.streamed(again.turn) == "y"


@pytest.mark.sqlite("PostgreSQL gives out no number twice")
async def test_sweep_follows_a_log_whose_ids_are_given_out_again(ada: Driver, folder: Path) -> None:
    sweep = DeltaSweep(window=7)
    for _ in range(2):
        run, other = await ada.run(), await ada.run()
        await ada.stream(run, "x")
        for seq in range(1, 21):
            await ada.stream(other, "x", first=seq)
        await ada.end(other)
        while await ada.store.work.engine.write(sweep.slice):
            pass
        assert await turns_with_deltas(folder) == {run.turn: 1}
        await ada.end(run)
        while await ada.store.work.engine.write(sweep.slice):
            pass
        assert await turns_with_deltas(folder) == {}


async def test_retention_is_the_owners_to_set(folder: Path, clock: FakeClock) -> None:
    keep = Retention(idempotency_keys=10, events=20)
    store = await open_any(folder, clock, retention=keep)
    try:
        ada = await Driver.of(store, "Ada")
        session = await ada.session()
        await ada.queue.submit(session, new_turn("Hello", key="k"))
        clock.advance(11)
        assert await store.upkeep.run() == Swept(keys=1, inbox=0, events=0, blobs=0)
        clock.advance(10)
        assert await store.upkeep.run() == Swept(keys=0, inbox=0, events=2, blobs=0)
    finally:
        await store.close()


async def test_what_was_told_is_known_for_as_long_as_it_might_be_told_again(
    folder: Path, clock: FakeClock
) -> None:
    store = await open_any(folder, clock, retention=Retention(inbox=10))
    try:
        ada, route = await Driver.of(store, "Ada"), "small:dm:1"
        await store.outbox.put(ada.user.id, (OutboxEntry("out_1", route, "{}"),))
        await store.outbox.split("out_1", [StoredPiece("Stopped")])
        entry = await store.outbox.next(route)
        assert entry is not None
        await store.outbox.sent(entry, 0, "m1")
        clock.advance(7 * DAY)
        assert (await store.upkeep.run()).outbox == 0
        clock.advance(DAY + 1)
        assert (await store.upkeep.run()).outbox == 1
    finally:
        await store.close()


async def test_deleted_session_leaves_nothing_but_its_usage(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    run = await ada.run()
    await ada.call_tool(run)
    await ada.stream(run, "abc", attempt=2)
    await ada.submit(run.session)
    await ada.sessions.point("web", run.session)
    await ada.schedules.add(
        NewSchedule(
            id=new_schedule_id(),
            name="Looking",
            when=When(kind="every", spec="1h", time_zone="UTC"),
            text="Look!",
            session=run.session,
        )
    )
    rule = Rule(id=new_rule_id(), tool="ls", pattern=None, decision="allow", session=run.session)
    await ada.store.of(ada.user.id).rules.add(rule)
    await ada.sessions.delete(run.session)
    assert await rows_naming(folder, run.session)
    clock.advance(61)

    async def purged() -> bool:
        await ada.settings.put("nudge", "1")
        return await rows_naming(folder, run.session) == {}

    await eventually(purged)


async def test_what_a_deleted_session_said_to_channels_goes_with_it(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    outbox, route = ada.store.outbox, "small:dm:1"
    run = await ada.run()
    entry = OutboxEntry("out_1", route, "{}")
    await outbox.put(ada.user.id, (entry,), session=run.session, turn=run.turn)
    await outbox.split("out_1", [StoredPiece("Secret")])
    await outbox.show(run.turn, route, "m1")
    await ada.end(run)
    await ada.sessions.delete(run.session)
    clock.advance(61)

    async def purged() -> bool:
        await ada.settings.put("nudge", "1")
        return await rows_naming(folder, run.session) == {}

    await eventually(purged)
    assert not await outbox.pieces("out_1")
    assert await outbox.shown(run.turn, route) is None
    with pytest.raises(NotFound):
        await outbox.split("out_1", [StoredPiece("Secret")])


async def test_long_session_is_purged_some_rows_at_a_time(
    ada: Driver, bob: Driver, folder: Path, clock: FakeClock
) -> None:
    run = await ada.run()
    await ada.call_tool(run)
    await ada.end(run)
    document = json.loads(await ada.transfer.export(run.session))
    for name, id in (("turns", new_turn_id), ("tool_calls", new_tool_call_id)):
        (first,) = document[name]
        document[name] += [{**first, "id": id()} for _ in range(2_100)]
    imported = await bob.transfer.load(json.dumps(document).encode())
    session = imported.session.id

    await bob.sessions.delete(session)
    clock.advance(61)
    assert 0 < await most_purged_at_once(bob, session, "count_imported", session=session) <= 1000
    assert await rows_naming(folder, session) == {}


async def test_what_a_session_sent_and_names_is_purged_some_rows_at_a_time(
    ada: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100) "
    for insert, values in (
        (
            "outbox (id, user_id, route, ordinal, session_id, body, state, due_at, created_at)",
            f"'out_' || i, '{ada.user.id}', 'small:1', i, '{session}', '{{}}', 'pending', 1, 1",
        ),
        ("outbox_pieces (outbox_id, number, body)", "'out_' || i, 1, '{}'"),
        ("session_blobs", f"'{session}', 'blob' || i"),
    ):
        await run_sql(folder, f"INSERT INTO {insert} {numbers} SELECT {values} FROM n")
    await ada.sessions.delete(session)
    clock.advance(61)
    most = await most_purged_at_once(ada, session, "count_outbox", after="small:", last="small;")
    assert 0 < most <= 1000
    assert await rows_naming(folder, session) == {}
    assert await run_sql(folder, "SELECT 1 FROM outbox_pieces") == []


async def most_purged_at_once(
    who: Driver, gone: SessionId, count: str, **parameters: SqlValue
) -> int:
    """Remove a deleted session; the most rows that a slice took, of those that are counted."""

    def purge() -> Operation[tuple[bool, int]]:
        """Whether there was anything left, and how many rows it took."""
        yield query("get_session", user=who.user.id, session=gone)  # nobody else purges it
        (before,) = yield query(count, **parameters)
        more = yield from purge_slice()
        (after,) = yield query(count, **parameters)
        return more, max([int(str(b)) - int(str(a)) for b, a in zip(before, after, strict=True)])

    most, more = 0, True
    while more:
        more, rows = await who.store.work.engine.write(purge)
        most = max(most, rows)
    return most


@pytest.mark.sqlite("its file shrinks; PostgreSQL vacuums by itself")
async def test_space_of_what_was_deleted_is_given_back(
    ada: Driver, folder: Path, clock: FakeClock
) -> None:
    session = await ada.session()
    for _ in range(30):
        await ada.talk(session, "x" * 50_000, "y" * 50_000)
    pages_before = await pages(folder)
    await ada.sessions.delete(session)
    clock.advance(61)

    async def shrunk() -> bool:
        await ada.store.upkeep.run()
        return await pages(folder) < pages_before / 2

    await eventually(shrunk)


async def pages(folder: Path) -> int:
    ((number,),) = await run_sql(folder, "pragma page_count")
    return int(str(number))
