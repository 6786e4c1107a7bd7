"""What is kept of a watched session: what somebody has still to be told, within bounds."""

import asyncio

from roost.core.events import Changed, Cursor, TextDelta
from roost.core.ids import SessionId, Token, new_turn_id
from roost.runtime.attempt import Attempt
from roost.runtime.subscriber import Subscriber
from roost.runtime.tail import Bounds, Tail
from roost.store.sessions import SessionPatch
from tests.store_driver import Driver
from tests.streaming import next_event

AMPLE = Bounds()


async def subscriber(tail: Tail, user: Driver) -> Subscriber:
    made = Subscriber(tail, user.history)
    await made.begin()
    tail.add(made)
    await next_event(made)
    return made


async def rename(user: Driver, tail: Tail, title: str) -> None:
    await user.sessions.update(tail.session, SessionPatch(title=title))
    tail.changed()


async def told(subscriber: Subscriber, number: int) -> None:
    for _ in range(number):
        assert isinstance(await next_event(subscriber), Changed)


def attempt(session: SessionId, text: str) -> Attempt:
    made = Attempt(session, new_turn_id(), 1, Token(1))
    made.add(TextDelta(text))
    return made


def cursor(attempt: Attempt) -> Cursor:
    return Cursor(0, 0, attempt.turn, attempt.attempt)


async def test_change_is_kept_until_all_were_told(ada: Driver, session: SessionId) -> None:
    tail = Tail(session, None, AMPLE)
    first, second = await subscriber(tail, ada), await subscriber(tail, ada)
    before = first.cursor.revision
    await rename(ada, tail, "a")
    await told(first, 1)
    tail.trim()
    assert tail.after(before) is not None
    await told(second, 1)
    idle = asyncio.create_task(next_event(first))
    await asyncio.sleep(0)
    assert tail.after(before) is None
    idle.cancel()
    assert not tail.lacks(first.cursor.revision)
    await tail.end()


async def test_no_more_is_kept_than_the_bounds_say(ada: Driver, session: SessionId) -> None:
    tail = Tail(session, None, Bounds(entries=2, bytes=1 << 20))
    slow, fast = await subscriber(tail, ada), await subscriber(tail, ada)
    before = slow.cursor.revision
    for title in "abc":
        await rename(ada, tail, title)
        await told(fast, 1)
    assert tail.lacks(before)
    assert tail.after(before) is None
    assert tail.after(before + 1) is not None
    await told(slow, 3)
    await tail.end()


async def test_large_changes_are_bounded_by_their_size(ada: Driver, session: SessionId) -> None:
    tail = Tail(session, None, Bounds(entries=100, bytes=2000))
    slow, fast = await subscriber(tail, ada), await subscriber(tail, ada)
    before = slow.cursor.revision
    for letter in "abc":
        await rename(ada, tail, letter * 900)
        await told(fast, 1)
    assert tail.lacks(before)
    await told(slow, 3)
    await tail.end()


async def test_oldest_attempts_go_first_and_the_live_one_stays(
    ada: Driver, session: SessionId
) -> None:
    tail = Tail(session, None, Bounds(entries=100, bytes=1000))
    reader = await subscriber(tail, ada)
    await rename(ada, tail, "a")  # so that the reader is behind, and all may still be needed
    attempts = [attempt(session, letter * 600) for letter in "abc"]
    for each in attempts:
        tail.begin(each)
    tail.trim()
    assert [tail.attempt(cursor(each)) for each in attempts] == [None, None, attempts[2]]
    await told(reader, 1)
    await tail.end()


async def test_attempts_that_all_were_told_of_are_dropped(ada: Driver, session: SessionId) -> None:
    tail = Tail(session, None, AMPLE)
    reader = await subscriber(tail, ada)
    first, second = attempt(session, "a"), attempt(session, "b")
    tail.begin(first)
    tail.begin(second)
    await rename(ada, tail, "a")
    assert tail.attempt(cursor(first)) is first
    await told(reader, 1)
    tail.trim()
    assert tail.attempt(cursor(first)) is None
    assert tail.attempt(cursor(second)) is second
    await tail.end()
