"""Marked turns: cut into segments, begun durably, committed in order, taken back by an undo."""

from functools import partial
from pathlib import Path

import pytest

from roost.core.ids import SessionId, TurnId, UserId
from roost.core.messages import plain_text
from roost.core.turns import EndState, TurnEnd
from roost.store.memory import BegunSegment, Deleted, MemoryStatus
from roost.testing import faults
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, draft, eventually, new_turn, opened
from tests.unit.store.tables import rows_naming

pytestmark = pytest.mark.both

SCOPE = "builtin/default/ada"
OTHER = "openviking/default/ada"


async def complete(
    ada: Driver,
    session: SessionId,
    words: str = "Hello",
    *,
    scope: str | None = SCOPE,
    state: EndState = "completed",
) -> TurnId:
    run = await ada.run(session, words)
    end = TurnEnd(state=state, messages=(draft(f"{words}?"),), memory_scope=scope)
    await ada.turns.end(run.session, run.token, run.turn, end)
    return run.turn


async def undo(ada: Driver, session: SessionId, turn: TurnId) -> None:
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, turn)
    await ada.store.leases.release(lease)


async def begin_first(ada: Driver, session: SessionId) -> BegunSegment | None:
    segment = (await ada.store.memory.cut(ada.user.id, session))[0]
    return await ada.store.memory.begin(segment.key, after=segment.tries)


async def begun(ada: Driver, session: SessionId) -> BegunSegment:
    segment = await begin_first(ada, session)
    assert segment is not None
    return segment


@pytest.mark.parametrize("state", ["cancelled", "failed", "interrupted"])
async def test_only_completed_turns_are_marked(
    ada: Driver, session: SessionId, state: EndState
) -> None:
    await complete(ada, session, state=state)
    assert not await ada.store.memory.has_uncommitted(session)
    assert await ada.store.memory.cut(ada.user.id, session) == []


async def test_marking_takes_no_commit_of_its_own(ada: Driver, session: SessionId) -> None:
    run = await ada.run(session)
    end = TurnEnd(state="completed", messages=(draft("Yes"),), memory_scope=SCOPE)
    with faults.failing("store.commit.before", nth=2):
        await ada.turns.end(session, run.token, run.turn, end)
    assert await ada.store.memory.has_uncommitted(session)


async def test_ephemeral_turn_is_not_marked(ada: Driver, session: SessionId) -> None:
    turn = new_turn()
    await ada.queue.submit(session, type(turn)(id=turn.id, parts=turn.parts, ephemeral=True))
    run = await ada.start(turn.id, await ada.claim(session))
    end = TurnEnd(state="completed", messages=(draft("Yes"),), memory_scope=SCOPE)
    await ada.turns.end(session, run.token, run.turn, end)
    assert not await ada.store.memory.has_uncommitted(session)
    assert await ada.store.memory.cut(ada.user.id, session) == []


async def test_several_turns_are_one_segment_with_their_messages(
    ada: Driver, session: SessionId
) -> None:
    turns = [await complete(ada, session, words) for words in ("One", "Two")]
    await complete(ada, session, "Not for memory", scope=None)
    segment = await begun(ada, session)
    assert segment.turns == tuple(turns)
    assert [plain_text(message.parts) for message in segment.messages] == [
        "One",
        "One?",
        "Two",
        "Two?",
    ]
    assert (segment.scope, segment.user, segment.session, segment.tries) == (
        SCOPE,
        ada.user.id,
        session,
        1,
    )


async def test_cut_again_gives_the_same_segments(ada: Driver, session: SessionId) -> None:
    await complete(ada, session)
    first = await ada.store.memory.cut(ada.user.id, session)
    assert await ada.store.memory.cut(ada.user.id, session) == first


async def test_turn_completed_after_a_cut_is_in_the_next_segment(
    ada: Driver, session: SessionId
) -> None:
    await complete(ada, session, "One")
    first = await begun(ada, session)
    late = await complete(ada, session, "Two")
    assert await ada.store.memory.committed(first.key)
    assert await ada.store.memory.has_uncommitted(session)
    assert (await begun(ada, session)).turns == (late,)


async def test_scopes_are_segments_of_their_own_in_the_order_of_their_turns(
    ada: Driver, session: SessionId
) -> None:
    for words, scope in (("One", OTHER), ("Two", SCOPE), ("Three", OTHER)):
        await complete(ada, session, words, scope=scope)
    segments = await ada.store.memory.cut(ada.user.id, session)
    assert [segment.scope for segment in segments] == [OTHER, SCOPE]
    assert await ada.store.memory.due() == segments


async def test_compacted_and_cleared_messages_are_still_there(
    ada: Driver, session: SessionId
) -> None:
    await complete(ada, session, "One")
    await ada.compact(session)
    await complete(ada, session, "Two")
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    await ada.store.leases.release(lease)
    segment = await begun(ada, session)
    assert [plain_text(message.parts) for message in segment.messages] == [
        "One",
        "One?",
        "Two",
        "Two?",
    ]


async def test_undone_turn_leaves_a_segment_that_was_not_begun(
    ada: Driver, session: SessionId
) -> None:
    kept = await complete(ada, session, "One")
    gone = await complete(ada, session, "Two")
    await ada.store.memory.cut(ada.user.id, session)
    await undo(ada, session, gone)
    assert (await begun(ada, session)).turns == (kept,)


async def test_segment_whose_turns_are_all_undone_is_withdrawn_and_may_come_back(
    ada: Driver, session: SessionId
) -> None:
    turn = await complete(ada, session)
    before = await ada.store.memory.cut(ada.user.id, session)
    await undo(ada, session, turn)
    assert not await ada.store.memory.has_uncommitted(session)
    assert await begin_first(ada, session) is None
    assert not await ada.store.memory.has_uncommitted(session)

    lease = await ada.claim(session)
    await ada.history.restore(session, lease.token)
    assert await ada.store.memory.has_uncommitted(session)
    assert await ada.store.memory.cut(ada.user.id, session) == before
    assert (await begun(ada, session)).turns == (turn,)


async def test_undone_turn_that_was_never_cut_is_not_offered(
    ada: Driver, session: SessionId
) -> None:
    await undo(ada, session, await complete(ada, session))
    assert not await ada.store.memory.has_uncommitted(session)
    assert await ada.store.memory.cut(ada.user.id, session) == []


async def test_begun_segment_never_changes(ada: Driver, session: SessionId) -> None:
    turns = [await complete(ada, session, words) for words in ("One", "Two")]
    first = await begun(ada, session)
    await ada.store.memory.failed(first.key, "down", delay=0)
    await undo(ada, session, turns[1])
    await complete(ada, session, "Three")
    again = await begun(ada, session)
    assert (again.key, again.turns, again.tries) == (first.key, tuple(turns), 2)
    assert [message.id for message in again.messages] == [m.id for m in first.messages]


async def test_begin_is_repeatable_and_refused_to_who_comes_late(
    ada: Driver, session: SessionId
) -> None:
    memory = ada.store.memory
    await complete(ada, session)
    first = await begun(ada, session)
    assert await memory.begin(first.key, after=0) == first
    await memory.begin(first.key, after=1)
    assert await memory.begin(first.key, after=0) is None
    await memory.committed(first.key)
    assert await memory.begin(first.key, after=2) is None


async def test_failed_segment_waits_and_holds_back_only_its_own_session_and_scope(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    memory = ada.store.memory
    await complete(ada, session, "One")
    failing = await begun(ada, session)
    await memory.failed(failing.key, "down", delay=60)
    await complete(ada, session, "Two")
    await complete(ada, session, "Three", scope=OTHER)
    await memory.cut(ada.user.id, session)
    assert [segment.scope for segment in await memory.due()] == [OTHER]

    clock.advance(60)
    due = await memory.due()
    assert [(segment.scope, segment.tries) for segment in due] == [(OTHER, 0), (SCOPE, 1)]
    assert due[1].error == "down"
    assert len(await memory.due(limit=1)) == 1
    await memory.committed(failing.key)
    assert [segment.tries for segment in await memory.due()] == [0, 0]


async def test_answers_that_are_no_use_are_counted_apart_from_other_failures(
    ada: Driver, session: SessionId
) -> None:
    memory = ada.store.memory
    await complete(ada, session)
    segment = await begun(ada, session)
    for tries in range(1, 6):
        assert not await memory.failed(segment.key, "down", delay=0, most=90)
        await memory.begin(segment.key, after=tries)
    no_use = partial(memory.failed, segment.key, "no use", delay=0, unusable=True, most=2)
    assert not await no_use()
    await memory.begin(segment.key, after=6)
    assert await no_use()


async def test_what_rests_does_so_until_it_is_woken(ada: Driver, session: SessionId) -> None:
    memory = ada.store.memory
    await complete(ada, session)
    segment = await begun(ada, session)
    assert await memory.failed(segment.key, "no use", delay=0, unusable=True, most=1)
    await memory.begin(segment.key, after=1)
    assert await memory.failed(segment.key, "it waits", delay=0, counts=False, most=90)
    assert await memory.due() == []
    assert await memory.wake(ada.user.id) == 1
    assert [due.key for due in await memory.due()] == [segment.key]
    await memory.begin(segment.key, after=2)
    assert not await memory.failed(segment.key, "no use", delay=0, unusable=True, most=2)


async def test_deleting_the_session_withdraws_what_is_in_flight(
    ada: Driver, session: SessionId
) -> None:
    memory = ada.store.memory
    await complete(ada, session, "One")
    segment = await begun(ada, session)
    await complete(ada, session, "Two")
    await ada.sessions.delete(session)
    assert not await memory.has_uncommitted(session)
    assert await memory.begin(segment.key, after=1) is None
    assert not await memory.committed(segment.key)
    assert await memory.all_waiting() == []


async def test_what_a_provider_may_have_of_a_purged_session_is_known_until_it_forgot(
    ada: Driver, session: SessionId, folder: Path, clock: FakeClock
) -> None:
    memory, deleted = ada.store.memory, Deleted(session, SCOPE)
    await complete(ada, session)
    await begun(ada, session)
    await ada.sessions.delete(session)
    clock.advance(61)

    async def purged() -> bool:
        await ada.settings.put("nudge", "1")
        return set(await rows_naming(folder, session)) == {"memory_segments"}

    await eventually(purged)
    assert await memory.to_forget() == [deleted]
    await memory.forgotten(deleted)
    assert await memory.to_forget() == []
    assert await rows_naming(folder, session) == {}


async def test_sessions_are_idle_after_their_last_turn(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    memory = ada.store.memory
    await complete(ada, session)
    clock.advance(59)
    assert await memory.waiting_sessions(60) == []
    clock.advance(1)
    assert [each.session for each in await memory.waiting_sessions(60)] == [session]
    run = await ada.run(session)
    clock.advance(60)
    assert await memory.waiting_sessions(60) == [], "a turn runs"
    await ada.end(run)
    assert await memory.waiting_sessions(60) == [], "it has just ended"
    clock.advance(60)
    assert len(await memory.waiting_sessions(60)) == 1
    await memory.cut(ada.user.id, session)
    assert await memory.waiting_sessions(60) == [], "it is in a segment"


async def test_all_that_wait_are_listed(ada: Driver, bob: Driver) -> None:
    memory = ada.store.memory
    marked, cut, done = [await ada.session() for _ in range(3)]
    for session in (marked, cut, done):
        await complete(ada, session)
    await memory.cut(ada.user.id, cut)
    await memory.committed((await begun(ada, done)).key)
    mine = await bob.session()
    await complete(bob, mine)
    waiting = {(each.user, each.session) for each in await memory.all_waiting()}
    assert waiting == {(ada.user.id, marked), (ada.user.id, cut), (bob.user.id, mine)}


async def test_status_counts_and_shows_the_last_failure(
    ada: Driver, bob: Driver, session: SessionId, clock: FakeClock
) -> None:
    memory = ada.store.memory
    await complete(ada, session, "One")
    segment = await begun(ada, session)
    await memory.failed(segment.key, "down", delay=5)
    await complete(ada, session, "Two")
    assert await memory.status(ada.user.id) == MemoryStatus(
        marked=1, pending=1, failing=1, error="down", due_at=clock.now() + 5000
    )
    assert await memory.status() == await memory.status(ada.user.id)
    nothing = MemoryStatus(marked=0, pending=0, failing=0, error=None, due_at=None)
    assert await memory.status(bob.user.id) == nothing


@pytest.mark.parametrize("name", ["", "ses_unknown"])
async def test_unknown_sessions_and_keys_do_nothing(ada: Driver, name: str) -> None:
    memory, session = ada.store.memory, SessionId(name)
    assert await memory.cut(ada.user.id, session) == []
    assert await memory.cut(UserId(""), session) == []
    assert not await memory.has_uncommitted(session)
    assert await memory.begin(name, after=0) is None
    assert not await memory.committed(name)
    await memory.failed(name, "down", delay=1)


async def test_another_users_session_is_not_cut(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    await complete(ada, session)
    assert await ada.store.memory.cut(bob.user.id, session) == []
    assert (await ada.store.memory.status()).marked == 1
    await ada.store.memory.cut(ada.user.id, session)
    assert await ada.store.memory.pending(bob.user.id, session) == []


async def test_memory_raises_no_revision(ada: Driver, session: SessionId) -> None:
    await complete(ada, session)
    before = await ada.sessions.get(session)
    segment = await begun(ada, session)
    await ada.store.memory.failed(segment.key, "down", delay=0)
    await ada.store.memory.committed(segment.key)
    assert await ada.sessions.get(session) == before


async def test_branch_and_import_bring_no_marks(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    await complete(ada, session)
    imported = await bob.transfer.load(await ada.transfer.export(session))
    assert not await bob.store.memory.has_uncommitted(imported.session.id)


async def test_marks_and_segments_survive_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    async with opened(tmp_path, clock) as store:
        ada = await Driver.of(store, "Ada")
        session = await ada.session()
        await complete(ada, session, "One")
        first = await begun(ada, session)
        await complete(ada, session, "Two")
    async with opened(tmp_path, clock) as store:
        ada = Driver(store, ada.user)
        assert [each.session for each in await store.memory.all_waiting()] == [session]
        again = await begun(ada, session)
        assert (again.key, again.turns, again.messages) == (
            first.key,
            first.turns,
            first.messages,
        )
        assert (await store.memory.status()).pending == 2
