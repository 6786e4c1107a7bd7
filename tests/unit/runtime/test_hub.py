"""The hub: a snapshot, then the tail, in an order that a reader can rely on."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack

import msgspec
import pytest

from roost.core.errors import NotFound, StoreUnavailable
from roost.core.events import (
    AttemptBegan,
    Changed,
    Cursor,
    NoticeDelta,
    ReasoningDelta,
    Rewound,
    SessionEvent,
    SessionUpdated,
    Snapshot,
    Streamed,
    TextDelta,
    TurnUpdated,
    parse_cursor,
)
from roost.core.ids import SessionId, Token, new_turn_id
from roost.runtime.attempt import Attempt
from roost.runtime.hub import Hub
from roost.runtime.tail import Bounds
from tests.store_driver import Driver, text
from tests.streaming import GatedStore, Stage, View, catch_up, follow, kinds, next_event

FEW = Bounds(entries=4, bytes=1 << 20)


@pytest.fixture
async def hub(ada: Driver) -> AsyncGenerator[Hub]:
    hub = Hub(ada.store)
    yield hub
    await hub.close()


@pytest.fixture
async def stage(ada: Driver, hub: Hub, session: SessionId) -> Stage:
    return Stage(ada, hub, session)


# Beginning.


async def test_snapshot_comes_first_and_then_what_follows_it(stage: Stage, hub: Hub) -> None:
    await stage.start("Good day")
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        assert kinds(view) == ["Snapshot"]
        stage.stream("a")
        await catch_up(view, events, stage)
        await stage.end("abc")
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Streamed", "Changed"]
    assert list(view.messages.values()) == await stage.user.live(stage.session)


async def test_snapshot_has_all_that_was_streamed_so_far(stage: Stage, hub: Hub) -> None:
    await stage.start()
    stage.stream(ReasoningDelta("hm"), "a", "b")
    await stage.user.store.work.tick([], [])  # nothing of it is durable
    async with hub.watch(stage.user.user.id, stage.session) as events:
        snapshot = await next_event(events)
        assert isinstance(snapshot, Snapshot)
        [deltas] = snapshot.deltas
        assert deltas.deltas == (ReasoningDelta("hm"), TextDelta("ab"))
        assert snapshot.cursor.seq == deltas.last_seq == 3
        stage.stream("c")
        event = await next_event(events)
    assert isinstance(event, Streamed)
    assert (event.deltas.first_seq, event.deltas.deltas) == (4, (TextDelta("c"),))


async def test_write_during_the_first_read_is_not_missed(ada: Driver, session: SessionId) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = Stage(ada, hub, session)
    log.shut()
    async with AsyncExitStack() as stack:
        entering = asyncio.create_task(stack.enter_async_context(hub.watch(ada.user.id, session)))
        await log.asked.wait()
        await stage.start()
        stage.stream("a")
        log.gate.set()
        events = await entering
        view = await catch_up(View(), events, stage)
        assert view.text == "a"
    await hub.close()


async def test_session_of_another_user_is_not_there(stage: Stage, hub: Hub, bob: Driver) -> None:
    with pytest.raises(NotFound):
        async with hub.watch(bob.user.id, stage.session):
            pass
    async with hub.watch(stage.user.user.id, stage.session) as events:
        await stage.start()
        await catch_up(View(), events, stage)


async def test_stranger_at_the_door_takes_nothing_from_the_owner(
    ada: Driver, bob: Driver, session: SessionId
) -> None:
    store = GatedStore(ada, bob)
    hub = Hub(store)
    stage = Stage(ada, hub, session)
    store.logs[bob.user.id].shut()
    async with AsyncExitStack() as stack:
        knocking = asyncio.create_task(stack.enter_async_context(hub.watch(bob.user.id, session)))
        await store.logs[bob.user.id].asked.wait()
        async with hub.watch(ada.user.id, session) as events:
            await stage.start()
            view = await catch_up(View(), events, stage)
            store.logs[bob.user.id].gate.set()
            with pytest.raises(NotFound):
                await knocking
            await stage.end()
            await catch_up(view, events, stage)


# Order.


async def test_deltas_wait_for_the_event_that_their_attempt_began(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = Stage(ada, hub, session)
    async with hub.watch(ada.user.id, session) as events:
        view = await catch_up(View(), events, stage)
        log.shut()
        await stage.start()
        stage.stream("a")
        await log.asked.wait()
        assert not await _tells(events, view)
        log.gate.set()
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Changed", "Changed", "Streamed"]
    await hub.close()


async def test_all_deltas_come_before_the_change_that_closes_their_attempt(
    stage: Stage, hub: Hub
) -> None:
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        await stage.start()
        stage.stream("a", "b")
        await stage.step("ab", unfinished=True)
        stage.stream("c")
        await stage.end("c")
        await catch_up(view, events, stage)
    assert kinds(view)[1:] == ["Changed", "Changed", "Streamed", "Changed", "Streamed", "Changed"]
    streamed = [event.deltas for event in view.events if isinstance(event, Streamed)]
    assert [deltas.deltas for deltas in streamed] == [(TextDelta("ab"),), (TextDelta("c"),)]


async def test_attempts_are_kept_while_the_events_about_them_are_being_read(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = await Stage(ada, hub, session).start()
    async with hub.watch(ada.user.id, session) as events:
        view = await catch_up(View(), events, stage)
        log.shut()
        for letter in "abc":
            stage.stream(letter)
            await stage.step(letter)
            await _tells(events, view)
        log.gate.set()
        await catch_up(view, events, stage)
    streamed = [event.deltas.deltas for event in view.events if isinstance(event, Streamed)]
    assert streamed == [(TextDelta(letter),) for letter in "abc"]
    await hub.close()


async def test_attempt_may_be_announced_before_its_event_is_written(stage: Stage, hub: Hub) -> None:
    user = stage.user.user.id
    await stage.start()
    async with hub.watch(user, stage.session) as slow, hub.watch(user, stage.session) as fast:
        view = await catch_up(View(), slow, stage)
        beside = await catch_up(View(), fast, stage)
        before = stage.live
        stage.stream("a")
        following = Attempt(before.session, before.turn, before.attempt + 1, before.token)
        hub.begin(following)
        following.add(TextDelta("b"))
        while await _tells(fast, beside):  # until it has been told all there is
            pass
        view.take(await next_event(slow))
        assert view.text == "a"
        await stage.user.turns.retry_step(
            stage.session, before.token, before.turn, after=before.attempt
        )
        hub.changed(stage.session)
        await follow(view, slow, lambda view: view.text == "b")
    assert kinds(view) == ["Snapshot", "Streamed", "Rewound", "Changed", "Streamed"]


async def test_change_in_the_midst_of_an_attempt_keeps_the_place_in_it(
    stage: Stage, hub: Hub
) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        stage.stream("a")
        await catch_up(view, events, stage)
        await stage.rename("A title")
        await catch_up(view, events, stage)
        assert view.cursor.seq == 1
        stage.stream("b")
        await catch_up(view, events, stage)
    assert (view.text, view.title) == ("ab", "A title")


async def test_attempt_without_a_message_in_its_place_is_withdrawn(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        stage.stream("a", NoticeDelta("Asking again."))
        await stage.retry()
        stage.stream("b")
        await catch_up(view, events, stage)
        assert view.text == "b"
        await stage.end(None, "failed")
        await catch_up(view, events, stage)
    assert kinds(view)[1:] == ["Streamed", "Rewound", "Changed"] * 2
    rewound = [event for event in view.events if isinstance(event, Rewound)]
    assert [(event.attempt, event.seq) for event in rewound] == [(1, 0), (2, 0)]


async def test_attempt_that_said_nothing_needs_no_withdrawal(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        await stage.retry()
        await stage.end(None, "failed")
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Changed", "Changed"]


async def test_session_comes_along_where_lists_show_a_change(stage: Stage, hub: Hub) -> None:
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        await stage.rename("A title")
        await stage.start()
        await stage.step()
        await stage.end()
        await catch_up(view, events, stage)
    for event in view.events[1:]:
        assert isinstance(event, Changed)
        told = (SessionUpdated, TurnUpdated, AttemptBegan)
        assert (event.session is not None) == any(isinstance(one, told) for one in event.events)
        named = [one.turn for one in event.events if isinstance(one, TurnUpdated | AttemptBegan)]
        assert {turn.id for turn in event.turns} == set(named)


# Coming back.


async def test_every_cursor_leads_on_to_exactly_what_follows(stage: Stage, hub: Hub) -> None:
    user = stage.user.user.id
    async with hub.watch(user, stage.session) as events:
        view = await catch_up(View(), events, stage)
        await stage.start()
        await stage.rename()
        await catch_up(view, events, stage)
        for letter in "abc":
            stage.stream(letter)
            await catch_up(view, events, stage)
        await stage.rename("Another")
        await catch_up(view, events, stage)
    for seen in range(1, len(view.events) + 1):
        again = View()
        for event in view.events[:seen]:
            again.take(event)
        async with hub.watch(user, stage.session, parse_cursor(str(again.cursor))) as events:
            await catch_up(again, events, stage)
        assert (again.text, again.title, again.states) == (view.text, view.title, view.states)
        assert "Rewound" not in kinds(again)


async def test_cursor_beyond_the_live_attempt_waits_while_it_lives(stage: Stage, hub: Hub) -> None:
    await stage.start()
    stage.stream("a")
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    ahead = msgspec.structs.replace(view.cursor, seq=2)
    async with hub.watch(stage.user.user.id, stage.session, ahead) as events:
        stage.stream("b")
        assert not await _tells(events, view)
        stage.stream("c")
        event = await next_event(events)
    assert isinstance(event, Streamed)
    assert (event.deltas.first_seq, event.deltas.deltas) == (3, (TextDelta("c"),))


@pytest.mark.parametrize("keep", [True, False])
async def test_attempt_that_ended_meanwhile_is_withdrawn_before_the_tail(
    stage: Stage, hub: Hub, *, keep: bool
) -> None:
    await stage.start()
    stage.stream("a")
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    stage.stream("b")
    if keep:
        await stage.step("ab")
    else:
        await stage.retry()
    stage.stream("c")
    async with hub.watch(stage.user.user.id, stage.session, view.cursor) as events:
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Rewound", "Changed", "Streamed"]
    assert view.text == "c"


async def test_restart_withdraws_what_was_streamed_and_brings_what_was_kept(
    stage: Stage, ada: Driver
) -> None:
    await stage.start()
    stage.stream("a", "b")
    async with stage.hub.watch(ada.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    hub = stage.hub = Hub(ada.store)
    async with hub.watch(ada.user.id, stage.session, view.cursor) as events:
        view.take(await next_event(events))
        assert isinstance(view.events[-1], Rewound)
        await stage.break_off("interrupted")
        await catch_up(view, events, stage)
    assert view.text == ""
    assert list(view.messages.values()) == await ada.live(stage.session)
    await hub.close()


async def test_coming_back_between_withdrawal_and_tail_withdraws_nothing_again(
    stage: Stage, hub: Hub
) -> None:
    await stage.start()
    stage.stream("a")
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    await stage.retry()
    for _ in range(2):
        async with hub.watch(stage.user.user.id, stage.session, view.cursor) as events:
            view.take(await next_event(events))
    assert kinds(view) == ["Snapshot", "Rewound", "Changed"]


async def test_cursor_from_a_future_that_was_not_kept_gets_a_snapshot(
    stage: Stage, hub: Hub
) -> None:
    now = await stage.user.sessions.get(stage.session)
    wrong = [
        Cursor(now.epoch, now.revision + 1),
        Cursor(now.epoch + 1, now.revision),
        Cursor(now.epoch, now.revision + 5, new_turn_id(), 1, 7),
    ]
    for cursor in wrong:
        async with hub.watch(stage.user.user.id, stage.session, cursor) as events:
            assert isinstance(await next_event(events), Snapshot)


async def test_cursor_with_a_seq_of_no_turn_gets_a_snapshot(stage: Stage, hub: Hub) -> None:
    now = await stage.user.sessions.get(stage.session)
    cursor = Cursor(now.epoch, now.revision, None, 1, 7)
    async with hub.watch(stage.user.user.id, stage.session, cursor) as events:
        view = await catch_up(View(), events, stage)
        await stage.start()
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Changed", "Changed"]


async def test_cursor_from_before_a_rewrite_still_leads_on(stage: Stage, hub: Hub) -> None:
    await stage.start()
    await stage.end()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    await stage.user.compact(stage.session)
    await stage.user.compact(stage.session)
    async with hub.watch(stage.user.user.id, stage.session, view.cursor) as events:
        await catch_up(view, events, stage)
    assert kinds(view) == ["Snapshot", "Changed", "Changed"]
    assert [event.cursor.epoch - view.events[0].cursor.epoch for event in view.events] == [0, 1, 2]


# Slow readers, and bounds.


async def test_slow_reader_gets_more_at_once_and_misses_nothing(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        stage.stream(*("x" * 1000))
        event = await next_event(events)
    assert isinstance(event, Streamed)
    assert (event.deltas.first_seq, event.deltas.last_seq) == (1, 1000)
    assert event.deltas.deltas == (TextDelta("x" * 1000),)
    assert view.text == ""


async def test_reader_that_fell_out_of_the_log_reads_the_store(
    ada: Driver, session: SessionId
) -> None:
    hub = Hub(ada.store, bounds=FEW)
    stage = Stage(ada, hub, session)
    async with hub.watch(ada.user.id, session) as slow, hub.watch(ada.user.id, session) as fast:
        view, ahead = View(), View()
        view.take(await next_event(slow))
        await stage.start()
        for number in range(3 * FEW.entries):
            stage.stream(f"{number} ")
            await stage.step(f"{number}", unfinished=True)
            await catch_up(ahead, fast, stage)
        stage.stream("and")
        await catch_up(view, slow, stage)
    assert "Snapshot" not in kinds(view)[1:]
    assert view.messages == ahead.messages
    assert view.text == "and"
    await hub.close()


async def test_reader_whose_events_were_swept_gets_a_snapshot(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = Stage(ada, hub, session)
    view = View()
    async with hub.watch(ada.user.id, session) as events:
        view.take(await next_event(events))
        log.swept = True
        await stage.start()
        stage.stream("a")
        await catch_up(view, events, stage)
        assert set(kinds(view)) <= {"Snapshot", "Streamed"}
        log.swept = False
        await stage.end("a")
        await catch_up(view, events, stage)
    assert list(view.messages.values()) == await ada.live(session)
    log.swept = True
    async with hub.watch(ada.user.id, session, view.cursor) as events:
        assert isinstance(await next_event(events), Snapshot)
    await hub.close()


async def test_attempts_beyond_the_bounds_are_replaced_by_their_messages(
    ada: Driver, session: SessionId
) -> None:
    hub = Hub(ada.store, bounds=Bounds(entries=1000, bytes=1000))
    stage = await Stage(ada, hub, session).start()
    async with hub.watch(ada.user.id, session) as slow, hub.watch(ada.user.id, session) as fast:
        view, ahead = View(), View()
        await catch_up(view, slow, stage)
        for letter in "abc":
            stage.stream(letter * 900)
            await stage.step(letter * 900)
            await catch_up(ahead, fast, stage)
        await catch_up(view, slow, stage)
    assert view.messages == ahead.messages
    await hub.close()


async def test_one_read_serves_all_subscribers_and_many_writes(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = Stage(ada, hub, session)
    async with AsyncExitStack() as stack:
        watching = [
            await stack.enter_async_context(hub.watch(ada.user.id, session)) for _ in range(5)
        ]
        views = [await catch_up(View(), events, stage) for events in watching]
        before = log.reads
        log.shut()
        await stage.rename("one")
        await log.asked.wait()
        for title in ("two", "three", "four"):
            await stage.rename(title)
        log.gate.set()
        for view, events in zip(views, watching, strict=True):
            await catch_up(view, events, stage)
        assert log.reads - before <= 2
    await hub.close()


async def test_many_streams_are_paced_and_durable_events_are_not(stage: Stage, hub: Hub) -> None:
    for number in range(500):
        hub.begin(Attempt(SessionId(f"ses_{number}"), new_turn_id(), 1, Token(1)))
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        await catch_up(View(), events, stage)
        waiting = asyncio.create_task(next_event(events))
        await _spin()
        stage.stream("a")
        await _spin()
        assert not waiting.done()
        stage.stream("b")
        event = await waiting
        assert isinstance(event, Streamed)
        assert event.deltas.deltas == (TextDelta("ab"),)
        for letter in "cd":
            waiting = asyncio.create_task(next_event(events))
            await _spin()
            stage.stream(letter)
            assert isinstance(await waiting, Streamed)
        waiting = asyncio.create_task(next_event(events))
        await _spin()
        stage.stream("e")
        await stage.rename()
        assert isinstance(await waiting, Changed)


async def test_few_streams_are_passed_through_at_once(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        await catch_up(View(), events, stage)
        for letter in "abc":
            waiting = asyncio.create_task(next_event(events))
            await _spin()
            stage.stream(letter)
            await _spin()
            assert waiting.done()


# Trouble.


async def test_failing_read_delays_durable_events_and_loses_none(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    log = store.logs[ada.user.id]
    hub = Hub(store)
    stage = await Stage(ada, hub, session).start()
    async with hub.watch(ada.user.id, session) as events:
        view = await catch_up(View(), events, stage)
        log.failures = [StoreUnavailable("no", path="x"), RuntimeError("a bug")]
        await stage.rename("A title")
        stage.stream("a")
        assert isinstance(await next_event(events), Streamed)  # not held up
        event = await next_event(events)
        assert isinstance(event, Changed)
        assert view.cursor.revision + 1 == event.cursor.revision
    await hub.close()


async def test_reader_that_fell_behind_tries_again_when_the_store_fails(
    ada: Driver, session: SessionId
) -> None:
    store = GatedStore(ada)
    hub = Hub(store, bounds=Bounds(entries=1, bytes=1 << 20))
    stage = Stage(ada, hub, session)
    async with hub.watch(ada.user.id, session) as slow, hub.watch(ada.user.id, session) as fast:
        view = View()
        view.take(await next_event(slow))
        for title in "abc":
            await stage.rename(title)
        await catch_up(View(), fast, stage)
        store.logs[ada.user.id].failures = [StoreUnavailable("no", path="x")]
        await catch_up(view, slow, stage)
    assert view.title == "c"
    await hub.close()


# The end.


async def test_watching_ends_when_the_session_is_deleted(stage: Stage, hub: Hub) -> None:
    async with hub.watch(stage.user.user.id, stage.session) as events:
        await next_event(events)
        waiting = asyncio.create_task(next_event(events))
        await stage.user.sessions.delete(stage.session)
        hub.changed(stage.session)
        with pytest.raises(StopAsyncIteration):
            await waiting


async def test_closing_the_hub_ends_all_watching_after_what_was_known(
    stage: Stage, hub: Hub
) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        waiting = asyncio.create_task(next_event(events))
        await asyncio.sleep(0)
        stage.stream("a")
        await hub.close()
        view.take(await waiting)
        assert view.text == "a"
        with pytest.raises(StopAsyncIteration):
            await next_event(events)


async def test_leaving_frees_everything_but_the_live_attempt(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        await next_event(events)
        assert hub.watched == {stage.session}
    assert hub.watched == set()
    stage.stream("a")
    await stage.rename()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
    assert view.text == "a"


async def test_reader_that_gives_up_waiting_can_go_on(stage: Stage, hub: Hub) -> None:
    await stage.start()
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await catch_up(View(), events, stage)
        for letter in "abc":
            assert not await _tells(events, view)
            stage.stream(letter)
            await catch_up(view, events, stage)
    assert view.text == "abc"


async def test_what_events_name_comes_with_them(stage: Stage, hub: Hub) -> None:
    async with hub.watch(stage.user.user.id, stage.session) as events:
        view = await follow(View(), events, lambda view: bool(view.events))
        await stage.start("Good day")
        await catch_up(view, events, stage)
    started = view.events[-1]
    assert isinstance(started, Changed)
    assert [message.parts for message in started.messages] == [text("Good day")]
    assert [turn.state for turn in started.turns] == ["running"]


async def _tells(events: AsyncIterator[SessionEvent], view: View) -> bool:
    """Whether a reader is told something without anything else happening. It gives up its wait."""
    waiting = asyncio.create_task(next_event(events))
    await _spin()
    if waiting.done():
        view.take(waiting.result())
        return True
    waiting.cancel()
    await asyncio.wait([waiting])
    return False


async def _spin() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)
