"""Histories: read whole, by page or since a revision; taken back, cleared, restored, branched."""

from functools import partial

import pytest
from msgspec.structs import replace

from roost.core.errors import Conflict, InvalidInput, KeyReused, NotFound
from roost.core.events import (
    AttemptBegan,
    HistoryRewritten,
    MessageAdded,
    Recorded,
    SessionUpdated,
)
from roost.core.ids import BlobId, SessionId, TurnId, new_message_id, new_tool_call_id
from roost.core.messages import Draft, FilePart, TextPart, ToolCallPart, ToolResultPart
from roost.core.sessions import Parent
from roost.core.turns import Step
from roost.core.usage import Usage
from roost.store import watching
from roost.store.upkeep import DAY
from roost.store.watching import PAGE_BYTES, Page
from roost.testing.clock import FakeClock
from tests.store_driver import Driver, draft, new_session, new_turn, summary, text

pytestmark = pytest.mark.both


@pytest.fixture
async def turns(ada: Driver, session: SessionId) -> list[TurnId]:
    """Three turns, two messages each."""
    return [await ada.talk(session, f"Question {n}", f"Answer {n}") for n in range(3)]


async def test_load_gives_what_a_reader_lacks(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    whole = await ada.history.load(session)
    assert [message.position for message in whole.messages] == [1, 2, 3, 4, 5, 6]
    assert [message.turn for message in whole.messages] == [t for t in turns for _ in range(2)]
    rest = await ada.history.load(session, after=4)
    assert rest.messages == whole.messages[4:]
    assert (await ada.history.load(session, after=99)).messages == ()


async def test_note_stands_between_turns_once_and_is_no_activity(
    ada: Driver, session: SessionId, turns: list[TurnId], clock: FakeClock
) -> None:
    before = await ada.sessions.get(session)
    clock.advance(3600)
    lease = await ada.claim(session)
    note = draft("The shell ended.", "note")
    written = await ada.history.note(session, lease.token, note)
    assert await ada.history.note(session, lease.token, note) == written
    (last,) = (await ada.history.load(session, after=6)).messages
    assert (last.id, last.role, last.turn, last.position) == (note.id, "note", None, 7)
    now = await ada.sessions.get(session)
    assert (now.active_at, now.unread) == (before.active_at, before.unread)


async def test_note_does_not_come_into_a_turn(ada: Driver) -> None:
    run = await ada.run()
    with pytest.raises(Conflict, match="under way"):
        await ada.history.note(run.session, run.token, draft("No.", "note"))


async def test_pages_go_back_and_are_not_moved_by_appends(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    live = await ada.live(session)
    last = await ada.history.page(session, limit=4)
    assert list(last) == live[2:]
    await ada.talk(session)
    assert list(await ada.history.page(session, before=last[0].position, limit=4)) == live[:2]
    assert await ada.history.page(session, before=1) == ()


async def test_page_of_long_messages_ends_early_and_the_next_goes_on(
    ada: Driver, session: SessionId
) -> None:
    for n in range(3):
        await ada.talk(session, f"Question {n}", f"{n}" * (PAGE_BYTES // 2))
    live = await ada.live(session)
    pages: list[Page] = []
    while not pages or pages[-1].older:
        before = pages[-1].messages[0].position if pages else None
        pages.append(await ada.history.whole_page(session, before=before))
    assert [len(page.messages) for page in pages] == [3, 3]
    assert [message for page in pages[::-1] for message in page.messages] == live
    shown = await ada.history.snapshot(session)
    assert (list(shown.messages), shown.older) == (live[3:], True)


async def test_message_of_any_length_has_a_page(ada: Driver, session: SessionId) -> None:
    await ada.talk(session, "Question", "x" * (2 * PAGE_BYTES))
    page = await ada.history.whole_page(session)
    assert [message.role for message in page.messages] == ["assistant"]
    rest = await ada.history.whole_page(session, before=page.messages[0].position)
    assert ([message.role for message in rest.messages], rest.older) == (["user"], False)


@pytest.mark.parametrize("limit", [0, 201])
async def test_page_has_a_size_that_makes_sense(
    ada: Driver, session: SessionId, limit: int
) -> None:
    with pytest.raises(InvalidInput):
        await ada.history.page(session, limit=limit)


async def test_since_gives_every_event_after_a_revision_with_its_messages(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    all_of_it = await ada.history.since(session, 0)
    assert all_of_it.complete
    assert [record.revision for record in all_of_it.recorded] == list(range(1, 11))
    assert list(all_of_it.messages) == await ada.live(session)
    last = await ada.history.since(session, 9)
    assert last.recorded == all_of_it.recorded[9:]
    assert list(last.messages) == (await ada.live(session))[5:]
    nothing = await ada.history.since(session, 10)
    assert (nothing.complete, nothing.recorded, nothing.messages) == (True, (), ())


async def test_since_says_when_it_can_not_tell_everything(
    ada: Driver, session: SessionId, clock: FakeClock
) -> None:
    await ada.talk(session)
    clock.advance(31 * DAY)
    await ada.submit(session)
    await ada.store.upkeep.run()
    assert not (await ada.history.since(session, 0)).complete
    assert (await ada.history.since(session, 4)).complete
    assert not (await ada.history.since(session, 99)).complete, "of another life of the session"


async def test_who_was_away_for_long_is_not_told_of_it_all(
    ada: Driver, session: SessionId, turns: list[TurnId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "CATCH_UP", 9)
    told = await ada.history.since(session, 1)
    assert (told.complete, len(told.recorded)) == (True, 9)
    too_many = await ada.history.since(session, 0)
    assert (too_many.complete, too_many.recorded, too_many.messages) == (False, (), ())


async def test_pinned_message_is_read_as_one_and_let_go_again(
    ada: Driver, session: SessionId, turns: list[TurnId], clock: FakeClock
) -> None:
    clock.advance(60)
    before = await ada.sessions.get(session)
    first, second, *_ = await ada.live(session)
    for _ in range(2):
        await ada.history.pin(session, first.id, True)
    after = await ada.sessions.get(session)
    assert after == replace(before, revision=before.revision + 1)
    assert await ada.live(session) == [replace(first, pinned=True), *(await ada.live(session))[1:]]
    assert (await ada.history.page(session))[0].pinned
    assert (await ada.history.snapshot(session)).messages[0].pinned
    changes = await ada.history.since(session, before.revision)
    assert changes.recorded[0].events == (SessionUpdated(("pinned_messages",)),)

    branch = await ada.branches.branch(session, new_session())
    assert [message.pinned for message in await ada.live(branch.id)][:2] == [True, False]
    await ada.compact(session)
    assert [m.pinned for m in (await ada.history.replaced(session, 1)).messages][:2] == [
        True,
        False,
    ]
    with pytest.raises(NotFound):
        await ada.history.pin(session, second.id, True)

    copied = (await ada.live(branch.id))[0]
    await ada.history.pin(branch.id, copied.id, False)
    assert not (await ada.live(branch.id))[0].pinned


async def test_what_stands_about_a_place_is_read_without_what_was_taken_back(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    kept = await ada.live(session)
    undone = await ada.talk(session, "No, not that")
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, undone)
    await ada.store.leases.release(lease)
    await ada.compact(session)
    (note,) = await ada.live(session)
    found = await ada.history.around(session, 1, reach=20)
    assert [message.id for message in found] == [kept[0].id, note.id, *[m.id for m in kept[1:]]]


async def test_message_is_not_pinned_by_way_of_another_session(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    other = await ada.session()
    before = await ada.everything(session), await ada.everything(other)
    with pytest.raises(NotFound):
        await ada.history.pin(other, (await ada.live(session))[0].id, True)
    assert (await ada.everything(session), await ada.everything(other)) == before


async def test_what_a_compaction_took_is_not_replaced_by_another(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    gone = (await ada.live(session))[0].id
    await ada.compact(session)
    (note,) = await ada.live(session)
    lease = await ada.claim(session)
    before = await ada.everything(session)
    with pytest.raises(InvalidInput, match=gone):
        await ada.history.compact(session, lease.token, summary(1, (note.id, gone)))
    assert await ada.everything(session) == before


async def test_what_was_pinned_after_a_compaction_was_planned_is_not_replaced(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    found = await ada.history.load(session)
    planned = summary(found.session.epoch, tuple([message.id for message in found.messages]))
    await ada.history.pin(session, found.messages[1].id, True)
    lease = await ada.claim(session)
    before = await ada.everything(session)
    with pytest.raises(Conflict, match="pinned"):
        await ada.history.compact(session, lease.token, replace(planned, spares_pinned=True))
    assert await ada.everything(session) == before


async def test_message_is_pinned_while_a_turn_runs(ada: Driver) -> None:
    run = await ada.run()
    await ada.history.pin(run.session, (await ada.live(run.session))[0].id, True)
    await ada.end(run, "Good day")
    assert [message.pinned for message in await ada.live(run.session)] == [True, False]


async def test_undo_takes_back_a_turn_and_all_after_it_but_not_the_queue(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    waiting = await ada.submit(session, "Waiting")
    lease = await ada.claim(session)
    written = await ada.history.undo(session, lease.token, turns[1])
    assert await ada.texts(session) == ["Question 0", "Answer 0"]
    found = await ada.sessions.get(session)
    assert (found.epoch, found.head) == (written.epoch, written.head) == (1, 6)
    assert (found.counters.messages, found.counters.turns) == (2, 1)
    undone = [turn.undone for turn in await ada.turns.of(session)]
    assert undone == [None, 1, 1, None]
    assert [turn.id for turn in await ada.queue.of(session)] == [waiting]
    last = (await ada.history.since(session, written.revision - 1)).recorded
    assert [record.events for record in last] == [(HistoryRewritten(1, "undo"),)]


async def test_no_rewrite_loses_or_repeats_what_happened_before(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    """Whoever is behind it is told of everything in order, from wherever they are."""
    told: list[Recorded] = []
    for rewrite in ("undo", "restore", "compact", "restore", "clear", "talk", "undo"):
        latest = await ada.turns.latest(session)
        lease = await ada.claim(session)
        if rewrite == "undo":
            assert latest is not None
            await ada.history.undo(session, lease.token, latest.id)
        elif rewrite == "restore":
            await ada.history.restore(session, lease.token)
        elif rewrite == "clear":
            await ada.history.clear(session, lease.token)
        await ada.store.leases.release(lease)
        if rewrite == "compact":
            await ada.compact(session)
        elif rewrite == "talk":
            await ada.talk(session)
        changes = await ada.history.since(session, 0)
        assert changes.complete
        assert list(changes.recorded[: len(told)]) == told
        told = list(changes.recorded)
        assert [record.revision for record in told] == list(range(1, len(told) + 1))
        for revision in range(len(told)):
            later = await ada.history.since(session, revision)
            assert list(later.recorded) == told[revision:]


async def test_step_of_several_messages_is_told_of_once(ada: Driver) -> None:
    run = await ada.run()
    step = Step(messages=(draft("One"), draft("Two"), draft("Three")))
    begun = await ada.turns.append(run.session, run.token, run.turn, step)
    (recorded,) = (await ada.history.since(run.session, begun.revision - 1)).recorded
    assert recorded.events == (
        *[MessageAdded(message.id) for message in step.messages],
        AttemptBegan(run.turn, 2, 2),
    )


async def test_messages_after_an_undo_take_new_places(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, turns[1])
    await ada.store.leases.release(lease)
    await ada.talk(session, "Other", "Way")
    places = [(message.position, message.born) for message in await ada.live(session)]
    assert places == [(1, 0), (2, 0), (7, 1), (8, 1)]


async def test_what_is_not_in_the_history_can_not_be_undone(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    waiting = await ada.submit(session)
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, turns[2])
    before = await ada.everything(session)
    for turn, error in ((turns[2], Conflict), (waiting, NotFound), (TurnId("trn_x"), NotFound)):
        with pytest.raises(error):
            await ada.history.undo(session, lease.token, turn)
    assert await ada.everything(session) == before


async def test_edit_puts_the_new_message_first_in_the_queue(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    waiting = await ada.submit(session, "Waiting")
    lease = await ada.claim(session)
    new = new_turn("Better question")
    written = await ada.history.edit(session, lease.token, turns[2], new)
    assert [turn.id for turn in await ada.queue.of(session)] == [new.id, waiting]
    assert (await ada.texts(session))[-1] == "Answer 1"
    again = await ada.history.edit(session, lease.token, turns[2], new)
    assert again == written
    other = replace(new, parts=text("Another"))
    with pytest.raises(KeyReused):
        await ada.history.edit(session, lease.token, turns[1], other)
    assert (await ada.sessions.get(session)).epoch == 1


async def test_clear_begins_anew_under_the_same_id(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    before = await ada.live(session)
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    assert await ada.live(session) == []
    assert [m.id for m in (await ada.history.replaced(session, 1)).messages] == [
        m.id for m in before
    ]
    await ada.history.restore(session, lease.token)
    assert await ada.live(session) == before


async def test_what_was_replaced_is_read_page_by_page(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    before = [message.id for message in await ada.live(session)]
    lease = await ada.claim(session)
    await ada.history.clear(session, lease.token)
    await ada.talk(session, "After that", "Yes.")
    last = await ada.history.replaced(session, 1, limit=4)
    assert ([message.id for message in last.messages], last.older) == (before[2:], True)
    first = await ada.history.replaced(session, 1, before=last.messages[0].position, limit=4)
    assert ([message.id for message in first.messages], first.older) == (before[:2], False)
    nothing = await ada.history.replaced(session, 1, before=1)
    assert (nothing.messages, nothing.older) == ((), False)


async def test_what_was_replaced_and_is_long_comes_in_more_pages(
    ada: Driver, session: SessionId
) -> None:
    await ada.talk(session, "Question", "x" * (2 * PAGE_BYTES))
    await ada.compact(session)
    last = await ada.history.replaced(session, 1)
    assert ([message.role for message in last.messages], last.older) == (["assistant"], True)


async def test_taking_back_an_undo_leaves_earlier_ones_as_they_are(
    ada: Driver, session: SessionId
) -> None:
    first, undone = await ada.talk(session, "One"), await ada.talk(session, "Two")
    await ada.history.undo(session, (await ada.claim(session)).token, undone)
    third = await ada.talk(session, "Three")
    before = await ada.texts(session)
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, first)
    await ada.history.restore(session, lease.token)
    assert await ada.texts(session) == before
    found = {turn.id: turn.undone for turn in await ada.turns.of(session)}
    assert found == {first: None, undone: 1, third: None}
    assert (await ada.sessions.get(session)).counters.turns == 2


async def test_undo_can_be_taken_back_until_something_is_said(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    before = await ada.live(session)
    lease = await ada.claim(session)
    await ada.history.undo(session, lease.token, turns[1])
    await ada.history.restore(session, lease.token)
    assert await ada.live(session) == before
    assert (await ada.sessions.get(session)).counters.turns == 3
    assert {turn.undone for turn in await ada.turns.of(session)} == {None}

    await ada.history.undo(session, lease.token, turns[2])
    await ada.store.leases.release(lease)
    await ada.talk(session)
    lease = await ada.claim(session)
    with pytest.raises(Conflict):
        await ada.history.restore(session, lease.token)


async def test_history_that_was_never_rewritten_has_nothing_to_restore(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    lease = await ada.claim(session)
    with pytest.raises(Conflict):
        await ada.history.restore(session, lease.token)
    await ada.history.edit(session, lease.token, turns[2], new_turn())
    with pytest.raises(Conflict):
        await ada.history.restore(session, lease.token)


async def test_second_compaction_replaces_the_first_ones_summary(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    await ada.compact(session, "First summary")
    await ada.talk(session, "More", "Of it")
    await ada.compact(session, "Second summary")
    assert await ada.texts(session) == ["Second summary"]
    assert (await ada.sessions.get(session)).epoch == 2
    lease = await ada.claim(session)
    await ada.history.restore(session, lease.token)
    assert await ada.texts(session) == ["First summary", "More", "Of it"]


async def test_compactions_usage_is_counted(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    first = (await ada.live(session))[0].id
    lease = await ada.claim(session)
    usage = Usage("p", "m", input_tokens=3, cost=4)
    compaction = replace(summary(0, (first,)), usage=(usage,))
    await ada.history.compact(session, lease.token, compaction)
    counters = (await ada.sessions.get(session)).counters
    assert (counters.input_tokens, counters.cost) == (3, 4)


async def test_branch_copies_the_live_history_under_new_ids(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    before = await ada.everything(session)
    new = new_session("cli")
    branch = await ada.branches.branch(session, new)
    assert (branch.id, branch.origin) == (new.id, "cli")
    assert branch.parent == Parent(session, "branch")
    assert (branch.revision, branch.epoch, branch.counters.messages) == (1, 0, 6)
    assert await ada.texts(new.id) == await ada.texts(session)
    mine, copied = await ada.live(session), await ada.live(new.id)
    assert not {message.id for message in mine} & {message.id for message in copied}
    assert not {message.turn for message in mine} & {message.turn for message in copied}
    assert [message.created_at for message in mine] == [message.created_at for message in copied]
    assert await ada.everything(session) == before
    assert await ada.branches.branch(session, new) == branch


async def test_branch_and_source_go_their_own_ways(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    branch = (await ada.branches.branch(session, new_session())).id
    await ada.talk(branch, "This", "Way")
    await ada.talk(session, "That", "Way")
    copies = await ada.turns.of(branch)
    lease = await ada.claim(branch)
    await ada.history.undo(branch, lease.token, copies[1].id)
    assert await ada.texts(branch) == ["Question 0", "Answer 0"]
    assert (await ada.texts(session))[-2:] == ["That", "Way"]


async def test_branch_at_a_message_ends_with_it(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    third = (await ada.live(session))[2]
    branch = await ada.branches.branch(session, new_session(), at=third.id)
    assert await ada.texts(branch.id) == ["Question 0", "Answer 0", "Question 1"]
    assert (branch.head, branch.counters.messages, branch.counters.turns) == (3, 3, 2)
    assert branch.parent == Parent(session, "branch", third.id)


async def test_branch_during_a_turn_stops_short_where_it_was(ada: Driver) -> None:
    run = await ada.run()
    call = (await ada.call_tool(run)).call
    branch = (await ada.branches.branch(run.session, new_session())).id
    (turn,) = await ada.turns.of(branch)
    assert turn.state == "interrupted"
    (copied,) = await ada.turns.tool_calls(turn.id)
    assert (copied.call, copied.state) == (call, "cancelled")
    assert (await ada.sessions.get(branch)).state == "idle"
    assert (await ada.turns.get(run.turn)).state == "running"


async def test_branch_answers_the_calls_whose_results_it_has_not(
    ada: Driver, session: SessionId
) -> None:
    run = await ada.run(session)
    first, second = [ToolCallPart(new_tool_call_id(), "ls", "{}") for _ in range(2)]
    nul = TextPart("a\0b, which is \\u0000")  # a database may not take it for text
    asked = Draft(new_message_id(), "assistant", (nul, first, second))
    await ada.turns.append(session, run.token, run.turn, Step(messages=(asked,)))
    results = tuple(ToolResultPart(each.call, (nul,)) for each in (first, second))
    move = partial(ada.turns.set_tool_call, session, run.token, run.turn)
    for result in results:
        await move(result.call, "running")
        await move(result.call, "done", (result,))
    before_results = await ada.branches.branch(session, new_session())
    answered = Draft(new_message_id(), "tool", results)
    await ada.turns.append(session, run.token, run.turn, Step(messages=(answered,)))
    at_the_call = await ada.branches.branch(session, new_session(), at=asked.id)
    for branch in (before_results, at_the_call):
        assert (branch.head, branch.counters.messages, branch.counters.turns) == (3, 3, 1)
        last = (await ada.live(branch.id))[-1]
        assert (last.role, last.position) == ("tool", 3)
        said = (TextPart("Not run: this conversation was branched off before it came to this."),)
        assert last.parts == tuple(ToolResultPart(r.call, said, error=True) for r in results)
        (turn,) = await ada.turns.of(branch.id)
        assert (last.turn, turn.state) == (turn.id, "interrupted")
        calls = await ada.turns.tool_calls(turn.id)
        assert [(each.state, each.result) for each in calls] == [("cancelled", None)] * 2
        await ada.talk(branch.id)
        assert [message.position for message in await ada.live(branch.id)] == [1, 2, 3, 4, 5]
    whole = await ada.branches.branch(session, new_session())
    assert (await ada.live(whole.id))[-1].parts == results
    (turn,) = await ada.turns.of(whole.id)
    assert [each.state for each in await ada.turns.tool_calls(turn.id)] == ["done", "done"]


async def test_branch_at_what_is_not_in_the_history_is_refused(
    ada: Driver, session: SessionId, turns: list[TurnId]
) -> None:
    gone = (await ada.live(session))[0].id
    await ada.compact(session)
    elsewhere = (await ada.live((await ada.run()).session))[0].id
    for message in (gone, elsewhere, new_message_id()):
        with pytest.raises(NotFound):
            await ada.branches.branch(session, new_session(), at=message)
    assert len(await ada.sessions.page()) == 2


async def test_branch_keeps_its_attachments_when_the_source_is_deleted(
    ada: Driver, clock: FakeClock
) -> None:
    run = await ada.run()
    blob = await ada.blobs.put_bytes(b"owl", "image/png")
    shown = Draft(
        new_message_id(), "assistant", (FilePart(blob.id, blob.media_type, "owl.png", 3),)
    )
    await ada.turns.append(run.session, run.token, run.turn, Step(messages=(shown,)))
    branch = (await ada.branches.branch(run.session, new_session())).id
    await ada.sessions.delete(run.session)
    clock.advance(2 * DAY)
    await ada.store.upkeep.run()
    assert [each.id for each in await ada.blobs.of_session(branch)] == [blob.id]
    assert await ada.blobs.read_bytes(blob.id) == b"owl"


async def test_session_opens_with_what_was_said_elsewhere_once(ada: Driver, bob: Driver) -> None:
    new, said = new_session(), (draft("One?", "user"), draft("One."))
    opened = await ada.branches.open(new, said)
    assert (opened.head, opened.counters.messages, opened.unread) == (2, 2, False)
    assert await ada.branches.open(new, (draft("Other"),)) == opened
    live = await ada.live(new.id)
    assert [(message.id, message.turn, message.position) for message in live] == [
        (said[0].id, None, 1),
        (said[1].id, None, 2),
    ]
    await ada.talk(new.id, "Two?", "Two.")
    assert [message.position for message in await ada.live(new.id)] == [1, 2, 3, 4]
    with pytest.raises(InvalidInput, match="taken"):
        await bob.branches.open(new, said)


async def test_opening_with_an_attachment_that_is_not_there_opens_nothing(ada: Driver) -> None:
    new = new_session()
    missing = FilePart(BlobId("0" * 64), "text/plain", "a.txt", 1)
    with pytest.raises(InvalidInput, match="Upload it first"):
        await ada.branches.open(new, (Draft(new_message_id(), "user", (missing,)),))
    with pytest.raises(NotFound):
        await ada.sessions.get(new.id)
