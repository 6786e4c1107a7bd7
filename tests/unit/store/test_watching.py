"""What watchers read: a session at one moment, and everything that changed since, named."""

import asyncio

import pytest

from roost.core.errors import InvalidInput, NotFound
from roost.core.events import Cursor
from roost.core.ids import SessionId, new_session_id
from roost.core.messages import plain_text
from tests.store_driver import Driver, deltas, summary

pytestmark = pytest.mark.both


async def test_snapshot_of_an_empty_session(ada: Driver, session: SessionId) -> None:
    shown = await ada.history.snapshot(session)
    assert shown.session == await ada.sessions.get(session)
    assert shown.cursor == Cursor(0, 1)
    assert (shown.messages, shown.queue, shown.turn) == ((), (), None)
    assert (shown.calls, shown.approvals, shown.deltas) == ((), (), ())


async def test_snapshot_shows_the_turn_under_way(ada: Driver, session: SessionId) -> None:
    past = await ada.run(session)
    await ada.call_tool(past)
    await ada.end(past, "Done")
    run = await ada.run(session)
    call = (await ada.call_tool(run)).call
    waits = [await ada.submit(session, words) for words in ("First", "Second")]
    await ada.stream(run, "abc", attempt=2)
    await ada.stream(run, "de", first=4, attempt=2)
    shown = await ada.history.snapshot(session)
    assert shown.turn == await ada.turns.get(run.turn)
    assert [each.call for each in shown.calls] == [call]
    assert [turn.id for turn in shown.turns] == [past.turn, run.turn]
    assert [each.turn for each in shown.past_calls] == [past.turn]
    assert [turn.id for turn in shown.queue] == waits
    assert shown.messages == tuple(await ada.live(session))
    assert shown.deltas == (deltas("abc"), deltas("de", first=4))
    assert shown.cursor == Cursor(0, shown.session.revision, run.turn, 2, 5)


async def test_page_comes_with_its_turns_and_calls(ada: Driver, session: SessionId) -> None:
    first = await ada.run(session)
    calls = [(await ada.call_tool(first)).call for _ in range(3)]
    await ada.end(first, "Done")
    second = await ada.talk(session, "And?", "Well.")
    newest = await ada.history.whole_page(session, limit=2)
    assert [turn.id for turn in newest.turns] == [second]
    assert newest.calls == ()
    older = await ada.history.whole_page(session, before=newest.messages[0].position, limit=2)
    assert [turn.id for turn in older.turns] == [first.turn]
    assert [call.call for call in older.calls] == calls[-1:], "those of this page, not of the turn"
    whole = await ada.history.whole_page(session)
    assert whole.messages == tuple(await ada.live(session))
    assert [call.call for call in whole.calls] == calls


async def test_snapshot_has_the_turn_under_way_though_its_messages_were_compacted(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    replaced = tuple([message.id for message in await ada.live(session)])
    await ada.history.compact(session, run.token, summary(0, replaced))
    shown = await ada.history.snapshot(session)
    assert [message.turn for message in shown.messages] == [None]
    assert shown.turns == (shown.turn,)


async def test_what_was_replaced_comes_with_its_turns_and_calls(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    call = (await ada.call_tool(run)).call
    await ada.end(run, "Done")
    await ada.compact(session)
    replaced = await ada.history.replaced(session, 1)
    assert [turn.id for turn in replaced.turns] == [run.turn]
    assert [each.call for each in replaced.calls] == [call]
    assert (await ada.history.whole_page(session)).turns == ()


async def test_snapshot_of_a_parked_turn_shows_its_question(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    asked = await ada.park(run)
    shown = await ada.history.snapshot(session)
    assert shown.turn is not None
    assert shown.turn.state == "waiting"
    assert [each.id for each in shown.approvals] == [asked.id]
    assert shown.cursor == Cursor(0, shown.session.revision)
    assert shown.deltas == ()


async def test_settled_question_comes_with_the_messages_that_it_is_about(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    asked = await ada.park(run)
    assert (await ada.history.whole_page(session)).approvals == ()
    await ada.approvals.answer(asked.id, "approved", answer=None, by=ada.user.id, on="cli")
    shown = await ada.history.snapshot(session)
    page = await ada.history.whole_page(session)
    assert shown.approvals == ()
    assert shown.past_approvals == page.approvals
    (settled,) = page.approvals
    assert (settled.id, settled.state, settled.answered_on) == (asked.id, "approved", "cli")
    (first, *_) = page.messages
    assert first.role == "user"
    before = await ada.history.whole_page(session, before=first.position + 1)
    assert before.approvals == ()


async def test_snapshot_has_the_newest_messages_oldest_first(
    ada: Driver, session: SessionId
) -> None:
    for n in range(3):
        await ada.talk(session, f"Q{n}", f"A{n}")
    shown = await ada.history.snapshot(session, limit=3)
    assert [plain_text(message.parts) for message in shown.messages] == ["A1", "Q2", "A2"]
    for limit in (0, 201):
        with pytest.raises(InvalidInput):
            await ada.history.snapshot(session, limit=limit)
    with pytest.raises(NotFound):
        await ada.history.snapshot(new_session_id())


async def test_snapshot_is_of_one_moment(ada: Driver, session: SessionId) -> None:
    """However many writes go on around it, each part of it is of the revision that it says."""

    async def write() -> None:
        for n in range(30):
            await ada.talk(session, f"Q{n}", f"A{n}")

    async def look() -> None:
        while not writing.done():
            shown = await ada.history.snapshot(session, limit=200)
            assert len(shown.messages) == shown.session.counters.messages
            assert len(shown.queue) == shown.session.queued
            if shown.turn is not None:
                assert shown.messages[-1].turn == shown.turn.id

    writing = asyncio.create_task(write())
    await asyncio.gather(writing, look(), look())


async def test_changes_carry_what_their_events_name(ada: Driver, session: SessionId) -> None:
    await ada.talk(session, "Before")
    revision = (await ada.sessions.get(session)).revision
    run = await ada.run(session)
    asked = await ada.park(run)
    changes = await ada.history.since(session, revision)
    assert changes.complete
    assert [turn.id for turn in changes.turns] == [run.turn]
    assert changes.turns[0].state == "waiting"
    assert [call.state for call in changes.calls] == ["waiting"]
    assert [each.id for each in changes.approvals] == [asked.id]
    assert [message.turn for message in changes.messages] == [run.turn] * 2
    last = await ada.history.since(session, changes.session.revision - 1)
    assert (last.messages, len(last.calls), len(last.approvals)) == ((), 1, 1)
    none = await ada.history.since(session, changes.session.revision)
    assert (none.complete, none.recorded, none.turns, none.calls) == (True, (), (), ())


async def test_reader_from_a_future_that_was_not_kept_reads_anew(
    ada: Driver, session: SessionId
) -> None:
    """A backup was restored: the session is younger than what the reader saw."""
    changes = await ada.history.since(session, 10)
    assert (changes.complete, changes.recorded) == (False, ())
