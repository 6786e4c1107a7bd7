"""The memory of who is known: short, bounded, and emptied by a change at once."""

import asyncio

import pytest

from roost.core.identities import Principal
from roost.core.ids import SignInId, UserId
from roost.core.users import User
from roost.runtime.principals import KEPT, Known, Principals
from roost.testing.clock import FakeClock

ADA = Known(
    principal=Principal(
        user=User(id=UserId("usr_1"), name="Ada", role="admin"),
        scopes=frozenset(),
        via="browser",
        id=SignInId("sgn_1"),
    ),
    expires_at=None,
)


class Books:
    """What the store would say, once it is let."""

    def __init__(self) -> None:
        self.answer: Known | None = ADA
        self.asked = 0
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def find(self) -> Known | None:
        self.asked += 1
        answer = self.answer
        self.begun.set()
        await self.open.wait()
        return answer

    async def revoke(self) -> None:
        self.answer = None


@pytest.fixture
def principals(clock: FakeClock) -> Principals:
    return Principals(lambda: clock.now() / 1000, limit=10)


async def test_asked_once_in_a_while(principals: Principals, clock: FakeClock) -> None:
    books = Books()
    for _ in range(5):
        assert await principals.get(b"x", books.find) == ADA
    assert books.asked == 1
    clock.advance(KEPT)
    await books.revoke()
    assert await principals.get(b"x", books.find) is None
    assert len(principals) == 0


async def test_what_took_long_to_read_is_as_old_as_its_beginning(
    principals: Principals, clock: FakeClock
) -> None:
    books = Books()
    books.open.clear()
    reading = asyncio.create_task(principals.get(b"x", books.find))
    await books.begun.wait()
    clock.advance(KEPT)
    books.open.set()
    assert await reading == ADA
    await books.revoke()
    assert await principals.get(b"x", books.find) is None


async def test_strangers_are_not_remembered(principals: Principals) -> None:
    books = Books()
    books.answer = None
    for number in range(100):
        assert await principals.get(b"%d" % number, books.find) is None
    assert len(principals) == 0


async def test_memory_is_bounded(principals: Principals) -> None:
    for number in range(100):
        await principals.get(b"%d" % number, Books().find)
    assert len(principals) == 10


async def test_change_counts_at_once(principals: Principals) -> None:
    books = Books()
    await principals.get(b"x", books.find)
    await principals.changed_by(books.revoke())
    assert await principals.get(b"x", books.find) is None


async def test_what_was_read_before_a_change_is_not_kept_after_it(principals: Principals) -> None:
    books = Books()
    books.open.clear()
    early = asyncio.create_task(principals.get(b"x", books.find))
    await books.begun.wait()
    await principals.changed_by(books.revoke())
    books.open.set()
    assert await early == ADA, "it came before"
    assert await principals.get(b"x", books.find) is None


async def test_change_that_fails_is_taken_for_one(principals: Principals) -> None:
    """Nobody knows what it has written."""
    books = Books()

    async def fail() -> None:
        await books.revoke()
        raise OSError("the answer is lost")

    await principals.get(b"x", books.find)
    with pytest.raises(OSError, match="lost"):
        await principals.changed_by(fail())
    assert await principals.get(b"x", books.find) is None


async def test_change_whose_caller_is_gone_is_made_and_counts(principals: Principals) -> None:
    books, begun, may_end, done = Books(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def revoke_slowly() -> None:
        begun.set()
        await may_end.wait()
        await books.revoke()
        done.set()

    caller = asyncio.create_task(principals.changed_by(revoke_slowly()))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await principals.get(b"x", books.find) == ADA
    may_end.set()
    await done.wait()
    await asyncio.sleep(0)
    assert await principals.get(b"x", books.find) is None
